package compare_test

import (
	"bytes"
	"testing"

	"evbench/builder/modes"
	"evbench/plan"
	"evbench/results"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
	"evbench/view/compare"
)

// The first line of a comparison: two runs, in words, and what is right, written by hand.
func TestAnswer(t *testing.T) {
	quiet := rounded{speed: 1, ratios: wavy(0.9, 8)}
	off := func(speed float64, rounds int) rounded {
		return rounded{speed: speed, ratios: wavy(0.9, rounds), off: true}
	}
	wild := rounded{speed: 1, ratios: []float64{.9, .4, 1.3, .8, 1.2, .5, .9, 1.1}}
	for _, tt := range []struct {
		name       string
		base, next rounded
		gate       string
		want       string
		places     int // what a gate does not pass
	}{
		{"the same", quiet, quiet, "", "GOOD: No change for the worse in ratio_to_control: “a”.", 0},
		{"the same, gated", quiet, quiet, "ratio_to_control < -3%", "GOOD: No change for the worse in ratio_to_control: “a”.", 0},
		{"the ratio fell", quiet, rounded{speed: 1, ratios: wavy(0.8, 8)}, "", "BAD: ratio_to_control fell: “a” -11.11 %. events_per_s fell: “a” -11.11 %.", 0},
		{"the ratio fell, gated", quiet, rounded{speed: 1, ratios: wavy(0.8, 8)}, "ratio_to_control < -3%", "BAD: ratio_to_control of “a” fell by 11.11 %, beyond ratio_to_control < -3%. ratio_to_control fell: “a” -11.11 %.", 1},
		{"the ratio rose", quiet, rounded{speed: 1, ratios: wavy(0.97, 8)}, "", "GOOD: No case is worse in ratio_to_control; better are “a” +7.78 %.", 0},
		{"all fell alike", quiet, rounded{speed: .92, ratios: wavy(0.9, 8)}, "", "BAD: events_per_s fell: “a” -8.00 %, the control -8.00 %: what slows all alike, no ratio shows. No change for the worse in ratio_to_control: “a”.", 0},
		{"all fell alike, a gate on the ratio", quiet, rounded{speed: .92, ratios: wavy(0.9, 8)}, "ratio_to_control < -3%", "BAD: events_per_s fell: “a” -8.00 %, the control -8.00 %: what slows all alike, no ratio shows.", 1},
		{"all fell alike, a gate on events", quiet, rounded{speed: .92, ratios: wavy(0.9, 8)}, "events_per_s < -3%", "BAD: events_per_s of “a” fell by 8.00 %, beyond events_per_s < -3%.", 1},
		{"all fell alike, by the machine", quiet, rounded{speed: .92, ratios: wavy(0.9, 8), delay: .2}, "",
			"GOOD: No change for the worse in ratio_to_control: “a”.", 0},
		{"all fell by 2 %", quiet, rounded{speed: .98, ratios: wavy(0.9, 8)}, "", "GOOD: No change for the worse in ratio_to_control: “a”.", 0},
		{"half, without a control", off(1, 8), off(.5, 8), "", "BAD: events_per_s fell: “a” -50.00 %.", 0},
		{"the same, without a control", off(1, 8), off(1, 8), "", "GOOD: No change for the worse in events_per_s: “a”.", 0},
		{"faster, without a control", off(1, 8), off(1.2, 8), "", "GOOD: No case is worse in events_per_s; better are “a” +20.00 %.", 0},
		{"half, by the machine", off(1, 8), rounded{speed: .5, ratios: wavy(0.9, 8), off: true, delay: .4}, "",
			"NOT KNOWN: events_per_s fell: “a” -50.00 %; in the new run servers waited 40 % of the time for a processor: measure again with less other work.", 0},
		{"one round, without a control", off(1, 1), off(.5, 1), "", "NOT KNOWN: “a”: fewer than 4 repeats on a side, and no samples.", 0},
		{"one round", rounded{speed: 1, ratios: wavy(.9, 1)}, rounded{speed: 1, ratios: wavy(.5, 1)}, "", "NOT KNOWN: “a”: fewer than 4 repeats on a side, and no samples.", 0},
		{"five rounds, and no change", off(1, 5), off(1, 5), "", "NOT KNOWN: events_per_s of “a”: this comparison cannot show 3 %: too few observations for an interval; 6 rounds give one.", 0},
		{"noise", wild, wild, "", "NOT KNOWN: ratio_to_control of “a”: this comparison cannot show 3 %: the change is within -66.7 and +200.0 %; measure more (--rounds).", 0},
		{"noise, gated", wild, wild, "ratio_to_control < -3%", "NOT KNOWN: “a”, ratio_to_control: this comparison cannot show 3 %: the change is within -66.7 and +200.0 %; measure more (--rounds).", 1},
		{"a gate on what is not there", quiet, off(1, 8), "ratio_to_control < -3%", "NOT KNOWN: “control”: the new run does not hold it. “a”, ratio_to_control: a run has no control beside it. No change for the worse in events_per_s: “a”.", 2},
	} {
		base, next := side(t, "base", tt.base), side(t, "new", tt.next)
		var gate []compare.Condition
		if tt.gate != "" {
			gate = expect.Value(compare.ParseConditions([]string{tt.gate}))(t)
		}
		c := expect.Value(compare.Between(base, next, gate, false, nil))(t)
		expect.Equal(t, c.Answer().String(), tt.want, "%s", tt.name)
		expect.Equal(t, len(c.Places()), tt.places, "%s: what has not passed", tt.name)
	}
}

// side is a run without samples, which only a run that ended early may lack.
func side(t *testing.T, path string, x rounded) compare.Side {
	run := x.run()
	for i := range run.Summary.Slices {
		run.Summary.Slices[i].Complete = false
	}
	return expect.Value(compare.NewSide(path, run))(t)
}

// A control that is wrong only for being slow is compared with its own past.
func TestSlowControl(t *testing.T) {
	run := rounded{speed: 1, ratios: wavy(0.9, 8)}.run()
	slow := rounded{speed: .5, ratios: wavy(0.9, 8)}.run()
	slow.Summary.Cases[0].PredictedEfficiency = 1
	slow.Summary.Cases[0].Judge(results.Evidence{Slices: []float64{.5, .5, .5, .5, .5, .5}})
	expect.MustTrue(t, slow.Summary.Cases[0].Slow(), "%+v", slow.Summary.Cases[0])
	for _, c := range compare.Runs(run, slow, false).Cases {
		expect.True(t, len(c.LeftOut) == 0, "left out %v", c.LeftOut)
	}
}

// All phases wait for a slow server, so that others' links rest and then are faster than before: what the case lost is what the server lost.
func TestSlowServer(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4})
	p := expect.Value(plan.Build(tree, plan.Options{Schedule: schedules.LinearShift}))(t)
	var text bytes.Buffer
	expect.Must(t, p.WriteText(&text))
	paired := func(path string, speed, others float64) compare.Side {
		run := rounded{speed: speed, ratios: wavy(1, 8), off: true}.run()
		run.Plans, run.Summary.Cases[0].Mode = map[string][]byte{"a": text.Bytes()}, modes.Sync
		for src, dst := range tree.Pairs {
			sec := others * (1 + 0.01*float64((3*src+dst)%5-2))
			if src == 5 {
				sec = 1 / speed
			}
			run.Pairs = append(run.Pairs, results.PairCount{Case: "a", Src: src, Dst: dst, Bytes: 1000, Sec: sec})
		}
		for i := range run.Summary.Slices {
			run.Summary.Slices[i].Complete = false
		}
		return expect.Value(compare.NewSide(path, run))(t)
	}
	c := expect.Value(compare.Between(paired("base", 1, 1), paired("new", .925, .85), nil, false, nil))(t)
	expect.Equal(t, c.Answer().String(), "BAD: events_per_s fell: “a” -7.50 %: server5 or its cable to leaf1 carries 92 % of its rate in base, beside all others.", "answer")
}
