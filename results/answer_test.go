package results_test

import (
	"slices"
	"strings"
	"testing"

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
func answer(cases []results.Case, names []string, ratios, spread []float64) *results.Answer {
	var all []results.Slice
	for round := range 8 {
		for i, c := range cases {
			v := ratios[i] + spread[i]*(float64(round)/3.5-1)
			all = append(all, results.Slice{Case: c.Name, Repeat: round, Round: round, Control: c.Control, Efficiency: v})
		}
	}
	compared := results.Compare(cases, names)
	results.Assess(cases, all, compared)
	return results.NewAnswer(cases, compared, 16)
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
		compared, open []string
		verdicts       []string
	}{
		{
			"the quick start", cable(), nil, []float64{1, 0.98, 0.58, 0.9, 0.938}, []float64{0, 0.01, 0.005, 0.02, 0.005},
			"One dead cable of 16 costs linear shift over min-hop 42 % (±1) of the throughput; planned around it, 6 % (±1), the least possible.",
			[]string{"linear shift", "FORS"}, nil, []string{"control", "resolved", "resolved", "resolved", "resolved"},
		},
		{
			"shifts by port",
			[]results.Case{
				caseOf("control", inStep, "linear-shift-ports", "ftree"),
				caseOf("shift", inStep, "linear-shift-ports", "minhop", "leaf0-spine0"), caseOf("repair", inStep, "repair:linear-shift-ports", "pinned", "leaf0-spine0"),
			},
			nil, []float64{1, 0.58, 0.9}, []float64{0, 0.005, 0.005},
			"One dead cable of 16 costs linear shift by port over min-hop 42 % (±1) of the throughput; linear shift by port repaired around it, 10 % (±1).",
			[]string{"shift", "repair"}, nil, []string{"control", "resolved", "resolved"},
		},
		{
			"noisy, but in order", cable(), nil, []float64{1, 0.98, 0.58, 0.9, 0.9}, []float64{0, 0.1, 0.1, 0.2, 0.06},
			"One dead cable of 16 costs linear shift over min-hop 42 % (±9) of the throughput; planned around it, 10 % (±5).",
			[]string{"linear shift", "FORS"}, nil, []string{"control", "unresolved", "ranked", "unresolved", "ranked"},
		},
		{
			"noise decides", cable(), nil, []float64{1, 0.98, 0.7, 0.9, 0.9}, []float64{0, 0.1, 0.3, 0.2, 0.3},
			"NOT KNOWN: The intervals are too wide to compare linear shift, FORS (one dead cable of 16).",
			[]string{"linear shift", "FORS"}, []string{"linear shift", "FORS"}, []string{"control", "unresolved", "unresolved", "unresolved", "unresolved"},
		},
		{
			"named", cable(), []string{"unsync", "healthy unsync"}, []float64{1, 0.98, 0.58, 0.9, 0.938}, []float64{0, 0.01, 0.005, 0.02, 0.005},
			"On the healthy network, unsynchronised over ftree reaches 98 % (±1) of the control. One dead cable of 16 costs unsynchronised over spread 10 % (±2) of the throughput.",
			[]string{"healthy unsync", "unsync"}, nil, []string{"control", "resolved", "resolved", "resolved", "resolved"},
		},
		{
			"ordered", append(cable(), caseOf("order", "ordered", "", "pinned", "leaf0-spine0"), caseOf("by FORS", "ordered", "fors", "pinned", "leaf0-spine0")), nil,
			[]float64{1, 0.98, 0.58, 0.9, 0.938, 0.97, 0.95}, []float64{0, 0.01, 0.005, 0.02, 0.005, 0.005, 0.005},
			"One dead cable of 16 costs linear shift over min-hop 42 % (±1) of the throughput; unsynchronised over spread, 10 % (±2); planned around it, 6 % (±1), the least possible; ordered with tokens, 3 % (±1); " +
				"ordered by FORS with tokens, 5 % (±1). Planned around it and ordered by FORS with tokens differ by less than 3 %.",
			[]string{"linear shift", "unsync", "FORS", "order", "by FORS"}, nil, []string{"control", "resolved", "resolved", "resolved", "resolved", "resolved", "resolved"},
		},
		{
			"ordered first, and alone", []results.Case{cable()[0], caseOf("order", "ordered", "", "pinned", "leaf0-spine0")}, nil,
			[]float64{1, 0.96}, []float64{0, 0.005},
			"One dead cable of 16 costs, ordered with tokens, 4 % (±1) of the throughput.",
			[]string{"order"}, nil, []string{"control", "resolved"},
		},
		{
			"ordered is faster than the control", append(cable()[:3], caseOf("order", "ordered", "", "pinned", "leaf0-spine0")), nil,
			[]float64{1, 0.98, 0.9, 1.18}, []float64{0, 0.01, 0.005, 0.005},
			"With one dead cable of 16, linear shift over min-hop reaches 90 % (±1) of the control; ordered with tokens, 118 % (±1).",
			[]string{"linear shift", "order"}, nil, []string{"control", "resolved", "resolved", "resolved"},
		},
		{
			"sizes", []results.Case{
				caseOf("control", inStep, "linear-shift", "ftree"), sized("exponential", caseOf("a", inStep, "fors", "pinned", "leaf0-spine0")),
				sized("±50 %", caseOf("b", inStep, "fors", "pinned", "leaf0-spine0")), sized("exponential", caseOf("c", "ordered", "", "pinned", "leaf0-spine0")),
				sized("±50 %", caseOf("d", "ordered", "", "pinned", "leaf0-spine0")),
			}, nil, []float64{1, 0.4, 0.7, 0.95, 0.94}, []float64{0, 0.005, 0.005, 0.005, 0.005},
			"With one dead cable of 16 and sizes exponential, planned around it reaches 40 % (±1) of the control; ordered with tokens, 95 % (±1). " +
				"With one dead cable of 16 and sizes ±50 %, planned around it reaches 70 % (±1) of the control; ordered with tokens, 94 % (±1).",
			[]string{"a", "c", "b", "d"}, nil, []string{"control", "resolved", "resolved", "resolved", "resolved"},
		},
		{
			"sizes on the healthy network", []results.Case{caseOf("control", inStep, "linear-shift", "ftree"), sized("exponential", caseOf("a", "ordered", "", "pinned"))}, nil,
			[]float64{1, 0.95}, []float64{0, 0.005},
			"On the healthy network with sizes exponential, ordered with tokens reaches 95 % (±1) of the control.",
			[]string{"a"}, nil, []string{"control", "resolved"},
		},
		{
			"no dead links", cable()[:2], nil, []float64{1, 0.9}, []float64{0, 0.01},
			"On the healthy network, unsynchronised over ftree reaches 90 % (±1) of the control.",
			[]string{"healthy unsync"}, nil, []string{"control", "resolved"},
		},
		{
			"two dead links, two plans alike", []results.Case{
				caseOf("control", inStep, "linear-shift", "ftree"), caseOf("a", inStep, "fors", "pinned", two...), caseOf("b", inStep, "fors", "pinned", two...),
			}, nil, []float64{1, 0.9, 0.8}, []float64{0, 0.01, 0.01},
			"Two dead cables of 16 cost, planned around them (a), 10 % (±1) of the throughput; planned around them (b), 20 % (±1).",
			[]string{"a", "b"}, nil, []string{"control", "resolved", "resolved"},
		},
		{
			"links that change are not compared, but told of", []results.Case{
				caseOf("control", inStep, "linear-shift", "ftree"), caseOf("x", inStep, "linear-shift", "ftree", "leaf0-spine0 at 3s for 4s"),
			}, nil, []float64{1, 0.9}, []float64{0, 0.01}, "x reaches 90 % (±1) of the control.", []string{"x"}, nil, []string{"control", "resolved"},
		},
	} {
		got := answer(tt.cases, tt.named, tt.ratios, tt.spread)
		if !strings.HasPrefix(tt.text, "NOT KNOWN: ") {
			tt.text = "GOOD: " + tt.text
		}
		expect.False(t, got.String() != tt.text || !slices.Equal(got.Cases, tt.compared), "%s: %v\n%s\nwant\n%s", tt.name, got.Cases, got, tt.text)
		expect.Equal(t, results.Open(tt.cases), tt.open, "%s: open", tt.name)
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
		text := results.NewAnswer(cases, compared, 16).Sentence
		a, b := cases[1], cases[2]
		expect.False(t, a.Verdict != tt.verdict || b.Verdict != tt.verdict || slices.Equal(a.Equal, []string{"b"}) != tt.equal || slices.Equal(b.Equal, []string{"a"}) != tt.equal,
			"%s: %s, equal to %v; %s, equal to %v", tt.name, a.Verdict, a.Equal, b.Verdict, b.Equal)
		if strings.HasSuffix(text, " Planned around it and ordered with tokens differ by less than 3 %.") != tt.equal ||
			strings.Contains(text, "differ by less than") != tt.equal {
			t.Errorf("%s: %s", tt.name, text)
		}
	}
}

// What delays each phase by as much costs a case with longer phases less: nothing is resolved that is compared
// with a slow control.
func TestSlowControl(t *testing.T) {
	for _, tt := range []struct {
		reached         float64
		verdict, answer string
	}{
		{0.96, results.Resolved, "GOOD"},
		{0.94, results.Ranked, "GOOD"},
	} {
		cases := cable()
		cases[0].PredictedEfficiency = 0.99
		got := answer(cases, nil, []float64{0.99 * tt.reached, 0.9, 0.6 * tt.reached, 0.9, 0.93 * tt.reached}, make([]float64, 5))
		expect.True(t, cases[2].Verdict == tt.verdict && cases[4].Verdict == tt.verdict && strings.HasPrefix(got.String(), tt.answer),
			"control at %v: %s, %s, %s", tt.reached, cases[2].Verdict, cases[4].Verdict, got)
	}
}

// Without a control there is nothing that a cable costs.
// A run is judged by the best of its cases, beside what a plan can reach around the same links.
func TestAnswerOfTheBest(t *testing.T) {
	predicted := func(c results.Case, phases, bound int, efficiency float64) results.Case {
		c.Phases, c.Bound, c.PredictedEfficiency = phases, bound, efficiency
		return c
	}
	all := cable()
	control, unsync := predicted(all[0], 15, 15, 1), predicted(all[3], 0, 0, 0.8)
	shift, fors := predicted(all[2], 15, 16, 0.577), predicted(all[4], 16, 16, 0.9375)
	for _, tt := range []struct {
		name, want string
		cases      []results.Case
		spread     []float64
	}{
		{"the shortest plan", "GOOD: ", []results.Case{control, shift, fors}, []float64{0, 0.005, 0.005}},
		{"no plan", "BAD: One dead cable of 16 costs linear shift over min-hop 42 % (±1) of the throughput. A plan (schedule: fors) can reach 94 % of the link rate, the best of these cases 58 % (good from 95 % of that).", []results.Case{control, shift}, []float64{0, 0.005}},
		{"no bound", "NOT KNOWN: One dead cable of 16 costs unsynchronised over spread 42 % (±1) of the throughput. Whether a plan reaches more than 80 % of the link rate is not known: add a case with schedule: fors.", []results.Case{control, unsync}, []float64{0, 0.005}},
		{"two differ, three are open", "NOT KNOWN: One dead cable of 16", append(cable(), caseOf("x", noSteps, "", "minhop", "leaf0-spine0"), caseOf("o", "ordered", "", "pinned", "leaf0-spine0")),
			[]float64{0, 0.01, 0.005, 0.3, 0.3, 0.3, 0.005}},
	} {
		ratios := []float64{1, 0.58, 0.938, 0.9, 0.9, 0.9, 0.96}
		got := answer(tt.cases, nil, ratios[:len(tt.cases)], tt.spread)
		expect.True(t, strings.HasPrefix(got.String(), tt.want), "%s: %s", tt.name, got)
	}
}

func TestAnswerWithoutControl(t *testing.T) {
	cases := []results.Case{caseOf("shift", inStep, "linear-shift", "minhop", "leaf0-spine0")}
	all := []results.Slice{{Case: "shift", GoodputBitPerSec: 14.2e6, Efficiency: 0.7}}
	compared := results.Compare(cases, nil)
	results.Assess(cases, all, compared)
	const want = "NOT KNOWN: With one dead cable of 4, linear shift over min-hop reaches 14.2 Mbit/s per server (no interval)."
	if got := results.NewAnswer(cases, compared, 4); got.String() != want {
		t.Error(got.Sentence)
	}
}

// One round has no interval: the figures are given, and why they are not certain.
func TestAnswerOfOneRound(t *testing.T) {
	compared := cable()
	alone := []results.Case{cable()[0], caseOf("changing", inStep, "fors", "pinned", "leaf0-spine0 at 5s")}
	for want, cases := range map[string][]results.Case{
		"NOT KNOWN: One dead cable of 16 costs linear shift over min-hop 42 % (no interval) of the throughput; planned around it, 6 % (no interval).": compared,
		"NOT KNOWN: changing reaches 58 % (no interval) of the control.":                                                                              alone,
	} {
		var all []results.Slice
		for i, c := range cases {
			ratio := []float64{1, 0.58, 0.58, 0.9, 0.938}[i]
			all = append(all, results.Slice{Case: c.Name, Repeat: 1, Round: 1, Control: c.Control, Efficiency: ratio, GoodputBitPerSec: 1e6 * ratio})
		}
		of := results.Compare(cases, nil)
		results.Assess(cases, all, of)
		got := results.NewAnswer(cases, of, 16)
		expect.Equal(t, got.String(), want, "answer")
		expect.True(t, len(got.Why) == 1 && strings.HasPrefix(got.Why[0], "one round has no interval"), "why %q", got.Why)
		for _, n := range (results.Summary{Cases: cases}).Notes() {
			expect.True(t, n.Head != results.Unresolved || strings.Contains(n.Text, "one round has no interval"), "note %q", n.Text)
		}
	}
}

// What is wrong is no answer.
func TestAnswerOfWrongCases(t *testing.T) {
	cases := cable()
	cases[2].Valid, cases[2].Reasons, cases[2].EventsLost = false, []string{"3 events lost"}, 3
	if got := answer(cases, nil, []float64{1, 1, 0.6, 0.9, 0.9}, make([]float64, 5)); got.String() != "BAD: linear shift is wrong: 3 events lost." {
		t.Error(got.Sentence)
	}
	cases = cable()
	cases[3].Valid, cases[3].Reasons = false, []string{"3 events lost"} // not compared
	if got := answer(cases, nil, []float64{1, 1, 0.6, 0.9, 0.9}, make([]float64, 5)); got.Sentence[:3] != "One" {
		t.Error(got.Sentence)
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
		{"a rate", []results.Case{rate}, "GOOD: free reaches 9.82 Mbit/s per server (±3 %).", ""},
		{"a control that is off", []results.Case{off, rate}, "NOT KNOWN: control is wrong: reaches 7 % of its prediction.", "the machine disturbed the control"},
		{"fail-over", []results.Case{caseOf("control", inStep, "linear-shift", "ftree"), dies("FORS", down)},
			"GOOD: FORS lost 400 ms of its throughput in 6 s without leaf0-spine0. Tables repaired after 1 ms, new plan at all servers after 6 ms; 75 % of the throughput until then, 94 % after it.",
			""},
		{"several policies", []results.Case{held("none", 0), dies("FORS", down)},
			"GOOD: Policy fors lost 400 ms of its throughput in 6 s without leaf0-spine0, the least; policy none most, 6.4 s. Tables repaired after 1 ms, new plan at all servers after 6 ms; 75 % of the throughput until then, 94 % after it.", ""},
		{"nothing is built", []results.Case{held("none", 0)},
			"BAD: none lost 6.4 s of its throughput in 6 s without leaf0-spine0. Nothing was done under policy none, 0 % after it. It kept 0 % without the link (bad below 50 %): use policy fors.", ""},
		{"two thirds without a plan", []results.Case{held("spread", 7)},
			"NOT KNOWN: spread lost 2 s of its throughput in 6 s without leaf0-spine0. Nothing was done under policy spread, 70 % after it. It kept 67 % without the link; whether a plan keeps more is not known: measure policy fors, too.", ""},
		{"fail-over beside the control", []results.Case{beside("FORS", 0.95, 10.4)},
			"BAD: FORS lost 1 s of its throughput in 6 s without leaf0-spine0. Tables repaired after 1 ms, new plan at all servers after 6 ms; 72 % of the throughput until then, 90 % after it. It kept 83 % without the link, and its plan can keep 94 % (good from 95 % of that): hold a link that flaps, or measure longer.", ""},
		{"slow before the link died", []results.Case{beside("FORS", 0.9, 4)}, "NOT KNOWN: The machine disturbed every case.",
			"FORS reached 37 % of the control before leaf0-spine0 died; the machine disturbed"},
		{"slow over all", []results.Case{beside("FORS", 0.75, 12.5)}, "NOT KNOWN: The machine disturbed every case.", "FORS reached 75 % of the control, 98 % was predicted"},
		{"one of two is slow", []results.Case{beside("hold", 0.75, 12.5), dies("FORS", down)},
			"GOOD: FORS lost 400 ms of its throughput in 6 s without leaf0-spine0. Tables repaired after 1 ms, new plan at all servers after 6 ms; 75 % of the throughput until then, 94 % after it. The machine disturbed one case.",
			"hold reached 75 %"},
		{"no new plan", []results.Case{dies("FORS", stuck)}, "BAD: What the death of leaf0-spine0 cost is not known. FORS: nothing was done under policy fors.", "FORS: no plan: no path"},
		{"the link stays up", []results.Case{dies("FORS", results.Failover{Up: []string{"leaf0-spine0"}})}, "NOT KNOWN: No link died while events were built.", ""},
	} {
		a := results.NewAnswer(tt.cases, nil, 16)
		expect.False(t, a.String() != tt.want || !strings.HasPrefix(strings.Join(a.Why, "; "), tt.why), "%s: %s\nbecause %q", tt.name, a, a.Why)
	}
	if a := results.NewAnswer(nil, nil, 16); a != nil {
		t.Error(a)
	}
}
