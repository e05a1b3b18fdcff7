package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
)

// WriteCases prints the cases of a scenario, and their predictions.
func WriteCases(w io.Writer, s *scenario.Scenario, planned []Planned) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "  case\tmode\tschedule\trouting\tdead links\tphases\tbound\tpredicted")
	for _, p := range planned {
		schedule, phases := p.Plan.ScheduleName(), fmt.Sprint(p.Plan.Phases())
		if p.Plan.Schedule == nil {
			phases = "-"
		}
		fmt.Fprintf(tab, "  %s\t%s\t%s\t%s\t%d\t%s\t%d\t%.3f\n", p.Name, p.Mode, schedule, p.Plan.Routing,
			len(p.FailureTexts(p.Plan.Tree)), phases, p.Plan.Bound.Phases, p.Prediction.Efficiency)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for _, p := range planned {
		if p.Assign == builder.AssignBalanced {
			next := p.Case
			next.Assign = builder.AssignNext
			fmt.Fprintf(w, "  %s: of %d events, the mean server receives %.2f of what the busiest does; in order of their numbers %.2f\n",
				p.Name, builder.Ahead, Balance(s, p.Case), Balance(s, next))
		}
	}
	return nil
}

// PlanOf returns the plan that results have of a case. A plan without phases is rebuilt from the
// scenario, for its links; nil if it differs from the measured plan, or was not in use all the
// time.
func PlanOf(m *results.Manifest, kept map[string]*plan.Plan, x results.Case) *plan.Plan {
	if p := kept[x.Name]; p != nil {
		return p
	}
	s, err := scenario.Read(m.Name, strings.NewReader(m.Scenario))
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
	p, err := PlanFor(s, s.Cases[i], t)
	if err != nil || x.Mode != modes.Ordered && p.Hash() != x.PlanHash {
		return nil
	}
	return p
}
