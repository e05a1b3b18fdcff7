package sim

import (
	"strings"
	"testing"

	"evbench/builder/modes"
	"evbench/results"
	"evbench/testing/expect"
)

// The sentences of simulations.
func TestAnswer(t *testing.T) {
	simulated := func(name, schedule string, efficiency float64, dead ...string) results.Case {
		c := results.Case{Name: name, Mode: modes.Sync, Schedule: schedule, Routing: "pinned", Failures: dead, Simulated: "phase", Valid: true}
		c.MeasuredEfficiency = efficiency
		return c
	}
	plan, shift := simulated("a", "fors", 0.726), simulated("c", "linear-shift-ports", 0.386, "leaf0-spine0", "leaf0-spine1")
	predicted := plan
	predicted.PredictedEfficiency, predicted.Phases, predicted.Bound = 1, 15, 15
	for _, tt := range []struct {
		cases     []results.Case
		want, why string
	}{
		{[]results.Case{plan}, "GOOD: “a” would reach 72.6 % of the link rate.", "simulated, not measured: model phase"},
		{[]results.Case{predicted}, "GOOD: “a” would reach 72.6 % of the link rate.",
			"simulated, not measured: model phase; “a”: predicted 1.000 is what the loads of links allow; the simulation adds to each phase sim.overhead, jitter and the barrier, and gets 0.726"},
		{[]results.Case{plan, shift}, "GOOD: “a” would reach 72.6 % of the link rate, “c” 38.6 %.", "simulated"},
		{[]results.Case{plan, simulated("b", "fors", 0.646, "leaf0-spine0"), shift},
			"GOOD: With up to 2 dead links fors keeps 64.6 to 72.6 % of the link rate, linear-shift-ports 38.6 %.", "simulated"},
		{[]results.Case{simulated("x", "fors", 0)}, "NOT KNOWN: The rate of the links is not known: state fabric.rate.", "simulated"},
	} {
		a := answerOf(tt.cases)
		expect.True(t, a.String() == tt.want && strings.HasPrefix(strings.Join(a.Why, "; "), tt.why), "%s\nbecause %q", a, a.Why)
	}
	expect.True(t, answerOf(nil) == nil, "an answer of no case")
}
