package compare_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"evbench/results"
	"evbench/testing/expect"
	"evbench/view/compare"
)

var contains = strings.Contains

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

// repeats makes a run of cases without samples: one value of events/s per repeat.
func repeats(cases map[string][]float64) *results.Run {
	run := synthetic{}.run()
	for _, name := range []string{"control (before)", "a", "b", "c"} {
		for r, v := range cases[name] {
			run.Summary.Cases = append(run.Summary.Cases, results.Case{
				Name: name, Repeat: r, Valid: true, Complete: true, PlanHash: "sha256:" + name, Control: strings.HasPrefix(name, "control"),
				Rates: results.Rates{EventsPerSec: results.Stat{Mean: v}}, Counts: results.Counts{Exchanges: 10, BarrierWaitSec: 10 / (v + 1)},
			})
		}
	}
	return run
}

func figureOf(t *testing.T, r compare.Report, name, figure string) compare.Figure {
	t.Helper()
	for _, c := range r.Cases {
		for _, f := range c.Figures {
			if c.Name == name && f.Name == figure {
				return f
			}
		}
	}
	t.Fatalf("no %s of case %s in %+v", figure, name, r.Cases)
	return compare.Figure{}
}

// Figures that a reader can check by hand.
func TestRepeats(t *testing.T) {
	base := repeats(map[string][]float64{"a": {8, 10, 9, 11, 12, 10}, "b": {4, 4, 4, 4}, "c": {1}})
	next := repeats(map[string][]float64{"a": {5, 4, 5, 6, 5, 5}, "b": {4, 4, 4, 4}, "control (before)": {7}})
	r := compare.Runs(base, next, false)
	expect.True(t, slices.Equal(r.Missing, []string{"c"}) && slices.Equal(r.Added, []string{"control (before)"}) && len(r.Cases) == 2,
		"missing %v, added %v, cases %v", r.Missing, r.Added, r.Cases)
	a := figureOf(t, r, "a", "events_per_s")
	expect.False(t, a.Base.Median != 10 || *a.Base.Lo != 8 || *a.Base.Hi != 12 || a.New.Median != 5 || *a.Change != -50 || !a.Significant || a.Base.N != 6, "a: %+v", a)
	expect.True(t, a.P <= 0.01 && a.P != 0 && a.Observed == compare.Repeats && a.Unsaid == "", "a: %+v", a)
	b := figureOf(t, r, "b", "events_per_s")
	expect.True(t, b.Base.Lo == nil && !b.Significant && *b.Change == 0 && b.P == 1, "b: %+v", b)
	w := figureOf(t, r, "b", "barrier_wait_s")
	expect.True(t, w.Base.Median == 0.2, "the barrier takes %v s in one of 10 exchanges, want 0.2", w.Base.Median)
	expect.True(t, len(r.Cases[0].Figures) == 2, "figures that no run gives: %+v", r.Cases[0].Figures)
	g := r.Geomean[0]
	expect.True(t, near(g.Base, math.Sqrt(10*4)) && near(g.New, math.Sqrt(5*4)) && g.Cases == 2 && near(g.Change, 100*(math.Sqrt(0.5)-1)),
		"geomean %+v", g)
}

// Blocks keep the level of the run: events count by the share of their bytes, and
// what a block has is scaled to the summary.
func TestBlocksKeepTheLevel(t *testing.T) {
	s := synthetic{repeats: 1, intervals: 24, servers: 4, rate: 80e6, noise: 0.01, wait: 0.1, seed: 5}
	base := s.run()
	s.rate, s.wait = 40e6, 0.2
	r := compare.Runs(base, s.run(), false)
	for name, want := range map[string]float64{"events_per_s": 5, "goodput_bit_per_s": 80e6, "measured_efficiency": 0.8, "barrier_wait_s": 0.02} {
		f := figureOf(t, r, "shift", name)
		expect.False(t, math.Abs(f.Base.Median/want-1) > 0.03 || f.Observed != compare.Blocks || f.Unsaid == "" && !f.Significant,
			"%s: %+v, want about %v", name, f, want)
	}
	if f := figureOf(t, r, "shift", "events_per_s"); f.Base.N > compare.MostBlocks || math.Abs(float64(f.Base.N)*f.BlockSec-24) > 0.1 {
		t.Errorf("%d blocks of %v s do not make up 24 s", f.Base.N, f.BlockSec)
	}
}

// Runs with other intervals are cut into blocks of the same length.
func TestOtherIntervals(t *testing.T) {
	s := synthetic{repeats: 1, intervals: 12, servers: 2, rate: 80e6, noise: 0.01, seed: 9}
	base := s.run()
	s.intervals = 48
	next := s.run()
	for i := range next.Samples {
		x := &next.Samples[i]
		x.TSec, x.IntervalSec, x.PayloadBytes = x.TSec/4, x.IntervalSec/4, x.PayloadBytes/4
	}
	f := compare.Runs(base, next, false).Cases[0].Figures[0]
	expect.True(t, f.Base.N == f.New.N && !f.Significant, "%+v", f)
}

// Between 2 and 3 repeats, blocks alone do not make a change significant.
func TestOverlappingRepeats(t *testing.T) {
	fast := synthetic{repeats: 1, intervals: 20, servers: 2, rate: 90e6, noise: 0.005, seed: 1}
	slow := fast
	slow.rate = 80e6
	run := func(parts ...synthetic) *results.Run {
		out := parts[0].run()
		out.Samples, out.Summary.Cases = nil, nil
		for i, p := range parts {
			one := p.run()
			for _, s := range one.Samples {
				s.Repeat = i
				out.Samples = append(out.Samples, s)
			}
			one.Summary.Cases[0].Repeat = i
			out.Summary.Cases = append(out.Summary.Cases, one.Summary.Cases[0])
		}
		return out
	}
	f := compare.Runs(run(fast, fast, slow), run(slow, slow, fast), false).Cases[0].Figures[0]
	expect.True(t, !f.Significant, "overlapping repeats: %+v", f)
	f = compare.Runs(run(fast, fast, fast), run(slow, slow, fast), false).Cases[0].Figures[0]
	expect.True(t, !f.Significant && f.Overlap, "one repeat as before: %+v", f)
	if f := compare.Runs(run(fast, fast), run(slow, slow), false).Cases[0].Figures[0]; !f.Significant || f.Overlap {
		t.Errorf("repeats that lie apart: %+v", f)
	}
}

func TestInvalidIsLeftOut(t *testing.T) {
	base, next := repeats(map[string][]float64{"a": {8, 8, 8, 8, 8}}), repeats(map[string][]float64{"a": {8, 8, 8, 8, 1}})
	next.Summary.Cases[4].Valid, next.Summary.Cases[4].Reasons = false, []string{"3 events lost"}
	r := compare.Runs(base, next, false)
	f := r.Cases[0].Figures[0]
	expect.True(t, f.New.N == 4 && slices.Equal(r.Cases[0].LeftOut, []string{"new, repeat 4: invalid: 3 events lost"}),
		"%+v, left out %v", f, r.Cases[0].LeftOut)
	if r = compare.Runs(base, next, true); r.Cases[0].Figures[0].New.N != 5 || len(r.Cases[0].LeftOut) != 0 {
		t.Errorf("asked for: %+v", r.Cases[0])
	}
	for i := range next.Summary.Cases {
		next.Summary.Cases[i].Valid = false
	}
	r = compare.Runs(base, next, false)
	bad, open := r.Judge([]compare.Condition{{Figure: "events_per_s", Limit: -3}})
	expect.True(t, len(r.Cases[0].Figures) == 0 && len(bad) == 0 && len(open) == 2, "all invalid: %+v, %v, %v", r.Cases[0], bad, open)
}

// A simulated figure is what it is: one run of each is enough.
func TestSimulated(t *testing.T) {
	base, next := repeats(map[string][]float64{"a": {8}, "b": {8}, "c": {8, 9}}), repeats(map[string][]float64{"a": {8}, "b": {7.9}, "c": {8, 9}})
	base.Manifest.Fabric.Kind, next.Manifest.Fabric.Kind = "sim", "sim"
	r := compare.Runs(base, next, false)
	for name, want := range map[string]bool{"a": false, "b": true, "c": false} {
		f := figureOf(t, r, name, "events_per_s")
		expect.True(t, f.Significant == want && f.Observed == compare.Exact && (f.Unsaid != "") == (name == "c"), "%s: %+v", name, f)
	}
}

func TestDifferences(t *testing.T) {
	s := synthetic{repeats: 1, intervals: 8, servers: 2, rate: 90e6}
	for _, tt := range []struct {
		name, want string
		noted      bool
		change     func(*results.Run)
	}{
		{"plan", `case "shift": plan: sha256:1 in the base, sha256:2 in the new run`, false, func(r *results.Run) { r.Summary.Cases[0].PlanHash = "sha256:2" }},
		{"size", `case "shift": event size: 2000000 B in the base, 2004000 B in the new run`, false, func(r *results.Run) {
			for i := range r.Samples {
				r.Samples[i].EventBytes += 4000
			}
		}},
		{"fabric", "fabric: lab in the base, hosts in the new run", false, func(r *results.Run) { r.Manifest.Fabric.Kind = "hosts" }},
		{"rate", "link rate: 100Mbit/s in the base, not known in the new run", false, func(r *results.Run) { r.Manifest.Fabric.RateBitPerSec = 0 }},
		{"MTU", "MTU: 9000 in the base, 1500 in the new run", false, func(r *results.Run) { r.Manifest.Fabric.MTU = 1500 }},
		{"transport", "transport: tcp in the base, mpi in the new run", false, func(r *results.Run) { r.Manifest.Transport = "mpi" }},
		{"barrier", `case "shift": barrier: none in the base, central in the new run`, true, func(r *results.Run) { r.Summary.Cases[0].Barrier = "central" }},
		{"fail-over", `case "shift": fail-over: not asked for in the base, fors+hold in the new run`, true, func(r *results.Run) { r.Summary.Cases[0].Failover = "fors+hold" }},
		{"version", "evbench: v1 in the base, v2 in the new run", true, func(r *results.Run) { r.Manifest.Versions["evbench"] = "v2" }},
	} {
		base, next := s.run(), s.run()
		tt.change(next)
		got := compare.Differences(base, next)
		expect.True(t, len(got) == 1 && got[0].String() == tt.want && got[0].Noted == tt.noted, "%s: %v, want %q", tt.name, got, tt.want)
	}
	expect.Equal(t, len(compare.Differences(s.run(), s.run())), 0, "the same")
}

// Sizes that are drawn at random have means that differ a little.
func TestRandomSizes(t *testing.T) {
	s := synthetic{repeats: 1, intervals: 20, servers: 2, rate: 90e6}
	sized := func(offset int) *results.Run {
		run := s.run()
		for i := range run.Samples {
			run.Samples[i].EventBytes = uint64(2_000_000 + 100_000*((i*7+offset)%11))
		}
		return run
	}
	expect.Equal(t, len(compare.Differences(sized(0), sized(3))), 0, "len")
	expect.Equal(t, len(compare.Differences(sized(0), s.run())), 1, "half a megabyte more")
}

func TestCheck(t *testing.T) {
	s := synthetic{repeats: 2, intervals: 8, servers: 2, rate: 90e6}
	expect.OK(t, compare.Check(s.run()))
	run := s.run()
	run.Samples = run.Samples[:28]
	if err := compare.Check(run); err == nil || !contains(err.Error(), `case "shift", repeat 1, hold 75 % of the payload`) {
		t.Errorf("cut: %v", err)
	}
	run.Summary.Cases[1].Complete = false
	expect.OK(t, compare.Check(run), "an interrupted repeat may lack samples")
	run.Summary.Cases[1].Repeat = 0
	if err := compare.Check(run); err == nil || !contains(err.Error(), `repeat 0 of case "shift" twice`) {
		t.Errorf("twice: %v", err)
	}
}

// FuzzRuns: a run is no better and no worse than itself, and what is said of it is a
// document.
func FuzzRuns(f *testing.F) {
	run := repeats(map[string][]float64{"a": {8, 10, 9, 11, 12}, "b": {4}})
	run.Summary.Schema = results.SummarySchema
	var s strings.Builder
	expect.Must(f, run.Summary.Write(&s))
	f.Add(s.String(), "b,0,1,1,0,1,2,3,4,0,0,0,0,0\nb,0,2,1,0,1,2,3,4,0,0,0,0,0\n")
	f.Add(s.String(), "b,0,1e18,1e-18,0,1,2,3,4,1e18,0,0,0,0\nb,0,2,1e18,0,1,2,3,4,0,0,0,0,0\n")
	f.Fuzz(func(t *testing.T, summary, samples string) {
		sum, err := results.ReadSummary(strings.NewReader(summary))
		if err != nil {
			return
		}
		run := &results.Run{Summary: sum}
		for line := range strings.Lines(samples) {
			record, fields := results.Samples.New(), strings.Split(strings.TrimSuffix(line, "\n"), ",")
			if len(fields) != len(results.Samples.Columns) || results.Samples.Parse(results.Row{Record: record}, fields) != nil {
				return
			}
			run.Samples = append(run.Samples, record.Interface().(results.Sample))
		}
		if compare.Check(run) != nil {
			return
		}
		for _, d := range compare.Differences(run, run) {
			t.Errorf("a run differs from itself: %s", d)
		}
		r := compare.Runs(run, run, true)
		expect.OK(t, expect.Err(json.Marshal(r)), "%q, %q", summary, samples)
		for _, c := range r.Cases {
			for _, x := range c.Figures {
				expect.True(t, !x.Significant, "a run is significantly other than itself: %+v", x)
			}
		}
	})
}

func TestParseCondition(t *testing.T) {
	for in, want := range map[string]compare.Condition{
		"events_per_s < -3%":          {"events_per_s", false, -3},
		"goodput_bit_per_s<-0.5%":     {"goodput_bit_per_s", false, -0.5},
		" barrier_wait_s  >  +10 % ":  {"barrier_wait_s", true, 10},
		"measured_efficiency\t< -.5%": {"measured_efficiency", false, -0.5},
		"events_per_s < 0%":           {"events_per_s", false, 0},
		"events_per_s > 0%":           {"events_per_s", true, 0},
	} {
		expect.Equal(t, expect.Value(compare.ParseCondition(in))(t), want, "%q", in)
	}
	for in, want := range map[string]string{
		"":                             "column 1: write a figure instead of the end; there are ratio_to_control, events_per_s, goodput_bit_per_s, measured_efficiency, barrier_wait_s",
		" <":                           `column 2: write a figure instead of "<"`,
		"speed < -3%":                  `column 1: no figure "speed"; there are ratio_to_control, events_per_s,`,
		"events_per_s":                 "column 13: write < or > instead of the end",
		"events_per_s <= -3%":          `column 14: write < or > instead of "<= -3%"`,
		"events_per_s < x":             `column 16: write a change in per cent, such as -3%, instead of "x"`,
		"events_per_s < 1e999%":        "column 17: % must follow 1 instead of \"e999%\"",
		"events_per_s < -3":            "column 18: % must follow -3 instead of the end",
		"events_per_s < -3%%":          `column 18: % must follow -3 instead of "%%"`,
		"events_per_s < -3% && x > 1%": `column 20: nothing may follow but "&& x > 1%" does; write one condition per flag, or a comma between`,
		"events_per_s < 3%":            "column 16: < 3% would hold where nothing changed; < takes 0% or less, such as -3%",
		"events_per_s > -3%":           "column 16: > -3% would hold where nothing changed; > takes 0% or more",
		"events_per_s < -101%":         "column 16: nothing falls by more than 100%",
		"events_per_s < --3%":          "column 16: write a change in per cent",
	} {
		_, err := compare.ParseCondition(in)
		if _, ok := errors.AsType[*compare.SyntaxError](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// What is read prints as something that reads as the same.
func FuzzParseCondition(f *testing.F) {
	f.Add("events_per_s < -3%")
	f.Add(" barrier_wait_s>+1.5 %")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := compare.ParseCondition(text)
		if err != nil {
			bad, ok := errors.AsType[*compare.SyntaxError](err)
			expect.MustTrue(t, ok && bad.Column >= 1 && bad.Column <= len(text)+1, "%q: %v is not within the text", text, err)
			return
		}
		again, err := compare.ParseCondition(c.String())
		expect.True(t, err == nil && again == c, "%q is %+v, prints as %q, and reads as %+v, %v", text, c, c, again, err)
	})
}

// A regression is significant and beyond the limit; either alone is none, and passes only where the interval shows
// that no change is beyond it.
func TestJudge(t *testing.T) {
	fall := []compare.Condition{{Figure: "events_per_s", Limit: -3}}
	for _, tt := range []struct {
		name       string
		base, next []float64
		conditions []compare.Condition
		bad, open  int
	}{
		{"equal", []float64{8, 8, 8, 8, 8, 8}, []float64{8, 8, 8, 8, 8, 8}, fall, 0, 0},
		{"equal, but too few for an interval", []float64{8, 8, 8, 8}, []float64{8, 8, 8, 8}, fall, 0, 1},
		{"regression", []float64{8, 8.1, 8.2, 8.1}, []float64{7, 7.1, 7, 7.2}, fall, 1, 0},
		{"better", []float64{7, 7.1, 7, 7.2}, []float64{8, 8.1, 8.2, 8.1}, fall, 0, 0},
		{"significant, within the limit", []float64{8, 8.01, 8.02, 8.01, 8, 8}, []float64{7.9, 7.91, 7.9, 7.92, 7.9, 7.9}, fall, 0, 0},
		{"beyond, not significant", []float64{8, 9, 7, 5, 8, 8}, []float64{8, 5, 5.5, 6, 8, 8}, fall, 0, 1},
		{"too few", []float64{8, 8, 8}, []float64{1, 1, 1, 1}, fall, 0, 1},
		{"not asked for", []float64{8, 8, 8, 8}, []float64{1, 1, 1, 1}, []compare.Condition{{Figure: "events_per_s", Above: true, Limit: 1}}, 0, 0},
		{"two conditions", []float64{8, 8, 8, 8}, []float64{1, 1, 1, 1}, append([]compare.Condition{{Figure: "barrier_wait_s", Above: true, Limit: 10}}, fall...), 2, 0},
		{"not given", []float64{8, 8, 8, 8}, []float64{8, 8, 8, 8}, []compare.Condition{{Figure: "measured_efficiency", Limit: -3}}, 0, 1},
		{"from nothing", []float64{0, 0, 0, 0}, []float64{8, 8, 8, 8}, fall, 0, 1},
		{"to nothing", []float64{8, 8, 8, 8}, []float64{0, 0, 0, 0}, fall, 1, 0},
		{"no conditions", []float64{8, 8, 8}, []float64{1}, nil, 0, 0},
	} {
		r := compare.Runs(repeats(map[string][]float64{"a": tt.base}), repeats(map[string][]float64{"a": tt.next}), false)
		bad, open := r.Judge(tt.conditions)
		expect.True(t, len(bad) == tt.bad && len(open) == tt.open, "%s: regressions %+v, undecided %+v", tt.name, bad, open)
	}
}

// A case that is missing has not passed; a control is not judged.
func TestJudgeCases(t *testing.T) {
	fall := []compare.Condition{{Figure: "events_per_s", Limit: -3}}
	base := repeats(map[string][]float64{"control (before)": {8, 8, 8, 8}, "a": {8, 8, 8, 8}, "b": {8, 8, 8, 8, 8, 8}})
	next := repeats(map[string][]float64{"control (before)": {1, 1, 1, 1}, "b": {8, 8, 8, 8, 8, 8}})
	bad, open := compare.Runs(base, next, false).Judge(fall)
	expect.True(t, len(bad) == 0 && len(open) == 1 && open[0].Case == "a" && open[0].Reason == "the new run does not hold it",
		"regressions %+v, undecided %+v", bad, open)
}
