package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/fabric"
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
// scenario on it. It returns the cases planned anew, and an opener of the fabric that has
// the search in the manifest.
func findRate(c *cli.Context, s *scenario.Scenario, open opener, where control) (opener, []bench.Planned, error) {
	bar := newProgress(c.App.ErrWriter, c.Bool("quiet"), c.Bool("verbose"))
	defer bar.end()
	found, err := searchRate(c, s, open, where, bar)
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

// searchRate tries rates, each on a fabric of its own.
func searchRate(c *cli.Context, s *scenario.Scenario, open opener, where control, bar *progress) (bench.FoundRate, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(c.Context, bench.RateLimit-closingTime)
	defer cancel()
	search := bench.NewRateSearch(s)
	for {
		begun := time.Now()
		rate, more := search.Next(begun.Sub(start))
		if !more {
			return search.Found(), nil
		}
		bar.passing(fmt.Sprintf("link rate: trying %s", rate))
		tried, err := tryRate(ctx, c, s, rate, open, where)
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
	fabric.Fabric
	found bench.FoundRate
}

func withRate(open opener, found bench.FoundRate) opener {
	return func(ctx context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
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
