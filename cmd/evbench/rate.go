package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/scenario"
)

// closingTime is how long a fabric may take to close that had no time to end its try.
const closingTime = 400 * time.Millisecond

// overrideRate reads --rate.
func overrideRate(c *cli.Context, o *scenario.Overrides) (err error) {
	r := c.String("rate")
	if o.AutoRate = r == scenario.Auto; r == "" || o.AutoRate {
		return nil
	}
	if o.Rate, err = unit.ParseRate(r); err != nil {
		return usagef("--rate: %w", err)
	}
	if o.Rate == 0 {
		return usagef("--rate %s: must be above 0", r)
	}
	return nil
}

// findRate finds out which link rate this machine can carry, says it, and settles the
// scenario on it. It returns the measurement with its cases planned anew and the search in
// the manifest.
func findRate(c *cli.Context, m measurement) (measurement, error) {
	bar := newProgress(c.App.ErrWriter, c.Bool("quiet"), c.Bool("verbose"))
	defer bar.end()
	found, err := searchRate(c, m, bar)
	if err != nil {
		return m, fmt.Errorf("link rate: %w", err)
	}
	if !bar.quiet {
		bar.line(found.String())
	}
	if err := m.scenario.SettleRate(found.Rate); err != nil {
		return m, err
	}
	m.describe = func(to *results.Manifest) {
		to.RateSearch = found.Tried
		if found.Warning != "" {
			to.Warnings = append(to.Warnings, found.Warning)
		}
	}
	m.planned, err = made(c.Context, func() ([]bench.Planned, error) { return bench.Prepare(m.scenario) })
	return m, err
}

// searchRate tries rates, each on a fabric of its own.
func searchRate(c *cli.Context, m measurement, bar *progress) (bench.FoundRate, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(c.Context, bench.RateLimit-closingTime)
	defer cancel()
	search := bench.NewRateSearch(m.scenario)
	for {
		begun := time.Now()
		rate, more := search.Next(begun.Sub(start))
		if !more {
			return search.Found(), nil
		}
		bar.passing(fmt.Sprintf("link rate: trying %s", rate))
		tried, err := tryRate(ctx, c, m, rate)
		switch {
		case c.Context.Err() == nil && ctx.Err() != nil:
			return search.Found(), nil // the time was over
		case err != nil:
			return bench.FoundRate{}, err
		}
		search.Tell(tried, time.Since(begun))
	}
}

// tryRate has a control connection of its own: that of the run comes later.
func tryRate(ctx context.Context, c *cli.Context, m measurement, rate unit.Rate) (tried results.TriedRate, err error) {
	where, err := m.control(c)
	if err != nil {
		return tried, err
	}
	defer func() { err = errors.Join(err, where.close()) }()
	return bench.TryRate(ctx, m.scenario, rate, m.open, bench.Options{Listen: where.listen, Token: where.token, Log: logger(c)})
}
