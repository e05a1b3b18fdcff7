package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/scenario"
)

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
// scenario on it. It returns the cases planned anew, and an opener of the fabric that has
// the search in the manifest.
func findRate(c *cli.Context, s *scenario.Scenario, open opener, where control) (opener, []bench.Planned, error) {
	bar := newProgress(c.App.ErrWriter, c.Bool("quiet"), c.Bool("verbose"))
	defer bar.end()
	found, err := bench.SearchRate(c.Context, s, func(ctx context.Context, rate unit.Rate) (results.TriedRate, error) {
		bar.passing(fmt.Sprintf("link rate: trying %s", rate))
		return tryRate(ctx, c, s, rate, open, where)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("link rate: %w", err)
	}
	if !bar.quiet {
		bar.line(found.String())
	}
	if err := s.SettleRate(found.Rate); err != nil {
		return nil, nil, err
	}
	planned, err := made(c.Context, func() ([]bench.Planned, error) { return bench.Prepare(s) })
	return withRate(open, found), planned, err
}

// tryRate has a control connection of its own: that of the run comes later.
func tryRate(ctx context.Context, c *cli.Context, s *scenario.Scenario, rate unit.Rate, open opener, where control) (tried results.TriedRate, err error) {
	listen, token, done, err := where(c)
	if err != nil {
		return tried, err
	}
	defer func() { err = errors.Join(err, done()) }()
	return bench.TryRate(ctx, s, rate, open, bench.Options{Listen: listen, Token: token, Log: logger(c)})
}

// A foundFabric says in the manifest how its link rate was found.
type foundFabric struct {
	bench.Fabric
	found bench.FoundRate
}

func withRate(open opener, found bench.FoundRate) opener {
	return func(ctx context.Context, s *scenario.Scenario) (bench.Fabric, error) {
		f, err := open(ctx, s)
		if err != nil {
			return nil, err
		}
		return &foundFabric{f, found}, nil
	}
}

// tailor implements tailored.
func (f *foundFabric) tailor(o *bench.Options) {
	describe := o.Describe
	o.Describe = func(m *results.Manifest) {
		describe(m)
		m.RateSearch = f.found.Tried
		if f.found.Warning != "" {
			m.Warnings = append(m.Warnings, f.found.Warning)
		}
	}
}
