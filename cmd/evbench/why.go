package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/view/trace"
)

func whyAction(c *cli.Context) error {
	run, all, err := traced(c)
	if err != nil {
		return err
	}
	predicted := map[string]float64{}
	for _, p := range run.Run.Manifest.Predictions {
		predicted[p.Case] = p.Efficiency
	}
	var whys []*trace.Why
	for _, x := range run.Run.Summary.Cases {
		if !slices.ContainsFunc(all, func(s *trace.Slice) bool { return s.Case == x.Name }) {
			continue
		}
		why, err := trace.Explain(all, x, predicted[x.Name], bench.PlanOf(&run.Run.Manifest, run.Plans, x))
		if err != nil {
			return usage(err)
		}
		whys = append(whys, why)
	}
	if c.Bool("json") {
		return trace.WriteJSON(c.App.Writer, whys)
	}
	return trace.WriteText(c.App.Writer, whys)
}
