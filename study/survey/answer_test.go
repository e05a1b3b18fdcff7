package survey

import (
	"testing"

	"evbench/internal/answer"
	"evbench/internal/expect"
	"evbench/topology"
)

// TestAnswer has the sentences of a what-if that is stopped, that cuts servers off, and without a plan.
func TestAnswer(t *testing.T) {
	tree := expect.Value(topology.New(topology.Options{Ports: 2, Leaves: 2}))(t)
	planned := func(schedule string, least, before float64, more CaseReport) CaseReport {
		more.Case, more.Planned = Case{schedule, "pinned"}, 4
		more.Efficiency = &Distribution[float64]{Min: least, Median: before, Worst: []string{"leaf0-spine1"}}
		more.Before.Efficiency = before
		return more
	}
	group := func(g GroupReport, cases ...CaseReport) []GroupReport {
		g.Sets, g.Chosen, g.Cases = 4, 4, cases
		if g.Done == 0 {
			g.Done = 4
		}
		return []GroupReport{g}
	}
	good := planned("fors", 0.6, 1, CaseReport{})
	for _, x := range []struct {
		name   string
		report WhatIfReport
		want   string
		why    string
	}{
		{"nothing done", WhatIfReport{Groups: []GroupReport{{Sets: 4, Chosen: 4}}}, "NOT KNOWN: No failure was planned.", ""},
		{"one case", WhatIfReport{Groups: group(GroupReport{}, good)}, "GOOD: Whichever 1 of 4 links dies, fors × pinned keeps at least 60.0 % of the link rate.", "no plan is shorter than those of fors × pinned"},
		{"two cases", WhatIfReport{Groups: group(GroupReport{}, planned("linear-shift", 0.5, 1, CaseReport{}), good)},
			"GOOD: Whichever 1 of 4 links dies, fors × pinned keeps at least 60.0 % of the link rate, linear-shift × pinned 50.0 %.", "no plan is shorter than those of fors × pinned"},
		{"nothing lost", WhatIfReport{Groups: group(GroupReport{}, planned("fors", 1, 1, CaseReport{}))}, "GOOD: Whichever 1 of 4 links dies, fors × pinned keeps at least 100.0 % of the link rate.", ""},
		{"stopped", WhatIfReport{Incomplete: true, Groups: group(GroupReport{Done: 2}, good)},
			"NOT KNOWN: Whichever 1 of 4 links dies, fors × pinned keeps at least 60.0 % of the link rate.", "stopped after 2 of 4 sets"},
		{"above the bound", WhatIfReport{Groups: group(GroupReport{}, planned("fors", 0.6, 1, CaseReport{AboveBound: 1}))},
			"NOT KNOWN: Whichever 1 of 4 links dies, fors × pinned keeps at least 60.0 % of the link rate.", "1 plan is above the proven bound"},
		{"cut off", WhatIfReport{Groups: group(GroupReport{Unreachable: 1, First: []string{"leaf0-spine0"}}, good)},
			"BAD: Whichever 1 of 4 links dies, fors × pinned keeps at least 60.0 % of the link rate.", "1 of 4 sets leave servers unreachable, first leaf0-spine0"},
		{"no plan", WhatIfReport{Groups: group(GroupReport{}, CaseReport{})}, "BAD: None of 4 sets has a plan.", ""},
	} {
		x.report.tree, x.report.k = tree, 1
		a := x.report.Answer()
		if a.String() != x.want || first(a) != x.why {
			t.Errorf("%s: %s\nbecause %q", x.name, a, first(a))
		}
	}
}

func first(a answer.Answer) string {
	if len(a.Why) == 0 {
		return ""
	}
	return a.Why[0]
}
