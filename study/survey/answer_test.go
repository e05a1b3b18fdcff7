package survey

import (
	"testing"

	"evbench/internal/answer"
	"evbench/testing/expect"
	"evbench/topology"
)

func TestQuantile(t *testing.T) {
	ten := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		values []int
		q      float64
		want   int
	}{
		{ten, 0.05, 1}, {ten, 0.5, 5}, {ten, 0.95, 10}, {ten, 1, 10}, {ten, 0, 1}, {ten, 0.11, 2},
		{[]int{7}, 0.5, 7}, {[]int{1, 2, 3}, 0.5, 2},
	} {
		expect.Equal(t, quantile(c.values, c.q), c.want, "quantile(%v, %v)", c.values, c.q)
	}
}

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
		{"nothing done", WhatIfReport{Groups: []GroupReport{{Sets: 4, Chosen: 4}}}, "NOT KNOWN: No set of links was looked at.", ""},
		{"one case", WhatIfReport{Groups: group(GroupReport{}, good)}, "GOOD: Whichever link dies, a plan around dead links (fors) keeps at least 60.0 % of the link rate.", "no plan is shorter than those of fors × pinned"},
		{"two cases", WhatIfReport{Groups: group(GroupReport{}, planned("linear-shift", 0.5, 1, CaseReport{}), good)},
			"GOOD: Whichever link dies, a plan around dead links (fors) keeps at least 60.0 % of the link rate. linear-shift with its own paths keeps 50.0 %.", "no plan is shorter than those of fors × pinned"},
		{"nothing lost", WhatIfReport{Groups: group(GroupReport{}, planned("fors", 1, 1, CaseReport{}))}, "GOOD: Whichever link dies, a plan around dead links (fors) keeps at least 100.0 % of the link rate.", ""},
		{"stopped", WhatIfReport{Incomplete: true, Groups: group(GroupReport{Done: 2}, good)},
			"NOT KNOWN: Stopped after 2 of 4 sets. Whichever link dies, a plan around dead links (fors) keeps at least 60.0 % of the link rate.", "no plan is shorter than those of fors × pinned"},
		{"above the bound", WhatIfReport{Groups: group(GroupReport{}, planned("fors", 0.6, 1, CaseReport{AboveBound: 1}))},
			"NOT KNOWN: Whichever link dies, a plan around dead links (fors) keeps at least 60.0 % of the link rate; 1 plan is above the proven bound.", ""},
		{"cut off", WhatIfReport{Groups: group(GroupReport{Unreachable: 1, First: []string{"leaf0-spine0"}}, good)},
			"BAD: 1 of 4 sets leave servers unreachable, first leaf0-spine0: only more cables help.", "whichever link dies, a plan around dead links (fors) keeps at least 60.0 % of the link rate"},
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
