package results_test

import (
	"slices"
	"strings"
	"testing"

	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/results"
	"evbench/testing/expect"
)

// A kind of case in the tests of answers.
func caseOf(name string, mode modes.Mode, schedule, routing string, dead ...string) results.Case {
	c := results.Case{Name: name, Mode: mode, Schedule: schedule, Routing: routing, Failures: dead, Valid: true, Complete: true}
	c.Control = name == "control"
	return c
}

func sized(sizes string, c results.Case) results.Case {
	c.Sizes = sizes
	return c
}

const (
	inStep  = "synchronised"
	noSteps = "unsynchronised"
)

// answer assesses cases whose ratios are given, each with that spread over eight rounds.
func answer(cases []results.Case, names []string, delay float64, ratios, spread []float64) *results.Answer {
	var all []results.Slice
	for round := range 8 {
		for i, c := range cases {
			v := ratios[i] + spread[i]*(float64(round)/3.5-1)
			all = append(all, results.Slice{Case: c.Name, Repeat: round, Round: round, Control: c.Control, Efficiency: v, Delay: delay})
		}
	}
	compared := results.Compare(cases, names)
	results.Assess(cases, all, compared)
	return results.NewAnswer(results.Setting{Cables: 16}, cases, all, compared)
}

func cable() []results.Case {
	fors := caseOf("FORS", inStep, "fors", "pinned", "leaf0-spine0")
	fors.Phases, fors.Bound, fors.PredictedRatio = 16, 16, 0.9375
	return []results.Case{
		caseOf("control", inStep, "linear-shift", "ftree"), caseOf("healthy unsync", noSteps, "", "ftree"),
		caseOf("linear shift", inStep, "linear-shift", "minhop", "leaf0-spine0"),
		caseOf("unsync", noSteps, "", "spread", "leaf0-spine0"), fors,
	}
}

func TestAnswer(t *testing.T) {
	two := []string{"leaf0-spine0", "leaf1-spine1"}
	for _, tt := range []struct {
		name           string
		cases          []results.Case
		named          []string
		ratios, spread []float64
		text           string
		compared       []string
		verdicts       []string
	}{
		{
			"the quick start", cable(), nil, []float64{1, 0.98, 0.58, 0.9, 0.938}, []float64{0, 0.01, 0.005, 0.02, 0.005},
			"One dead cable of 16 costs “linear shift” 42 % (±1) of the throughput, “FORS” 6 % (±1), the least possible.",
			[]string{"linear shift", "FORS"}, []string{"control", "resolved", "resolved", "resolved", "resolved"},
		},
		{
			"shifts by port",
			[]results.Case{
				caseOf("control", inStep, "linear-shift-ports", "ftree"),
				caseOf("shift", inStep, "linear-shift-ports", "minhop", "leaf0-spine0"), caseOf("repair", inStep, "repair:linear-shift-ports", "pinned", "leaf0-spine0"),
			},
			nil, []float64{1, 0.58, 0.9}, []float64{0, 0.005, 0.005},
			"One dead cable of 16 costs “shift” 42 % (±1) of the throughput, “repair” 10 % (±1).",
			[]string{"shift", "repair"}, []string{"control", "resolved", "resolved"},
		},
		{
			"noisy, but in order", cable(), nil, []float64{1, 0.98, 0.58, 0.9, 0.9}, []float64{0, 0.1, 0.1, 0.2, 0.06},
			"NOT KNOWN: One dead cable of 16 costs “linear shift” 42 % (±9) of the throughput, “FORS” 10 % (±5); most cases of the table are not resolved: measure longer (--limit, --duration).",
			[]string{"linear shift", "FORS"}, []string{"control", "unresolved", "ranked", "unresolved", "ranked"},
		},
		{
			"noise decides", cable(), nil, []float64{1, 0.98, 0.7, 0.9, 0.9}, []float64{0, 0.1, 0.3, 0.2, 0.3},
			"NOT KNOWN: The intervals are too wide to compare “linear shift” and “FORS”: about 1192 rounds more would show it (--rounds).",
			[]string{"linear shift", "FORS"}, []string{"control", "unresolved", "unresolved", "unresolved", "unresolved"},
		},
		{
			"named", cable(), []string{"unsync", "healthy unsync"}, []float64{1, 0.98, 0.58, 0.9, 0.938}, []float64{0, 0.01, 0.005, 0.02, 0.005},
			"On the healthy network, “healthy unsync” reaches 98 % (±1) of the control. One dead cable of 16 costs “unsync” 10 % (±2) of the throughput.",
			[]string{"healthy unsync", "unsync"}, []string{"control", "resolved", "resolved", "resolved", "resolved"},
		},
		{
			"ordered", append(cable(), caseOf("order", "ordered", "", "pinned", "leaf0-spine0"), caseOf("by FORS", "ordered", "fors", "pinned", "leaf0-spine0")), nil,
			[]float64{1, 0.98, 0.58, 0.9, 0.938, 0.97, 0.95}, []float64{0, 0.01, 0.005, 0.02, 0.005, 0.005, 0.005},
			"One dead cable of 16 costs “linear shift” 42 % (±1) of the throughput, the most of five cases; “order” 3 % (±1), the least.",
			[]string{"linear shift", "unsync", "FORS", "order", "by FORS"}, []string{"control", "resolved", "resolved", "resolved", "resolved", "resolved", "resolved"},
		},
		{
			"ordered first, and alone", []results.Case{cable()[0], caseOf("order", "ordered", "", "pinned", "leaf0-spine0")}, nil,
			[]float64{1, 0.96}, []float64{0, 0.005},
			"One dead cable of 16 costs “order” 4 % (±1) of the throughput.",
			[]string{"order"}, []string{"control", "resolved"},
		},
		{
			"ordered is faster than the control", append(cable()[:3], caseOf("order", "ordered", "", "pinned", "leaf0-spine0")), nil,
			[]float64{1, 0.98, 0.9, 1.18}, []float64{0, 0.01, 0.005, 0.005},
			"With one dead cable of 16, “linear shift” reaches 90 % (±1) of the control, “order” 118 % (±1).",
			[]string{"linear shift", "order"}, []string{"control", "resolved", "resolved", "resolved"},
		},
		{
			"sizes", []results.Case{
				caseOf("control", inStep, "linear-shift", "ftree"), sized("exponential", caseOf("a", inStep, "fors", "pinned", "leaf0-spine0")),
				sized("±50 %", caseOf("b", inStep, "fors", "pinned", "leaf0-spine0")), sized("exponential", caseOf("c", "ordered", "", "pinned", "leaf0-spine0")),
				sized("±50 %", caseOf("d", "ordered", "", "pinned", "leaf0-spine0")),
			}, nil, []float64{1, 0.4, 0.7, 0.95, 0.94}, []float64{0, 0.005, 0.005, 0.005, 0.005},
			"With one dead cable of 16 and sizes exponential, “a” reaches 40 % (±1) of the control, “c” 95 % (±1).",
			[]string{"a", "c", "b", "d"}, []string{"control", "resolved", "resolved", "resolved", "resolved"},
		},
		{
			"sizes on the healthy network", []results.Case{caseOf("control", inStep, "linear-shift", "ftree"), sized("exponential", caseOf("a", "ordered", "", "pinned"))}, nil,
			[]float64{1, 0.95}, []float64{0, 0.005},
			"With sizes exponential, “a” reaches 95 % (±1) of the control.",
			[]string{"a"}, []string{"control", "resolved"},
		},
		{
			"no dead links", cable()[:2], nil, []float64{1, 0.9}, []float64{0, 0.01},
			"“healthy unsync” reaches 90 % (±1) of the control.",
			[]string{"healthy unsync"}, []string{"control", "resolved"},
		},
		{
			"two dead links, two plans alike", []results.Case{
				caseOf("control", inStep, "linear-shift", "ftree"), caseOf("a", inStep, "fors", "pinned", two...), caseOf("b", inStep, "fors", "pinned", two...),
			}, nil, []float64{1, 0.9, 0.8}, []float64{0, 0.01, 0.01},
			"Two dead cables of 16 cost “a” 10 % (±1) of the throughput, “b” 20 % (±1).",
			[]string{"a", "b"}, []string{"control", "resolved", "resolved"},
		},
		{
			"links that change are not compared, but told of", []results.Case{
				caseOf("control", inStep, "linear-shift", "ftree"), caseOf("x", inStep, "linear-shift", "ftree", "leaf0-spine0 at 3s for 4s"),
			}, nil, []float64{1, 0.9}, []float64{0, 0.01}, "“x” reaches 90 % (±1) of the control.", []string{"x"}, []string{"control", "resolved"},
		},
	} {
		got := answer(tt.cases, tt.named, 0, tt.ratios, tt.spread)
		if !strings.HasPrefix(tt.text, "NOT KNOWN: ") {
			tt.text = "GOOD: " + tt.text
		}
		expect.False(t, got.String() != tt.text || !slices.Equal(got.Cases, tt.compared), "%s: %v\n%s\nwant\n%s", tt.name, got.Cases, got, tt.text)
		for i, c := range tt.cases {
			expect.True(t, c.Verdict == tt.verdicts[i], "%s: %s is %s, want %s (%+v)", tt.name, c.Name, c.Verdict, tt.verdicts[i], c.Estimate)
		}
	}
}

// Cases are equal only where that is shown: by the interval of their ratio, over rounds. Noise that
// all of a round have, the control not, hides no equality.
func TestEqual(t *testing.T) {
	dead := "leaf0-spine0"
	steady, near := []float64{1, 1, 1, 1, 1, 1, 1, 1}, []float64{.99, 1.01, 1, .995, 1.005, 1, 1, .99}
	for _, tt := range []struct {
		name        string
		noise, a, b []float64 // efficiencies of the control and of both cases
		rejected    bool      // all slices of both
		verdict     string
		equal       bool
	}{
		{"zero width", steady, []float64{.9, .9, .9, .9, .9, .9}, []float64{.9, .9, .9, .9, .9, .9}, false, results.Resolved, true},
		{"a noisy control", []float64{1.2, 1.4, 1.1, 1.3, 1.8, 1.2, 1.9, 1.5}, steady, near, false, results.Ranked, true},
		{"a noisy control, which may be as slow", []float64{1, 1.4, .7, 1.3, .8, 1.2, .9, 1.5}, steady, near, false, results.Unresolved, true},
		{"overlapping is not equal", steady, []float64{.90, .91, .92, .93, .94, .95, .93, .92}, []float64{.95, .90, .93, .94, .90, .93, .91, .95}, false, results.Resolved, false},
		{"known to differ by more", steady, []float64{.9, .9, .9, .9, .9, .9}, []float64{.86, .86, .86, .86, .86, .86}, false, results.Resolved, false},
		{"known to differ by just that", steady, []float64{1.03, 1.03, 1.03, 1.03, 1.03, 1.03}, steady[:6], false, results.Resolved, false},
		{"five rounds", steady, steady[:5], steady[:5], false, results.Unresolved, false},
		{"one round", steady, steady[:1], steady[:1], false, results.Unresolved, false},
		{"all rejected", steady, steady, steady, true, results.Unresolved, false},
	} {
		cases := []results.Case{caseOf("control", inStep, "linear-shift", "ftree"), caseOf("a", inStep, "fors", "pinned", dead), caseOf("b", "ordered", "", "pinned", dead)}
		var all []results.Slice
		for round := range tt.a {
			for i, v := range []float64{tt.noise[round], tt.a[round], tt.b[round]} {
				x := results.Slice{Case: cases[i].Name, Repeat: round, Round: round, Control: i == 0, Efficiency: v}
				if tt.rejected && i > 0 {
					x.Rejected = "disturbed"
				}
				all = append(all, x)
			}
		}
		compared := results.Compare(cases, nil)
		results.Assess(cases, all, compared)
		said := results.NewAnswer(results.Setting{Cables: 16}, cases, all, compared)
		text := said.Sentence + strings.Join(said.Why, " ")
		a, b := cases[1], cases[2]
		expect.False(t, a.Verdict != tt.verdict || b.Verdict != tt.verdict || slices.Equal(a.Equal, []string{"b"}) != tt.equal || slices.Equal(b.Equal, []string{"a"}) != tt.equal,
			"%s: %s, equal to %v; %s, equal to %v", tt.name, a.Verdict, a.Equal, b.Verdict, b.Equal)
		expect.True(t, strings.Contains(text, "“a” and “b” differ by less than 3 %") == tt.equal, "%s: %s", tt.name, text)
	}
}

// What delays each phase by as much costs a case with longer phases less: nothing is resolved that is compared
// with a slow control.
func TestSlowControl(t *testing.T) {
	for _, tt := range []struct {
		reached, delay  float64
		verdict, answer string
	}{
		{0.96, 0.2, results.Resolved, "GOOD"},
		{0.94, 0.2, results.Ranked, "GOOD"},
		{0.94, 0.01, results.Resolved, "GOOD"}, // it is steady, and not the machine
	} {
		cases := cable()
		cases[0].PredictedEfficiency = 0.99
		got := answer(cases, nil, tt.delay, []float64{0.99 * tt.reached, 0.9, 0.6 * tt.reached, 0.9, 0.93 * tt.reached}, make([]float64, 5))
		expect.True(t, cases[2].Verdict == tt.verdict && cases[4].Verdict == tt.verdict && strings.HasPrefix(got.String(), tt.answer),
			"control at %v: %s, %s, %s", tt.reached, cases[2].Verdict, cases[4].Verdict, got)
	}
}

// The sentences of runs in which nothing is compared, and of those that nothing is known of.
func TestAnswerAlone(t *testing.T) {
	sec := func(x float64) *float64 { return &x }
	dies := func(name string, f results.Failover) results.Case {
		c := caseOf(name, inStep, "fors", "pinned", "leaf0-spine0 at 5s for 6s")
		c.Failover, c.Failovers = "fors", []results.Failover{f, {Up: []string{"leaf0-spine0"}, FailoverTimes: results.FailoverTimes{SetSec: sec(11)}}}
		c.EventsPerSec.Mean, c.GoodputBitPerSec.Mean, c.Phases, c.MeasuredSec = 9.75, 1e9, 15, 16
		return c
	}
	times := results.FailoverTimes{SetSec: sec(5), SeenSec: sec(5.0005), AidedSec: sec(5.001), UpdatedSec: sec(5.006), FirstNewSec: sec(6)}
	down := results.Failover{Down: []string{"leaf0-spine0"}, Dead: []string{"leaf0-spine0"}, Phases: 16, FailoverTimes: times, BeforeEventsPerSec: sec(10), DuringEventsPerSec: sec(7.5), AfterEventsPerSec: sec(9.4)}
	beside := func(name string, ratio, before float64) results.Case { // per 10 events/s on the way
		f := down
		f.BeforeEventsPerSec = &before
		c := dies(name, f)
		c.RatioToControl, c.PredictedRatio = ratio, 0.977
		return c
	}
	held := func(policy string, after float64) results.Case {
		c := dies(policy, results.Failover{Down: down.Down, Dead: down.Dead, FailoverTimes: results.FailoverTimes{SetSec: sec(5)}, BeforeEventsPerSec: sec(10), AfterEventsPerSec: &after})
		c.Failover, c.EventsPerSec.Mean = policy, 6+after*2.75/7
		return c
	}
	stuck := results.Failover{Down: []string{"leaf0-spine0"}, Dead: []string{"leaf0-spine0"}, FailoverTimes: results.FailoverTimes{SeenSec: sec(5)}, Reason: "no plan: no path"}
	rate := caseOf("free", noSteps, "", "ecmp")
	rate.Estimate = &results.Estimate{Of: results.OfGoodput, Interval: results.Interval{Median: 9.82e6, Lo: sec(9.5e6), Hi: sec(1e7), N: 8}}
	off := caseOf("control", inStep, "linear-shift", "ftree")
	off.Valid, off.Reasons = false, []string{"reaches 7 % of its prediction"}
	for _, tt := range []struct {
		name  string
		cases []results.Case
		want  string
		why   string
	}{
		{"nothing measured", []results.Case{caseOf("x", noSteps, "", "ecmp")}, "NOT KNOWN: No case was measured.", ""},
		{"a control that is off", []results.Case{off, rate}, "NOT KNOWN: The control: reaches 7 % of its prediction. “free” reaches 9.82 Mbit/s (±3 %) per server.", ""},
		{"fail-over", []results.Case{caseOf("control", inStep, "linear-shift", "ftree"), dies("FORS", down)},
			"GOOD: “FORS” lost the throughput of 400 ms in 6 s without leaf0-spine0.",
			"tables repaired after 1 ms, new plan at all servers after 6 ms; 75 % of the throughput until then, 94 % after it"},
		{"several policies", []results.Case{held("none", 0), dies("FORS", down)},
			"GOOD: “FORS” lost the throughput of 400 ms in 6 s without leaf0-spine0, the least; “none” lost most, 6.4 s.", "tables repaired"},
		{"nothing is built", []results.Case{held("none", 0)},
			"BAD: “none” kept 0 % of its throughput without leaf0-spine0 (bad below 50 %): set failover: fors.", "“none” lost the throughput of 6.4 s in 6 s without leaf0-spine0; nothing was done under policy “none”, 0 % after it"},
		{"two thirds without a plan", []results.Case{held("spread", 7)},
			"NOT KNOWN: “spread” kept 67 % of its throughput without leaf0-spine0; whether a plan keeps more is not known: add a case with failover: fors.", "“spread” lost the throughput of 2 s"},
		{"fail-over beside the control", []results.Case{beside("FORS", 0.95, 10.4)},
			"BAD: “FORS” kept 83 % of its throughput without leaf0-spine0, its plan can keep 94 %: hold a link that flaps, or measure longer.", "“FORS” lost the throughput of 1 s"},
		{"slow before the link died", []results.Case{beside("FORS", 0.9, 4)}, "NOT KNOWN: “FORS” reached 37 % of the control before leaf0-spine0 died; what the link costs is not known: take a longer --duration.", ""},
		{"slow over all", []results.Case{beside("FORS", 0.75, 12.5)}, "NOT KNOWN: “FORS” reached 75 % of the control, 98 % was predicted; what the link costs is not known: take a longer --duration.", ""},
		{"one of two is slow", []results.Case{beside("hold", 0.75, 12.5), dies("FORS", down)},
			"GOOD: “FORS” lost the throughput of 400 ms in 6 s without leaf0-spine0.", "tables repaired"},
		{"no new plan", []results.Case{dies("FORS", stuck)}, "BAD: “FORS”: no plan: no path. What the death of leaf0-spine0 cost is not known. Nothing was done under policy “fors”.", ""},
		{"the link stays up", []results.Case{dies("FORS", results.Failover{Up: []string{"leaf0-spine0"}})}, "NOT KNOWN: No link died while events were built.", ""},
	} {
		a := results.NewAnswer(results.Setting{Cables: 16}, tt.cases, nil, nil)
		expect.False(t, a.String() != tt.want || !strings.HasPrefix(strings.Join(a.Why, "; "), tt.why), "%s: %s\nbecause %q", tt.name, a, a.Why)
	}
	if a := results.NewAnswer(results.Setting{}, nil, nil, nil); a != nil {
		t.Error(a)
	}
}

// What a clock offers is built or refused, and the answer says so; a busy machine is no reason to blame the network.
func TestAnswerOfLoads(t *testing.T) {
	loadOf := func(name string, rate, share, predicted float64, refused uint64) results.Case {
		c := caseOf(name, inStep, "fors", "pinned")
		c.PredictedEfficiency = predicted
		c.Offered = &results.Offered{RatePerSec: rate, Share: share, Offered: 1000, Complete: 1000 - refused, Refused: refused, Latency: load.Quantiles{P999: .012}}
		return c
	}
	fills := loadOf("low", 1200, .5, .5, 0)
	fills.Offered.Filling = true
	lacks := loadOf("lacks", 1200, .5, .5, 0)
	lacks.Offered.Complete, lacks.Offered.Incomplete = 970, 30
	lacks.Offered.Missing = []results.Missing{{Server: 5, Events: 29}, {Server: 2, Events: 7}}
	slow := loadOf("slow", 1200, .5, .5, 390)
	slow.Mode, slow.CPUBusy, slow.Offered.Predicted = noSteps, .98, &results.Expected{Complete: .61, Dead: .39}
	saturated := loadOf("saturated", 20e3, .8, 1, 500)
	saturated.CPUBusy = .98
	for _, tt := range []struct {
		cases []results.Case
		delay float64
		want  string
	}{
		{[]results.Case{slow}, 0, "BAD: “slow” takes 61 % of 1.2 kHz: 39 % dead time, 39 % predicted."},
		{[]results.Case{saturated}, 0, "NOT KNOWN: “saturated” takes 50 % of 20 kHz: 50 % dead time; sources make about 10 kHz of the 20 kHz asked for on this machine, as processors were busy more than 90 % of the time: lower load.rate."},
		{[]results.Case{loadOf("starved", 20e3, .8, 1, 900)}, .7, "NOT KNOWN: “starved” takes 10 % of 20 kHz: 90 % dead time; sources make about 2 kHz of the 20 kHz asked for on this machine, as servers waited 70 % of the time for a processor: lower load.rate."},
		{[]results.Case{lacks}, 0, "BAD: “lacks” takes 97 % of 1.2 kHz: 3 % incomplete, most without server5."},
		{[]results.Case{fills}, 0, "NOT KNOWN: “low” takes all of 1.2 kHz, p99.9 12 ms; more and more events wait in the buffers: take a longer --duration, or --find-rate."},
		{[]results.Case{loadOf("low", 1200, .5, .5, 0)}, 0, "GOOD: “low” takes all of 1.2 kHz, p99.9 12 ms."},
		{[]results.Case{loadOf("low", 1200, .5, .5, 0), loadOf("high", 2640, 1.1, 1, 91)}, 0, "BAD: “high” takes 91 % of 2.64 kHz: 9.1 % dead time, 9.1 % predicted."},
		{[]results.Case{loadOf("one", 1200, .5, .5, 1)}, 0, "BAD: “one” takes 99.9 % of 1.2 kHz: 0.1 % dead time."},
		{[]results.Case{loadOf("busy", 1200, .5, .5, 100)}, .2, "NOT KNOWN: “busy” takes 90 % of 1.2 kHz: 10 % dead time; servers waited 20 % of the time for a processor: take a longer --duration."},
		{
			[]results.Case{loadOf("a", 100, .2, .2, 0), loadOf("b", 300, .6, .6, 0), loadOf("c", 600, 1.2, 1, 167), loadOf("d", 200, .4, .4, 0)}, 0,
			"BAD: “c” takes 83 % of 600 Hz: 17 % dead time, 17 % predicted.",
		},
		{
			[]results.Case{loadOf("a", 100, .2, .2, 0), fills, loadOf("c", 300, .6, .6, 0), loadOf("d", 200, .4, .4, 0)}, 0,
			"NOT KNOWN: “low” takes all of 1.2 kHz, p99.9 12 ms; more and more events wait in the buffers: take a longer --duration, or --find-rate.",
		},
	} {
		ratios, spread := make([]float64, len(tt.cases)), make([]float64, len(tt.cases))
		for i, c := range tt.cases {
			ratios[i] = c.Offered.Share * c.Offered.Taken()
		}
		a := answer(tt.cases, nil, tt.delay, ratios, spread)
		expect.Equal(t, a.String(), tt.want, "%s", tt.cases[0].Name)
		expect.Equal(t, a.Question, "Does the network take the events that a clock offers?", "question")
	}
}

// The answer of a search for rates: what is taken of what the network can do, the machine where it was disturbed, and
// never a rate that is in doubt.
func TestAnswerOfSearch(t *testing.T) {
	step := func(name string, busy float64) results.Case {
		return results.Case{Name: name, Complete: true, Valid: true, Offered: &results.Offered{RatePerSec: 980, Offered: 3000, Complete: 3000}, Counts: results.Counts{CPUBusy: busy}}
	}
	healthy := results.Found{Case: "healthy", Mode: modes.Sync, TakenPerSec: 980, RefusedPerSec: 988, Finest: .01, FullPerSec: 1000, Predicted: 1000, Model: "phase", Bound: 1020, Steps: 8, At: "healthy at 980 Hz"}
	dead, low, open, unknown := healthy, healthy, healthy, healthy
	dead.Case, dead.Failures, dead.TakenPerSec, dead.RefusedPerSec, dead.Predicted = "FORS", []string{"leaf0-spine0"}, 920, 928, 940
	low.TakenPerSec, low.RefusedPerSec, low.Predicted = 800, 808, 1000
	open.Doubt = "12 measurements were not enough: 900 Hz is taken, 988 Hz is not"
	coarse := healthy
	coarse.TakenPerSec, coarse.RefusedPerSec, coarse.Finest = 1100, 1300, .2
	unknown.FullPerSec, unknown.Predicted, unknown.TakenPerSec, unknown.RefusedPerSec = 0, 0, 3300, 3320
	for _, tt := range []struct {
		name  string
		found []results.Found
		busy  float64
		want  string
	}{
		{"healthy", []results.Found{healthy}, 0, "GOOD: “healthy” takes 980 Hz (±1 %) without dead time, 98 % of what this network can do."},
		{"dead", []results.Found{healthy, dead}, 0, "GOOD: “healthy” takes 980 Hz (±1 %) without dead time, 98 % of what this network can do. With one dead cable “FORS” takes 92 %."},
		{"above, as it cannot tell", []results.Found{coarse}, 0, "GOOD: “healthy” takes 1.1 kHz (±20 %) without dead time, 100 % of what this network can do."},
		{"low", []results.Found{low}, 0, "BAD: “healthy” takes 800 Hz (±1 %) without dead time, 80 % of what this network can do, 100 % predicted."},
		{"disturbed", []results.Found{low}, .99, "NOT KNOWN: “healthy” takes 800 Hz (±1 %) without dead time, 80 % of what this network can do, 100 % predicted; processors were busy more than 90 % of the time: lower the rate (--rate auto)."},
		{"disturbed, and as predicted", []results.Found{healthy}, .99, "GOOD: “healthy” takes 980 Hz (±1 %) without dead time, 98 % of what this network can do."},
		{"open", []results.Found{open}, 0, "NOT KNOWN: “healthy” takes 980 Hz, perhaps more; 12 measurements were not enough: 900 Hz is taken, 988 Hz is not: take a longer --duration."},
		{"no rate of links", []results.Found{unknown}, 0, "GOOD: “healthy” takes 3.3 kHz (±1 %) without dead time."},
	} {
		a := results.NewAnswer(results.Setting{Fabric: results.Fabric{Kind: "lab", RateBitPerSec: 1e6}, Found: tt.found}, []results.Case{step("healthy at 980 Hz", tt.busy)}, nil, nil)
		expect.Equal(t, a.String(), tt.want, "%s", tt.name)
		if tt.name == "healthy" {
			expect.Equal(t, a.Why, []string{"“healthy”: 980 Hz is taken, 988 Hz is not, each twice; measured over predicted: 0.980 of 1 kHz (model phase), bound 1.02 kHz; none of 3000 events was refused: dead time below 0.1 %, with 95 % confidence"}, "why")
		}
	}
}
