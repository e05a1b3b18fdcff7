package compare_test

import (
	"bytes"
	"testing"

	"evbench/internal/expect"
	"evbench/results"
	"evbench/results/compare"
)

// A rounded run is a case of some ratios to its control, round by round, on a machine of some speed.
type rounded struct {
	speed    float64 // of the machine; that of the control
	ratios   []float64
	off      bool         // the run has no control
	rejected map[int]bool // rounds in which the slice of the case does not count
}

// wavy are ratios of a case that reaches a share, with some noise.
func wavy(share float64, rounds int) (out []float64) {
	for i := range rounds {
		out = append(out, share*(1+0.004*float64((5*i)%7-3)))
	}
	return out
}

func (x rounded) run() *results.Run {
	run := synthetic{}.run()
	sum := &run.Summary
	cases := []string{"control", "a"}
	if x.off {
		cases = cases[1:]
	}
	for _, name := range cases {
		sum.Cases = append(sum.Cases, results.Case{Name: name, Valid: true, Complete: true, PlanHash: "sha256:" + name, Control: name == "control"})
	}
	for round, ratio := range x.ratios {
		for _, name := range cases {
			s := results.Slice{Case: name, Repeat: round, Round: round, Control: name == "control", Complete: true, Exchanges: 5, MeasuredSec: 1}
			value := x.speed * (1 + 0.002*float64(round%3))
			if name == "a" {
				value *= ratio
				if x.rejected[round] {
					s.Rejected, value = "disturbed", value/10
				}
			}
			s.EventsPerSec, s.GoodputBitPerSec, s.Efficiency = 10*value, 1e6*value, value
			sum.Slices = append(sum.Slices, s)
		}
	}
	results.Assess(sum.Cases, sum.Slices, nil)
	return run
}

// What slows the whole machine down changes absolute figures, and no ratio.
func TestRatio(t *testing.T) {
	full := rounded{speed: 1, ratios: wavy(0.9, 8)}
	all := map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true}
	even := []float64{0.9, 0.9, 0.9, 0.9, 0.9, 0.9}
	for _, tt := range []struct {
		name           string
		base, next     rounded
		ratio, events  bool   // significant
		unsaid         string // of the ratio
		regressed      bool   // by "ratio_to_control < -3%"
		open, rejected int    // what cannot be said of that; slices of the new run
	}{
		{name: "the same", base: full, next: full},
		{name: "a slower machine", base: full, next: rounded{speed: 0.85, ratios: wavy(0.9, 8)}, events: true},
		{name: "a worse case on a faster machine", base: full, next: rounded{speed: 1.2, ratios: wavy(0.8, 8)}, ratio: true, events: true, regressed: true},
		{name: "a better case", base: full, next: rounded{speed: 1, ratios: wavy(0.95, 8)}, ratio: true, events: true},
		{name: "no width", base: rounded{speed: 1, ratios: even}, next: rounded{speed: 0.9, ratios: even}, events: true},
		{name: "four rounds", base: full, next: rounded{speed: 1, ratios: wavy(0.8, 4)}, ratio: true, events: true, regressed: true},
		{name: "three rounds", base: full, next: rounded{speed: 1, ratios: wavy(0.8, 3)}, unsaid: "fewer than 4 rounds on a side", open: 1},
		{name: "one round", base: full, next: rounded{speed: 1, ratios: wavy(0.8, 1)}, unsaid: "fewer than 4 rounds on a side", open: 1},
		{name: "one slice rejected", base: full, next: rounded{speed: 1, ratios: wavy(0.9, 8), rejected: map[int]bool{3: true}}, rejected: 1},
		{name: "all rejected", base: full, next: rounded{speed: 1, ratios: wavy(0.9, 8), rejected: all}, unsaid: "none", open: 1, rejected: 8},
		{name: "no control", base: full, next: rounded{speed: 1, ratios: wavy(0.8, 8), off: true}, events: true, unsaid: "none", open: 2},
	} {
		r := compare.Runs(tt.base.run(), tt.next.run(), compare.Options{})
		bad, open := r.Judge([]compare.Condition{{Figure: compare.Ratio, Limit: -3}})
		expect.True(t, (len(bad) == 1) == tt.regressed && len(open) == tt.open, "%s: regressions %v, open %v", tt.name, bad, open)
		for _, c := range r.Cases {
			if c.Control {
				expect.False(t, len(c.Figures) > 0 && c.Figures[0].Name == compare.Ratio, "%s: the control has a ratio to itself", tt.name)
				continue
			}
			got := map[string]compare.Figure{}
			for _, f := range c.Figures {
				got[f.Name] = f
			}
			f, given := got[compare.Ratio]
			if given != (tt.unsaid != "none") || given && f.Unsaid != tt.unsaid || f.Significant != tt.ratio || got["events_per_s"].Significant != tt.events {
				t.Errorf("%s: %+v", tt.name, c.Figures)
			}
			expect.True(t, c.Rejected.New == tt.rejected && len(c.LeftOut) == 0, "%s: %d rejected, left out %v", tt.name, c.Rejected.New, c.LeftOut)
		}
	}
}

// One measured run and a simulation of it: the interval of the one is held against the other.
func TestRatioOfSimulation(t *testing.T) {
	for _, tt := range []struct {
		rounds      int
		ratio       float64
		significant bool
		unsaid      string
	}{
		{8, 0.9, false, ""}, {8, 0.95, true, ""}, {5, 0.95, false, "5 measured observations are too few"},
	} {
		virtual := rounded{speed: 1, ratios: []float64{tt.ratio}}.run()
		virtual.Manifest.Fabric.Kind, virtual.Summary.Slices = "sim", nil
		measured := rounded{speed: 1, ratios: wavy(0.9, tt.rounds)}.run()
		for _, runs := range [][2]*results.Run{{measured, virtual}, {virtual, measured}} {
			f := figureOf(t, compare.Runs(runs[0], runs[1], compare.Options{}), "a", compare.Ratio)
			expect.True(t, f.Significant == tt.significant && f.Unsaid == tt.unsaid, "%+v: %+v", tt, f)
		}
	}
}

// Text shows the ratio, and absolute figures where nothing can be said of it, with the reason.
func TestRatioText(t *testing.T) {
	full, off := rounded{speed: 1, ratios: wavy(0.9, 8)}, rounded{speed: 1, ratios: wavy(0.9, 8), off: true}
	short := rounded{speed: 1, ratios: wavy(0.9, 2)}
	const noControl = "no control in the new run: "
	for _, tt := range []struct {
		name       string
		base, next rounded
		only       []string
		shown, not []string
	}{
		{"ratio", full, full, nil, []string{"\nratio_to_control ", "--metric shows events_per_s"}, []string{"\nevents_per_s ", noControl}},
		{"no control", full, off, nil, []string{noControl, "\nevents_per_s "}, []string{"\nratio_to_control "}},
		{"too few rounds", full, short, nil, []string{"\nratio_to_control ", "\nevents_per_s ", "nothing can be said: fewer than 4 rounds"}, nil},
		{"asked for", full, full, []string{"events_per_s"}, []string{"\nevents_per_s "}, []string{"\nratio_to_control ", "\ngoodput_bit_per_s "}},
	} {
		var sides [2]compare.Side
		for i, x := range []rounded{tt.base, tt.next} {
			run := x.run()
			run.Manifest.Fabric.Kind = "lab"
			side := expect.Value(compare.NewSide("x", whole(run)))(t)
			sides[i] = side
		}
		c := expect.Value(compare.Between(sides[0], sides[1], nil, false))(t)
		c.Only(tt.only)
		var b bytes.Buffer
		expect.Must(t, c.WriteText(&b))
		for _, want := range tt.shown {
			if !contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", tt.name, want, b.String())
			}
		}
		for _, not := range tt.not {
			if contains(b.String(), not) {
				t.Errorf("%s: %q in\n%s", tt.name, not, b.String())
			}
		}
	}
}

// whole gives a run the samples that its slices sum up.
func whole(run *results.Run) *results.Run {
	for _, s := range run.Summary.Slices {
		run.Samples = append(run.Samples, results.Sample{Case: s.Case, Repeat: s.Repeat, TSec: s.MeasuredSec, IntervalSec: s.MeasuredSec,
			PayloadBytes: uint64(s.GoodputBitPerSec/8*s.MeasuredSec) + 1})
	}
	return run
}
