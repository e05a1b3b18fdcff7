package bench

import (
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/plan"
	"evbench/scenario"
)

// What is predicted of an ordered case: 1 where all fragments are equal, more of the sizes that differ in windows
// of three exchanges than of one, and what the phases of FORS cost in no case.
func TestOrderedEfficiency(t *testing.T) {
	for _, tt := range []struct {
		event, dead string
		least, most float64 // in windows of three
	}{
		{"phase: 20ms", "", 1 - 1e-6, 1 + 1e-6},
		{"phase: 20ms", "leaf0-spine0", 0.93, 0.94}, // 16 phases of 15
		{"phase: 20ms, sizes: {spread: 0.5}", "", 0.93, 1},
		{"phase: 20ms, sizes: {spread: 0.5}", "leaf0-spine0", 0.85, 1},
		{"phase: 20ms, sizes: exponential", "leaf0-spine0", 0.85, 1},
		{"fragment: 100KiB, sizes: {fanout: 5}", "", 0.7, 1},
	} {
		s, err := scenario.Read("x.yaml", strings.NewReader("topology: FT(2;4,4)\nevent: {"+tt.event+"}\ncases: [{schedule: fors, failures: ["+tt.dead+"]}]\n"))
		expect.Must(t, err)
		c := s.Cases[0]
		tree := expect.Value(s.Tree.Without(c.Failures...))(t)
		p := expect.Value(plan.Build(tree, plan.Options{Schedule: "fors"}))(t)
		phases := efficiencyOf(s, c, p)
		c.Schedule = "" // the order that is best, not that of FORS
		of := func(window int) float64 {
			e := expect.Value(orderedEfficiency(s, c, p, window))(t)
			return e
		}
		three, one := of(3), of(1)
		if three < tt.least || three > tt.most || three < one-1e-6 || one < phases-1e-6 {
			t.Errorf("%s, dead %q: %.4f in windows of three, %.4f of one, %.4f in phases; want %.4f to %.4f", tt.event, tt.dead, three, one, phases, tt.least, tt.most)
		}
	}
}
