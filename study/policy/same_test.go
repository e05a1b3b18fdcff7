package policy

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"evbench/failover"
	"evbench/sim"
	"evbench/topology"
)

// TestSame: a state with other names becomes the same one; and what FORS builds in it is
// what it builds under the old names, but for detours, which depend on names a little.
func TestSame(t *testing.T) {
	t.Parallel()
	tree, err := topology.New(topology.Options{Ports: 6, Leaves: 6})
	if err != nil {
		t.Fatal(err)
	}
	s := &Setting{Tree: tree, BitPerSec: 8e9, Fragment: 1e9, Timing: sim.Timing{Overhead: time.Second / 2}, Seed: 1}
	rng := rand.New(rand.NewPCG(1, 2))
	classes := map[State]bool{}
	for range 60 {
		links, err := tree.Random(1+rng.IntN(3), rng.Uint64())
		if err != nil {
			t.Fatal(err)
		}
		x := State{plan: deadOf(links[1:]), tables: deadOf(links)}
		y := s.same(x)
		classes[y] = true
		if s.same(y) != y {
			t.Errorf("%+v becomes %+v, and that %+v", x, y, s.same(y))
		}
		var rates [2]float64
		for i, x := range []State{x, y} {
			for _, avoided := range []Dead{x.plan, x.tables} {
				got, err := s.rateWith(context.Background(), failover.FORS, x.plan, []Dead{avoided})
				if err != nil {
					t.Fatal(err)
				}
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
	if len(classes) > 20 {
		t.Errorf("60 states became %d", len(classes))
	}
}
