package compare_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/results"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/view/compare"
)

// A rounded run is a case of some ratios to its control, round by round, on a machine of some speed.
type rounded struct {
	speed    float64 // of the machine; that of the control
	ratios   []float64
	off      bool         // the run has no control
	rejected map[int]bool // rounds in which the slice of the case does not count
	delay    float64      // of servers
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
			s := results.Slice{Case: name, Repeat: round, Round: round, Control: name == "control", Complete: true, Exchanges: 5, MeasuredSec: 1, Delay: x.delay}
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
		{name: "a slower machine", base: full, next: rounded{speed: 0.85, ratios: wavy(0.9, 8), delay: .2}, events: true},
		{name: "a slower network, which the ratio hides", base: full, next: rounded{speed: 0.85, ratios: wavy(0.9, 8)}, events: true, open: 1},
		{name: "a worse case on a faster machine", base: full, next: rounded{speed: 1.2, ratios: wavy(0.8, 8)}, ratio: true, events: true, regressed: true},
		{name: "a better case", base: full, next: rounded{speed: 1, ratios: wavy(0.95, 8)}, ratio: true, events: true},
		{name: "no width", base: rounded{speed: 1, ratios: even}, next: rounded{speed: 0.9, ratios: even, delay: .2}, events: true},
		{name: "four rounds", base: full, next: rounded{speed: 1, ratios: wavy(0.8, 4)}, ratio: true, events: true, regressed: true},
		{name: "three rounds", base: full, next: rounded{speed: 1, ratios: wavy(0.8, 3)}, unsaid: "fewer than 4 rounds on a side", open: 1},
		{name: "one round", base: full, next: rounded{speed: 1, ratios: wavy(0.8, 1)}, unsaid: "fewer than 4 rounds on a side", open: 1},
		{name: "one slice rejected", base: full, next: rounded{speed: 1, ratios: wavy(0.9, 8), rejected: map[int]bool{3: true}}, rejected: 1},
		{name: "all rejected", base: full, next: rounded{speed: 1, ratios: wavy(0.9, 8), rejected: all}, unsaid: "none", open: 1, rejected: 8},
		{name: "no control", base: full, next: rounded{speed: 1, ratios: wavy(0.8, 8), off: true}, events: true, unsaid: "none", open: 2},
	} {
		r := compare.Runs(tt.base.run(), tt.next.run(), false)
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
			expect.False(t, given != (tt.unsaid != "none") || given && f.Unsaid != tt.unsaid || f.Significant != tt.ratio || got["events_per_s"].Significant != tt.events,
				"%s: %+v", tt.name, c.Figures)
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
			f := figureOf(t, compare.Runs(runs[0], runs[1], false), "a", compare.Ratio)
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
		c := expect.Value(compare.Between(sides[0], sides[1], nil, false, nil))(t)
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

// A comparison of two synthetic runs, made many times with other noise.
type outcome struct{ significant, unsaid float64 } // shares

func often(base, next synthetic, times int) (o outcome) {
	for i := range times {
		base.seed, next.seed = uint64(2*i), uint64(2*i+1)
		f := compare.Runs(base.run(), next.run(), false).Cases[0].Figures[0]
		if f.Significant {
			o.significant += 1 / float64(times)
		}
		if f.Unsaid != "" {
			o.unsaid += 1 / float64(times)
		}
	}
	return o
}

// Two runs of the same look different about as often as alpha says, whatever is
// observed, and also where neighbouring intervals are alike. Where they are very
// much so, and few, one cannot see that they are; the limits say what it costs.
func TestNothingChanged(t *testing.T) {
	need.Heavy(t)
	for _, tt := range []struct {
		name  string
		s     synthetic
		limit float64
	}{
		{"8 intervals", synthetic{repeats: 1, intervals: 8}, 0.07},
		{"60 intervals", synthetic{repeats: 1, intervals: 60}, 0.07},
		{"8, each making up for the one before", synthetic{repeats: 1, intervals: 8, alike: -0.3}, 0.05},
		{"20, alike", synthetic{repeats: 1, intervals: 20, alike: 0.5}, 0.09},
		{"60, alike", synthetic{repeats: 1, intervals: 60, alike: 0.5}, 0.09},
		{"60, much alike", synthetic{repeats: 1, intervals: 60, alike: 0.8}, 0.12},
		{"4 repeats", synthetic{repeats: 4, intervals: 8, alike: 0.8}, 0.05},
		{"6 repeats that differ", synthetic{repeats: 6, intervals: 8, alike: 0.8, between: 0.05}, 0.06},
		{"3 repeats that differ", synthetic{repeats: 3, intervals: 20, between: 0.05}, 0.12}, // 1 in 10 lies apart by chance
	} {
		tt.s.servers, tt.s.rate, tt.s.noise = 2, 90e6, 0.02
		got := often(tt.s, tt.s, 500)
		expect.True(t, got.significant <= tt.limit, "%s: %.3f look significant, more than %.3f", tt.name, got.significant, tt.limit)
	}
}

// Taken for independent, alike intervals would cry wolf: blocks are what
// prevents it. A change of twice the noise is found all the same.
func TestChangeFound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		s     synthetic
		least float64
	}{
		{"8 intervals", synthetic{repeats: 1, intervals: 8}, 0.7},
		{"60 intervals", synthetic{repeats: 1, intervals: 60}, 0.95},
		{"60, alike", synthetic{repeats: 1, intervals: 60, alike: 0.5}, 0.85},
		{"4 repeats", synthetic{repeats: 4, intervals: 8}, 0.95},
		{"3 repeats", synthetic{repeats: 3, intervals: 8}, 0.9},
	} {
		tt.s.servers, tt.s.rate, tt.s.noise = 2, 90e6, 0.02
		slower := tt.s
		slower.rate *= 0.96
		got := often(tt.s, slower, 200)
		expect.True(t, got.significant >= tt.least, "%s: %.2f found, fewer than %.2f", tt.name, got.significant, tt.least)
	}
}

// Servers of one interval are one observation: more of them make nothing more
// certain.
func TestServersAreNoObservations(t *testing.T) {
	s := synthetic{repeats: 1, intervals: 8, servers: 64, rate: 90e6, noise: 0.02, seed: 1}
	f := compare.Runs(s.run(), s.run(), false).Cases[0].Figures[0]
	expect.True(t, f.Base.N <= 8 && f.Observed == compare.Blocks, "%d observations that are %s, from 8 intervals", f.Base.N, f.Observed)
}

func TestTooFew(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    synthetic
		want string
	}{
		{"3 intervals", synthetic{repeats: 1, intervals: 3}, "fewer than 4 repeats and fewer than 4 intervals on a side"},
		{"no samples", synthetic{repeats: 3, intervals: 0}, "fewer than 4 repeats on a side, and no samples"},
	} {
		tt.s.servers, tt.s.rate, tt.s.noise, tt.s.seed = 2, 90e6, 0.02, 3
		a, b := tt.s.run(), tt.s.run()
		for i := range a.Summary.Cases {
			a.Summary.Cases[i].EventsPerSec.Mean, b.Summary.Cases[i].EventsPerSec.Mean = 5, 1
		}
		f := compare.Runs(a, b, false).Cases[0].Figures[0]
		expect.True(t, !f.Significant && contains(f.Unsaid, tt.want) && f.Base.N != 0, "%s: %+v, want %q", tt.name, f, tt.want)
	}
}

// A rate that falls all the time has no level to compare, however many
// intervals show it.
func TestDrift(t *testing.T) {
	s := synthetic{repeats: 1, intervals: 20, servers: 2, rate: 90e6}
	base, next := s.run(), s.run()
	for i := range next.Samples {
		next.Samples[i].PayloadBytes = uint64(9e6 - 2e5*next.Samples[i].TSec)
	}
	f := compare.Runs(base, next, false).Cases[0].Figures[0]
	expect.True(t, !f.Significant && contains(f.Unsaid, "too much alike"), "%+v", f)
}

// A synthetic run is one case as a network would have given it: each server
// receives at a rate that wanders around its mean.
type synthetic struct {
	repeats, intervals, servers int
	rate                        float64 // bit/s per server
	noise                       float64 // of one interval, relative
	alike                       float64 // correlation of neighbouring intervals
	between                     float64 // spread of the repeats, relative
	wait                        float64 // at the barrier, share of the time
	seed                        uint64
}

const (
	fragment = 125_000 // bytes
	eventsOf = 16 * fragment
)

// run makes the results. Servers of one interval share its noise.
func (s synthetic) run() *results.Run {
	rng := rand.New(rand.NewPCG(s.seed, 7))
	run := &results.Run{
		Manifest: results.Manifest{
			Fabric: results.Fabric{Kind: "lab", RateBitPerSec: 100e6, MTU: 9000}, Transport: "tcp",
			Versions: map[string]string{"evbench": "v1"},
		},
	}
	for r := range s.repeats {
		samples := s.repeat(rng, r)
		run.Samples = append(run.Samples, samples...)
		run.Summary.Cases = append(run.Summary.Cases, summary("shift", r, s, samples))
	}
	return run
}

func (s synthetic) repeat(rng *rand.Rand, r int) (out []results.Sample) {
	mean := s.rate * (1 + s.between*rng.NormFloat64())
	wander := rng.NormFloat64()
	for i := range s.intervals {
		if i > 0 {
			wander = s.alike*wander + math.Sqrt(1-s.alike*s.alike)*rng.NormFloat64()
		}
		for server := range s.servers {
			rate := max(0, mean*(1+s.noise*wander+s.noise/10*rng.NormFloat64()))
			out = append(out, results.Sample{
				Case: "shift", Repeat: r, Server: server, TSec: float64(i+1) + 1e-4*rng.Float64(), IntervalSec: 1,
				PayloadBytes: uint64(rate / 8), GoodputBitPerSec: rate,
				Events: uint64(rate / 8 / eventsOf), EventBytes: eventsOf, BarrierWaitSec: s.wait * (1 + s.noise*rng.NormFloat64()),
			})
		}
	}
	return out
}

// summary sums samples up as a run would have.
func summary(name string, repeat int, s synthetic, samples []results.Sample) results.Case {
	bytes, wait := 0.0, 0.0
	for _, x := range samples {
		bytes += float64(x.PayloadBytes) / float64(s.servers)
		wait += x.BarrierWaitSec / float64(s.servers)
	}
	sec := float64(s.intervals)
	return results.Case{
		Name: name, Repeat: repeat, Mode: "synchronised", PlanHash: "sha256:1", Complete: true, Valid: true, Counts: results.Counts{MeasuredSec: sec,
			Exchanges: uint64(bytes / eventsOf), BarrierWaitSec: wait},
		Rates: results.Rates{EventsPerSec: results.Stat{Mean: bytes / sec / eventsOf},
			GoodputBitPerSec: results.Stat{Mean: 8 * bytes / sec}, MeasuredEfficiency: 8 * bytes / sec / 100e6},
	}
}

// predicted is a run of which three cases were predicted by one model, and one by link loads alone.
func predicted() *results.Run {
	c := func(name string, events float64, valid bool) results.Case {
		return results.Case{Name: name, Rates: results.Rates{EventsPerSec: results.Stat{Mean: events}, MeasuredEfficiency: 0.5, PredictedEfficiency: 0.6}, Valid: valid}
	}
	p := func(name string) results.Prediction {
		return results.Prediction{Case: name, Model: "phase", EventsPerSec: 100, ModelEfficiency: 0.55}
	}
	return &results.Run{
		Manifest: results.Manifest{Predictions: []results.Prediction{p("near"), p("far"), p("wrong"), {Case: "loads", NotSimulated: "it takes too long"}}},
		Summary:  results.Summary{Cases: []results.Case{c("near", 99, true), c("far", 110, true), c("wrong", 10, false), c("loads", 50, true)}},
	}
}

// The worst of a model is the valid case that it was furthest from, on either side.
func TestAccuracyWorst(t *testing.T) {
	table := compare.NewAccuracy()
	table.Add("dir", predicted())
	table.Add("dir", nil)
	expect.MustTrue(t, !table.Valid() && len(table.Cases) == 4 && len(table.Worst) == 2, "%+v", table)
	loads, phase := table.Worst[0], table.Worst[1]
	expect.False(t, loads.Model != "loads" || loads.Cases != 1 || phase.Model != "phase" || phase.Cases != 2 || phase.Case != "far" || phase.Error > -0.09,
		"%+v", table.Worst)
}

// What was not simulated is held against link loads, and the reason is told.
func TestAccuracyText(t *testing.T) {
	table := compare.NewAccuracy()
	table.Add("dir", predicted())
	expect.Equal(t, table.Answer().String(), "NOT KNOWN: 1 of 4 cases is not valid, first “wrong”.", "answer")
	var b strings.Builder
	expect.Must(t, table.WriteText(&b))
	for _, want := range []string{
		"dir\ncase ", "-9.1 %", "invalid: not counted",
		"loads: what link loads allow, since it takes too long",
	} {
		expect.Contains(t, b.String(), want)
	}
}
