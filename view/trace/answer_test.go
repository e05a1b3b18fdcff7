package trace

import (
	"testing"

	"evbench/builder/modes"
	"evbench/results"
	"evbench/testing/expect"
)

// The first line of `why`, written by hand.
func TestAnswer(t *testing.T) {
	took := func(name string, mode modes.Mode, measured, barriers float64, stands *StandsOut) *Why {
		return &Why{of: results.Case{Mode: mode}, Case: name, Predicted: 1, Measured: measured, Barriers: barriers, Transfers: measured - 1 - barriers, StandsOut: stands}
	}
	link := &StandsOut{LinkCost: LinkCost{Link: "leaf2-spine1", Direction: "up"}}
	for _, tt := range []struct {
		cases []*Why
		want  string
	}{
		{nil, "NOT KNOWN: No case has a prediction to compare with."},
		{[]*Why{{Case: "a"}}, "NOT KNOWN: No case has a prediction to compare with."},
		{[]*Why{took("a b", modes.Sync, 1.03, .01, nil), took("c", modes.Sync, 1.01, 0, nil)}, "GOOD: No exchange took more than 5 % longer than predicted; the most took those of “a b”, +3.0 %."},
		{[]*Why{took("a", modes.Sync, 1.04, .01, link)}, "GOOD: No exchange took more than 5 % longer than predicted; the most took those of “a”, +4.0 %."},
		{[]*Why{took("a", modes.Sync, 1.5, .1, link)}, "BAD: The exchanges of “a” took 50.0 % longer than predicted: leaf2-spine1 (up) stands out; look at that link."},
		{[]*Why{took("a", modes.Sync, 1.5, .4, nil)}, "BAD: The exchanges of “a” took 50.0 % longer than predicted: most of it in barriers, and no link stands out; look for busy processors, or measure longer phases."},
		{[]*Why{took("a", modes.Sync, 1.5, .1, nil)}, "BAD: The exchanges of “a” took 50.0 % longer than predicted: most of it in transfers, and no link stands out; look for busy processors, or measure longer phases."},
		{[]*Why{took("a", modes.Unsync, 1.5, 0, nil)}, "BAD: The exchanges of “a” took 50.0 % longer than predicted: no link stands out; without phases messages wait for each other, which a plan (schedule: fors) avoids."},
	} {
		expect.Equal(t, Answer(tt.cases).String(), tt.want, "answer")
	}
}
