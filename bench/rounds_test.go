package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/results"
	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/topology"
)

func TestRoundsOrder(t *testing.T) {
	r := rounds{seed: 7, cases: 5}
	all := []int{0, 1, 2, 3, 4}
	different := map[string]bool{}
	for round := range 20 {
		order := r.order(round)
		expect.True(t, slices.Equal(order, r.order(round)), "round %d is %v, and then another", round, order)
		expect.True(t, slices.Equal(slices.Sorted(slices.Values(order)), all), "round %d: %v", round, order)
		different[string(rune(order[0]))] = true
	}
	expect.Equal(t, len(different), 5, "of 20 rounds only: cases come first")
	r.Count = 1
	expect.Equal(t, r.order(0), all, "a round alone")
}

func TestRoundsGoOn(t *testing.T) {
	auto, three := rounds{Rounds: scenario.Rounds{Limit: 100 * time.Second}}, rounds{Rounds: scenario.Rounds{Count: 3, Limit: time.Second}}
	for _, tt := range []struct {
		name    string
		r       rounds
		done    int
		elapsed time.Duration
		open    bool
		want    bool
	}{
		{"open", auto, 3, 30 * time.Second, true, true},
		{"resolved", auto, 6, 60 * time.Second, false, false},
		{"the next would just end in time", auto, 9, 90 * time.Second, true, true},
		{"the next would end too late", auto, 9, 91 * time.Second, true, false},
		{"one round is longer than the limit", auto, 1, 200 * time.Second, true, false},
		{"a number, resolved", three, 2, time.Hour, false, true},
		{"a number, done", three, 3, time.Hour, true, false},
	} {
		open := results.Case{Assessment: results.Assessment{Compared: true, Verdict: results.Unresolved}}
		if !tt.open {
			open = results.Case{Assessment: results.Assessment{Verdict: results.Reference}, Control: true}
		}
		tt.r.done, tt.r.measured, tt.r.cases = tt.done, tt.done, 1
		expect.Equal(t, (len(tt.r.next(tt.elapsed, []results.Case{open})) > 0), tt.want, "%s: another round", tt.name)
	}
}

// The time goes to what is compared first, then to what has no interval yet.
func TestRoundsWanted(t *testing.T) {
	c := func(compared bool, verdict string, n int) results.Case {
		e := &results.Estimate{Of: results.OfRatio, Over: results.OverRounds, Interval: results.NewInterval(make([]float64, n))}
		return results.Case{Assessment: results.Assessment{Compared: compared, Verdict: verdict, Estimate: e}}
	}
	control := results.Case{Control: true, Assessment: results.Assessment{Verdict: results.Reference}}
	star := c(false, results.Resolved, 6)
	star.Estimate.Over = results.OverExchanges
	for _, tt := range []struct {
		name  string
		cases []results.Case
		want  []int
	}{
		{"compared and open", []results.Case{control, c(true, results.Resolved, 6), c(false, results.Unresolved, 1), c(true, results.Ranked, 6)}, []int{0, 1, 3}},
		{"compared and settled", []results.Case{control, c(true, results.Resolved, 6), c(false, results.Unresolved, 1), c(false, results.Unresolved, 6)}, []int{0, 2}},
		{"over exchanges", []results.Case{control, c(true, results.Resolved, 6), star}, []int{0, 2}},
		{"never counted", []results.Case{control, c(true, results.Resolved, 6), {Assessment: results.Assessment{Verdict: results.Unresolved}}}, []int{0, 2}},
		{"without a control", []results.Case{c(true, results.Unresolved, 6), c(false, results.Unresolved, 1)}, []int{0}},
		{"all is known", []results.Case{control, c(true, results.Resolved, 6), c(false, results.Unresolved, 6)}, nil},
		{"nothing but a control", []results.Case{control}, nil},
	} {
		r := rounds{Rounds: scenario.Rounds{Limit: time.Minute}, seed: 7, cases: len(tt.cases), done: 1, measured: len(tt.cases)}
		expect.Equal(t, slices.Sorted(slices.Values(r.next(time.Second, tt.cases))), tt.want, "%s", tt.name)
		if r.done = 0; len(r.next(0, nil)) != len(tt.cases) {
			t.Errorf("%s: the first round leaves cases out", tt.name)
		}
	}
}

func TestRoundsMeasureAgain(t *testing.T) {
	auto, two := rounds{Rounds: scenario.Rounds{Limit: 10 * time.Second}}, rounds{Rounds: scenario.Rounds{Count: 2}}
	for _, tt := range []struct {
		name    string
		r       rounds
		tries   int
		elapsed time.Duration
		want    bool
	}{
		{"time left", auto, 1, 5 * time.Second, true},
		{"no time left", auto, 1, 9 * time.Second, false},
		{"often enough", auto, mostTries, time.Second, false},
		{"a number of rounds", two, 2, time.Hour, true},
	} {
		expect.Equal(t, tt.r.again(tt.tries, tt.elapsed, time.Second), tt.want, "%s: again", tt.name)
	}
}

func TestSettled(t *testing.T) {
	c := func(verdict, over string, compared bool) results.Case {
		return results.Case{Assessment: results.Assessment{Verdict: verdict, Compared: compared, Estimate: &results.Estimate{Over: over}}}
	}
	for _, tt := range []struct {
		name  string
		cases []results.Case
		want  bool
	}{
		{"nothing compared", []results.Case{c(results.Unresolved, results.OverRounds, false)}, true},
		{"resolved", []results.Case{c(results.Resolved, results.OverRounds, true)}, true},
		{"over exchanges", []results.Case{c(results.Resolved, results.OverExchanges, true)}, false},
		{"ordered", []results.Case{c(results.Resolved, results.OverRounds, true), c(results.Ranked, results.OverRounds, true)}, false},
	} {
		expect.Equal(t, settled(tt.cases), tt.want, "%s: settled", tt.name)
	}
}

// A link that is back is not used for a while, and what overlaps is one.
func TestUnused(t *testing.T) {
	a, b := topology.Link{Leaf: 0, Spine: 1}, topology.Link{Leaf: 2, Spine: 0}
	for _, tt := range []struct {
		name string
		hold time.Duration
		in   []scenario.Timed
		want string
	}{
		{"nothing", 0, nil, ""},
		{"until the end", 0, []scenario.Timed{{Links: []topology.Link{a}, At: 3}}, "leaf0-spine1 3+0"},
		{"two links", 0, []scenario.Timed{{Links: []topology.Link{b, a}, At: 3, For: 4}}, "leaf0-spine1 3+4 leaf2-spine0 3+4"},
		{"held", 2, []scenario.Timed{{Links: []topology.Link{a}, At: 3, For: 4}}, "leaf0-spine1 3+6"},
		{"held to the end", 20, []scenario.Timed{{Links: []topology.Link{a}, At: 3, For: 4}}, "leaf0-spine1 3+0"},
		{"flaps", 0, []scenario.Timed{{Links: []topology.Link{a}, At: 6, For: 1}, {Links: []topology.Link{a}, At: 3, For: 1}}, "leaf0-spine1 3+1 leaf0-spine1 6+1"},
		{"flaps held", 2, []scenario.Timed{{Links: []topology.Link{a}, At: 3, For: 1}, {Links: []topology.Link{a}, At: 6, For: 1}}, "leaf0-spine1 3+6"},
		{"flaps held to the end", 9, []scenario.Timed{{Links: []topology.Link{a}, At: 3, For: 1}, {Links: []topology.Link{a}, At: 6, For: 9}, {Links: []topology.Link{a}, At: 17, For: 1}}, "leaf0-spine1 3+0"},
	} {
		var got []string
		for _, f := range outages(tt.in, tt.hold, 20) {
			got = append(got, fmt.Sprintf("%s %d+%d", f.Name, f.At, f.For))
		}
		expect.Equal(t, strings.Join(got, " "), tt.want, "%s", tt.name)
	}
	expect.Equal(t, longestOutage([]scenario.Timed{{At: 3, For: 4}, {At: 14}}, 20), 6, "longest outage")
}

// Rates are of whole intervals between two moments.
func TestSeries(t *testing.T) {
	var s series
	for i, bytes := range []uint64{100, 200, 300, 400} {
		for range 2 { // servers
			s.add(results.Sample{TSec: 0.1*float64(i+1) + 0.002, IntervalSec: 0.1, PayloadBytes: bytes})
		}
	}
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	for _, tt := range []struct {
		from, to int
		want     float64
	}{{0, 400, 500}, {0, 100, 200}, {50, 350, 500}, {300, 1000, 800}} {
		got := s.rate(at(tt.from), at(tt.to), 10)
		expect.True(t, got != nil && *got >= tt.want-1e-6 && *got <= tt.want+1e-6, "%d to %d ms: %v, want %v", tt.from, tt.to, got, tt.want)
	}
	if got := s.rate(at(110), at(290), 10); got != nil {
		t.Errorf("a rate of no interval: %v", *got)
	}
}
