package trace

import (
	"testing"

	"evbench/builder/modes"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/testing/expect"
)

// The first line of `why`, written by hand.
func TestAnswer(t *testing.T) {
	took := func(name string, mode modes.Mode, measured, barriers float64, of ...attribution.Cause) *Why {
		return &Why{of: results.Case{Mode: mode}, Case: name, Predicted: 1, Measured: measured, Barriers: barriers, Transfers: measured - 1 - barriers, Causes: of}
	}
	link := attribution.Cause{Name: "leaf2 to spine1", Share: 0.5}
	for _, tt := range []struct {
		cases []*Why
		want  string
	}{
		{nil, "NOT KNOWN: No case has a prediction to compare with."},
		{[]*Why{{Case: "a"}}, "NOT KNOWN: No case has a prediction to compare with."},
		{[]*Why{took("a b", modes.Sync, 1.03, .01), took("c", modes.Sync, 1.01, 0)}, "GOOD: No exchange took more than 5 % longer than predicted; the most took those of “a b”, +3.0 %."},
		{[]*Why{took("a", modes.Sync, 1.04, .01, link)}, "GOOD: No exchange took more than 5 % longer than predicted; the most took those of “a”, +4.0 %."},
		{[]*Why{took("a", modes.Sync, 1.5, .1, link)}, "BAD: The exchanges of “a” took 50.0 % longer than predicted: leaf2 to spine1 carries half its usual rate."},
		{[]*Why{took("a", modes.Sync, 1.5, .4)}, "BAD: The exchanges of “a” took 50.0 % longer than predicted: most of it in barriers, and nobody stands out; look for busy processors, or measure longer phases."},
		{[]*Why{took("a", modes.Sync, 1.5, .1)}, "BAD: The exchanges of “a” took 50.0 % longer than predicted: most of it in transfers, and nobody stands out; look for busy processors, or measure longer phases."},
		{[]*Why{took("a", modes.Unsync, 1.5, 0)}, "BAD: The exchanges of “a” took 50.0 % longer than predicted: nobody stands out; without phases messages wait for each other, which a plan (schedule: best) avoids."},
	} {
		expect.Equal(t, Answer(tt.cases).String(), tt.want, "answer")
	}
}
