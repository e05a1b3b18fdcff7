package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/internal/proc"
	"evbench/internal/unit"
	"evbench/results"
)

// findRate finds out which link rate this machine can carry, says it, and settles the
// scenario on it. It returns the measurement with its cases planned anew and the search in
// the manifest.
func findRate(c *cli.Context, m measurement) (measurement, error) {
	bar := m.bar.Terminal
	defer bar.End()
	found, err := bench.SearchRate(c.Context, m.scenario, func(ctx context.Context, rate unit.Rate) (results.TriedRate, error) {
		bar.Passing("link rate: trying %s", rate)
		return tryRate(ctx, c, m, rate)
	})
	if err != nil {
		return m, fmt.Errorf("link rate: %w", err)
	}
	bar.Line(found.String())
	if err := m.scenario.SettleRate(found.Rate); err != nil {
		return m, err
	}
	m.describe = func(to *results.Manifest) {
		to.RateSearch = found.Tried
		if found.Warning != "" {
			to.Warnings = append(to.Warnings, found.Warning)
		}
	}
	m.planned, err = proc.Made(c.Context, func() ([]bench.Planned, error) { return bench.Prepare(m.scenario) })
	return m, err
}

// tryRate has a control connection of its own: that of the run comes later.
func tryRate(ctx context.Context, c *cli.Context, m measurement, rate unit.Rate) (tried results.TriedRate, err error) {
	where, err := m.control()
	if err != nil {
		return tried, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	return bench.TryRate(ctx, m.scenario, rate, m.open, bench.Options{Listen: where.Address, Token: where.Token, Log: logger(c, c.App.ErrWriter)})
}
