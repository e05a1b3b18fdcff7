package policy

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"evbench/failover"
	"evbench/internal/expect"
	"evbench/plan"
	"evbench/routing"
	"evbench/sim"
	"evbench/topology"
)

// setting is a tree of which a message takes a second, and a phase half a second more.
func setting(t *testing.T, ports, leaves int) *Setting {
	t.Helper()
	tree := expect.Value(topology.New(topology.Options{Ports: ports, Leaves: leaves}))(t)
	return &Setting{Tree: tree, BitPerSec: 8e9, Fragment: 1e9, Timing: sim.Timing{Overhead: time.Second / 2}, Seed: 1}
}

// TestRates are rates that follow from counting messages: FT(2;4,4) has 15 phases of 1.5 s
// when nothing is dead. With leaf0-spine0 dead, three destinations of leaf 0 and all that
// go to it from that spine move to another, which then carries two in some phases.
func TestRates(t *testing.T) {
	t.Parallel()
	s := setting(t, 4, 4)
	healthy := 16 * 15 * 8e9 / (15 * 1.5)
	one := Dead("leaf0-spine0")
	for _, tt := range []struct {
		name          string
		policy        failover.Policy
		state         State
		atLeast, most float64 // of healthy
	}{
		{"healthy", failover.MinHop, State{}, 1, 1},
		{"healthy, FORS", failover.FORS, State{}, 1, 1},
		{"standing", failover.FORS, State{stopped: true}, 0, 0},
		{"twelve phases with two messages", failover.MinHop, State{tables: one}, 1.5 * 15 / (1.5*15 + 12), 1.5 * 15 / (1.5*15 + 10)},
		{"detours, twelve phases with two messages", failover.FORS, State{tables: one}, 1.5 * 15 / (1.5*15 + 14), 1.5 * 15 / (1.5*15 + 8)},
		{"planned anew", failover.FORS, State{plan: one, tables: one}, 15. / 16, 15. / 16},
		{"planned anew, tables healthy", failover.FORS, State{plan: one}, 15. / 16, 15. / 16},
		{"without phases", failover.Unsync, State{plan: one, tables: one}, 1.5 * 12 / 16, 1.5},
	} {
		rates := &Rates{Work: s.rateWith}
		expect.Must(t, rates.Learn(context.Background(), &Timeline{Policy: tt.policy, Intervals: []Interval{{state: tt.state}}}), "%s", tt.name)
		share := rates.of(tt.policy, tt.state) / healthy
		expect.True(t, share >= tt.atLeast-1e-9 && share <= tt.most+1e-9,
			"%s: %.4f of healthy, want %.4f to %.4f", tt.name, share, tt.atLeast, tt.most)
	}
}

// TestMost: nobody takes more than the setting allows, and totals are scaled.
func TestMost(t *testing.T) {
	t.Parallel()
	s := setting(t, 4, 4)
	s.Most, s.Servers = 1e9, 10
	got, err := s.rateWith(context.Background(), failover.MinHop, "", []Dead{""})
	expect.True(t, err == nil && math.Abs(got[0]-10e9) <= 1, "%g, %v", got, err)
}

// TestUnsynchronised holds the load of the busiest wire against the model of flows.
func TestUnsynchronised(t *testing.T) {
	t.Parallel()
	s := setting(t, 4, 6)
	for seed := range uint64(10) {
		links := expect.Value(s.Tree.Random(int(seed%4), seed))(t)
		tree := expect.Value(s.Tree.Without(links...))(t)
		p := expect.Value(plan.Build(tree, plan.Options{Schedule: "linear-shift", Routing: routing.Spread}))(t)
		o := expect.Value(sim.Fluid(context.Background(), &sim.Job{
			Mode: "unsynchronised", Plan: p, BitPerSec: s.BitPerSec, Size: func(uint64, int) int { return s.Fragment }, Equal: true,
		}, nil))(t)
		got, err := s.unsynchronised(routing.Spread, deadOf(links))
		want := 24 * 23 * 8e9 / o.Span.Seconds() * float64(o.Events[0])
		expect.True(t, err == nil && math.Abs(got/want-1) <= 1e-3, "%v: %g, flows %g, %v", links, got, want, err)
	}
}

// TestSame: a state with other names becomes the same one; and what FORS builds in it is
// what it builds under the old names, but for detours, which depend on names a little.
func TestSame(t *testing.T) {
	t.Parallel()
	tree := expect.Value(topology.New(topology.Options{Ports: 6, Leaves: 6}))(t)
	s := &Setting{Tree: tree, BitPerSec: 8e9, Fragment: 1e9, Timing: sim.Timing{Overhead: time.Second / 2}, Seed: 1}
	rng := rand.New(rand.NewPCG(1, 2))
	classes := map[State]bool{}
	for range 60 {
		links := expect.Value(tree.Random(1+rng.IntN(3), rng.Uint64()))(t)
		x := State{plan: deadOf(links[1:]), tables: deadOf(links)}
		y := s.same(x)
		classes[y] = true
		expect.Equal(t, s.same(y), y, "%+v becomes %+v, and that", x, y)
		var rates [2]float64
		for i, x := range []State{x, y} {
			for _, avoided := range []Dead{x.plan, x.tables} {
				got := expect.Value(s.rateWith(context.Background(), failover.FORS, x.plan, []Dead{avoided}))(t)
				if avoided == x.plan && i == 0 {
					rates[0] = got[0]
				} else if avoided == x.plan && math.Abs(got[0]/rates[0]-1) > 1e-9 {
					t.Errorf("%+v: %g, as %+v %g", x, got[0], y, rates[0])
				}
				if avoided == x.tables && i == 0 {
					rates[1] = got[0]
				} else if avoided == x.tables && math.Abs(got[0]/rates[1]-1) > 0.1 {
					t.Errorf("detours %+v: %g, as %+v %g", x, got[0], y, rates[1])
				}
			}
		}
	}
	expect.True(t, len(classes) <= 20, "60 states became %d", len(classes))
}
