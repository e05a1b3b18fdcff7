package scheduler_test

import (
	"math/rand/v2"
	"testing"

	"evbench/scheduler"
	"evbench/topology"
)

// proven returns what the witness of a bound proves, straight from its definition.
func proven(t *topology.Tree, b scheduler.Bound) int {
	n := t.Servers()
	switch b.Kind {
	case scheduler.KindServer:
		return n - 1
	case scheduler.KindLeaf:
		on, live := t.On(b.Leaf), len(t.AliveSpines(b.Leaf))
		return (on*(n-on) + live - 1) / live
	}
	var load, sum int64
	for _, w := range b.Weights {
		sum += w
	}
	for src := range n {
		for dst := range n {
			from, to := t.Leaf(src), t.Leaf(dst)
			if from == to {
				continue
			}
			least := sum
			for _, k := range t.CommonSpines(from, to) {
				least = min(least, b.Weights[t.Up(from, k)]+b.Weights[t.Down(to, k)])
			}
			load += least
		}
	}
	return int((load + sum - 1) / sum)
}

// reached checks that the split reaches the bound and the witness proves it.
func reached(t *testing.T, tr *topology.Tree, seed uint64) {
	t.Helper()
	b := scheduler.LowerBound(tr)
	if gap := scheduler.Gap(tr); gap != 0 || proven(tr, b) != b.Phases {
		t.Errorf("%s with %d spines, seed %d: bound %d by %v, which proves %d, and %d phases more needed",
			tr.Notation(), tr.Spines(), seed, b.Phases, b, proven(tr, b), gap)
	}
}

// TestBoundTight has leaves with equally many dead links, such that no link has
// room to spare: 20·340 messages of a leaf over 16, 10 or 8 live links.
func TestBoundTight(t *testing.T) {
	t.Parallel()
	for _, dead := range []int{4, 10, 12} {
		for seed := uint64(3); seed < 70; seed += 5 {
			tr := evenly(t, topology.Options{Ports: 20, Leaves: 18}, dead, rand.New(rand.NewPCG(seed, 0)))
			if tr.Connected() == nil {
				reached(t, tr, seed)
			}
		}
	}
}

// evenly returns a tree with that many random dead links on each leaf.
func evenly(t *testing.T, o topology.Options, dead int, rng *rand.Rand) *topology.Tree {
	t.Helper()
	tr := tree(t, o)
	for l := range tr.Leaves() {
		for _, k := range rng.Perm(tr.Spines())[:dead] {
			tr, _ = tr.Without(topology.Link{Leaf: l, Spine: k})
		}
	}
	return tr
}

// TestBoundRandom has trees of up to 24 ports and 21 leaves. The bound of seed
// 402 is found only with the gentle slope.
func TestBoundRandom(t *testing.T) {
	t.Parallel()
	kinds := make(map[string]int)
	for seed := uint64(300); seed < 500; seed++ {
		rng := rand.New(rand.NewPCG(seed, 9))
		m0, m1 := 2+rng.IntN(23), 2+rng.IntN(20)
		o := topology.Options{Ports: m0, Leaves: m1, Spines: 1 + rng.IntN(m0+4)}
		share, even, dead := rng.Float64(), rng.IntN(2) == 0, rng.IntN(o.Spines)
		tr := tree(t, o)
		if even {
			tr = evenly(t, o, dead, rng)
		}
		for l := 0; l < m1 && !even; l++ {
			for k := range o.Spines {
				if rng.Float64() < share {
					tr, _ = tr.Without(topology.Link{Leaf: l, Spine: k})
				}
			}
		}
		if tr.Connected() != nil {
			continue
		}
		reached(t, tr, seed)
		kinds[scheduler.LowerBound(tr).Kind]++
	}
	if kinds["server"] < 5 || kinds["leaf"] < 5 || kinds["lp"] < 5 {
		t.Errorf("bounds %v: want some of each kind", kinds)
	}
}

func TestLowerBoundUnconnected(t *testing.T) {
	tr := tree(t, topology.Options{Ports: 3, Leaves: 2}, column(0, 0, 0)...)
	tr, _ = tr.Without(topology.Link{Leaf: 0, Spine: 1}, topology.Link{Leaf: 1, Spine: 2})
	if b := scheduler.LowerBound(tr); b.Phases != 9 || b.String() != "leaf0" {
		t.Errorf("bound %d by %v, want 9 by leaf0", b.Phases, b)
	}
}
