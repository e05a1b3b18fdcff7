package main

import (
	"github.com/urfave/cli/v2"

	"evbench/cmd/open"
	"evbench/model/simulate"
	"evbench/results"
	"evbench/view/compare"
)

func compareAction(c *cli.Context) error {
	conditions, err := compare.ParseConditions(c.StringSlice("fail-if"))
	if err != nil {
		return usagef("--fail-if %w", err)
	}
	metrics, err := compare.Choose(c.StringSlice("metric"))
	if err != nil {
		return usagef("--metric %w", err)
	}
	var sides [2]compare.Side
	for i, path := range c.Args().Slice() {
		run, err := stored.ReadRun(path)
		if err == nil {
			sides[i], err = compare.NewSide(path, run)
		}
		if err != nil {
			return usage(err)
		}
	}
	r, err := compare.Between(sides[0], sides[1], conditions, c.Bool("force"), known.Engines)
	if err != nil {
		return usage(err)
	}
	r.Only(metrics)
	if err := printComparison(c, r); err != nil {
		return err
	}
	return gate(r.Places()...)
}

func printComparison(c *cli.Context, r *compare.Comparison) error {
	if c.Bool("quiet") {
		return nil
	}
	if err := r.Document().Write(c.App.Writer, form(c)); err != nil || c.Bool("json") {
		return err
	}
	r.WriteFindings(c.App.ErrWriter)
	return nil
}

// get returns results, measuring a scenario first. A failed run returns the results so far.
func (t *toCompare) get(c *cli.Context) (*results.Run, error) {
	if t.scenario == nil {
		return t.run, nil
	}
	simulate.Predict(c.Context, t.scenario, t.planned, predictionLimit)
	m := measurement{scenario: t.scenario, planned: t.planned, open: t.open, control: open.LocalControl, bar: newShow(c)}
	run, err := measureInto(c, m, t.dir, func(results.Run) error { return nil })
	return &run, err
}
