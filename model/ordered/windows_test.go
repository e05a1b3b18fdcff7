package ordered

import (
	"fmt"
	"strings"
	"testing"

	"evbench/bench"
	"evbench/controller/wire"
	"evbench/plan"
	"evbench/scenario"
	"evbench/scheduler/list"
	"evbench/testing/expect"
)

// tokenOf is a token that a rank awaits for one of its sends.
type tokenOf struct{ from, to, send int }

// What workers are told fits together, on random trees and sizes: each fragment is sent and
// received once, each token that is awaited is sent once, no more than three to a fragment,
// and the plans of windows lead from one to the next.
func TestParts(t *testing.T) {
	across := 0
	drawn := []string{"{spread: 0.9}", "exponential", "{distribution: log-normal, sigma: 1}", "{spread: 0}"}
	for seed := range 30 {
		s := expect.Value(scenario.Read("t.yaml", strings.NewReader(fmt.Sprintf(`
topology: FT(2;%d,%d)
seed: %d
fabric: {kind: hosts}
event: {fragment: 4KiB, sizes: %s}
cases: [{mode: ordered, failures: [leaf0-spine0]%s}]
`, 2+seed%3, 2+seed%4, seed, drawn[seed%len(drawn)], []string{"", ", schedule: fors"}[seed%2]))))(t)
		tree := expect.Value(s.Tree.Without(s.Cases[0].Failures...))(t)
		n := tree.Servers()
		o, from, before := newPlanner(s, s.Cases[0], tree, nil), uint64(0), make([]int, n)
		for k, count := range []int{1, 3, 2} {
			parts := expect.Value(o.Next(from, count, k == 0))(t)
			across += checkParts(t, parts, count, before)
			from += uint64(count)
			for r, w := range parts {
				before[r] += len(w.Takes)
			}
		}
	}
	expect.True(t, across != 0, "no window has tokens of those before")
}

// The plan file holds what workers do in the first window that is counted, whatever the warm-up was.
func TestFirstWindow(t *testing.T) {
	for _, warmup := range []int{0, 1, 4} {
		s := expect.Value(scenario.Read("t.yaml", strings.NewReader(fmt.Sprintf(`
topology: FT(2;3,3)
warmup: %d
fabric: {kind: hosts, rate: 1Gbit/s}
event: {fragment: 4KiB, sizes: {spread: 0.9, fanout: 3}}
cases: [{mode: ordered, window: 4, failures: [leaf0-spine0]}]
`, warmup))))(t)
		c, first := firstOf(t, s)
		o := newPlanner(s, c, first.Tree, nil)
		if warmup > 0 {
			expect.Must(t, expect.Err(o.Next(0, warmup, true)))
		}
		parts := expect.Value(o.Next(uint64(warmup), 4, warmup == 0))(t)
		again := newPlanner(s, c, o.t, first.Plan)
		p, err := again.plan(uint64(warmup), 4)
		expect.True(t, p == again.first, "warm-up %d: the first window is planned again (%v)", warmup, err)
		sent := make([]int, len(parts))
		for x := range first.Pieces() {
			w := parts[x.Src].Sends[sent[x.Src]]
			if sent[x.Src]++; w.To != x.Dst || w.Spine != x.Path || w.Exchange != x.Exchange {
				t.Fatalf("warm-up %d: rank %d sends %+v, the file has %+v", warmup, x.Src, w, x)
			}
		}
		for r, n := range sent {
			expect.True(t, n == len(parts[r].Sends),
				"warm-up %d: the file has %d fragments of rank %d, it sends %d", warmup, n, r, len(parts[r].Sends))
		}
	}
}

// firstOf returns the only case of a scenario beside the control, and its first window.
func firstOf(t *testing.T, s *scenario.Scenario) (scenario.Case, *Plan) {
	t.Helper()
	s.Control = false
	planned := expect.Value(bench.Parts{Ordered: Orderer{}}.Prepare(s))(t)
	return planned[0].Case, planned[0].Ordered.(*Plan)
}

// Every window is judged before workers hear of it, not the first alone: one with an offence is an error
// that says which.
func TestEveryWindowJudged(t *testing.T) {
	for _, event := range []string{"", ", sizes: {spread: 0.9}"} {
		s, err := scenario.Read("t.yaml", strings.NewReader("topology: FT(2;3,3)\nfabric: {kind: hosts, rate: 1Gbit/s}\nevent: {fragment: 4KiB"+event+"}\ncases: [{mode: ordered}]\n"))
		expect.Must(t, err)
		c, first := firstOf(t, s)
		for bad := range 4 {
			o, window := newPlanner(s, c, first.Tree, nil), 0
			whole := o.order
			o.order = func(after *list.Chain, first uint64, exchanges int) (*list.Plan, error) {
				p, err := whole(after, first, exchanges)
				if err == nil && window == bad {
					wrong := *p
					wrong.Time--
					p = &wrong
				}
				return p, err
			}
			from := uint64(0)
			for ; window < 4; window++ {
				parts, err := o.Next(from, 1+window, window == 0) // of another length, so that equal ones are planned anew
				from += uint64(1 + window)
				if window < bad && err != nil {
					t.Errorf("window %d: %v", window, err)
				} else if window == bad {
					if err == nil || parts != nil || !strings.Contains(err.Error(), `": the judge refuses the plan: the time is stated as `) {
						t.Errorf("window %d: %d parts, error %v", window, len(parts), err)
					}
					break
				}
			}
		}
	}
}

// checkParts returns how many tokens are of windows before.
func checkParts(t *testing.T, parts []wire.Window, count int, before []int) (across int) {
	t.Helper()
	n, fragments := len(parts), map[[3]int]int{}
	awaited, sent := map[tokenOf]bool{}, 0
	for r, w := range parts {
		for i, x := range w.Sends {
			fragments[[3]int{x.Exchange, r, x.To}]++
			for _, from := range x.Await {
				awaited[tokenOf{from, r, i}] = true
			}
		}
	}
	for r, w := range parts {
		for _, x := range w.Takes {
			fragments[[3]int{x.Exchange, x.From, r}] += 2
		}
		for _, x := range w.Tells {
			at := tokenOf{r, x.To, x.Send}
			expect.True(t, awaited[at] && x.After >= -before[r] && x.After < len(w.Takes), "rank %d of %d sends %+v", r, n, x)
			if delete(awaited, at); x.After < 0 {
				across++
			}
			sent++
		}
	}
	expect.True(t, len(awaited) == 0 && len(fragments) == count*n*(n-1) && sent <= 3*len(fragments),
		"%d tokens are awaited and not sent, %d fragments, %d tokens", len(awaited), len(fragments), sent)
	for x, how := range fragments {
		expect.True(t, how == 3, "fragment %v: %d; 1 is sent only, 2 received only", x, how)
	}
	return across
}

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
		s := expect.Value(scenario.Read("x.yaml", strings.NewReader("topology: FT(2;4,4)\nevent: {"+tt.event+"}\ncases: [{schedule: fors, failures: ["+tt.dead+"]}]\n")))(t)
		c := s.Cases[0]
		tree := expect.Value(s.Tree.Without(c.Failures...))(t)
		p := expect.Value(plan.Build(tree, plan.Options{Schedule: "fors"}))(t)
		s.Control = false
		phases := expect.Value(bench.Parts{Ordered: Orderer{}}.Prepare(s))(t)[0].Prediction.Efficiency
		c.Schedule = "" // the order that is best, not that of FORS
		of := func(window int) float64 {
			e := expect.Value(efficiency(s, c, p, window))(t)
			return e
		}
		three, one := of(3), of(1)
		expect.True(t, three >= tt.least && three <= tt.most && three >= one-1e-6 && one >= phases-1e-6,
			"%s, dead %q: %.4f in windows of three, %.4f of one, %.4f in phases; want %.4f to %.4f",
			tt.event, tt.dead, three, one, phases, tt.least, tt.most)
	}
}

// The sizes of an exchange are those of its events.
func TestMatrix(t *testing.T) {
	s, err := scenario.Read("x.yaml", strings.NewReader("topology: FT(2;2,2)\nevent: {fragment: 1000B, sizes: {spread: 0.5}}\ncases: [{schedule: linear-shift}]\n"))
	expect.Must(t, err)
	m := expect.Value(Matrix(s, s.Cases[0], 5))(t)
	of := s.FragmentSizes(s.Cases[0])
	for src := range 4 {
		for dst := range 4 {
			got, want := m.Size(src, dst), int64(of.Of(uint64(20+dst), src))
			if src == dst {
				want = 0
			}
			expect.Equal(t, got, want, "%d to %d", src, dst)
		}
	}
}
