package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/builder/modes"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/view/trace"
)

func whyAction(c *cli.Context) error {
	run, all, err := traced(c, false)
	if err != nil {
		return err
	}
	predicted := map[string]float64{}
	for _, p := range run.Run.Manifest.Predictions {
		predicted[p.Case] = p.Efficiency
	}
	var whys []*trace.Why
	for _, x := range run.Run.Summary.Cases {
		if all == nil && (!c.IsSet("case") || x.Name == c.String("case")) {
			whys = append(whys, trace.Untraced(x, predicted[x.Name], run.Run.Summary.Culprits(x) != ""))
		}
		if !slices.ContainsFunc(all, func(s *trace.Slice) bool { return s.Case == x.Name }) {
			continue
		}
		why, err := trace.Explain(all, x, predicted[x.Name], planOf(&run.Run.Manifest, run.Plans, x))
		if err != nil {
			return usage(err)
		}
		whys = append(whys, why)
	}
	return printed(c, trace.Document(whys))
}

// planOf returns the plan that results have of a case. A plan without phases is rebuilt from the
// scenario, for its links; nil if it differs from the measured plan, or was not in use all the
// time.
func planOf(m *results.Manifest, kept map[string]*plan.Plan, x results.Case) *plan.Plan {
	if p := kept[x.Name]; p != nil {
		return p
	}
	s, err := known.Read(m.Name, strings.NewReader(m.Scenario))
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(s.Cases, func(c scenario.Case) bool { return c.Name == x.Name })
	if i < 0 || x.Mode != modes.Ordered && len(s.Cases[i].Timed) > 0 {
		return nil
	}
	t, err := s.Tree.Without(s.Cases[i].Failures...)
	if err != nil {
		return nil
	}
	p, err := parts.PlanFor(s, s.Cases[i], t)
	if err != nil || x.Mode != modes.Ordered && p.Hash() != x.PlanHash {
		return nil
	}
	return p
}
