package scheduler_test

import (
	"math/rand/v2"
	"testing"

	"evbench/scheduler"
	"evbench/testing/expect"
	"evbench/topology"
)

// proven returns what the witness of a bound proves, straight from its definition.
// Servers that cannot reach each other have no messages.
func proven(t *topology.Live, b scheduler.Bound) int {
	switch b.Kind {
	case scheduler.KindServer:
		most := 0
		for l := range t.Leaves() {
			if t.ServersOn(l) > 0 {
				most = max(most, t.ServersOn(l)-1+servers(t.Shape, met(t, l)))
			}
		}
		return most
	case scheduler.KindLeaf:
		return quotient(t.ServersOn(b.At)*servers(t.Shape, met(t, b.At)), len(t.AliveSpines(b.At)))
	case scheduler.KindHall:
		return needs(t, b.At, b.Subset)
	}
	if b.Kind == scheduler.KindPod {
		out, live := 0, 0
		for l := range t.Leaves() {
			for _, to := range met(t, l) {
				if t.Pod(l) == b.At && t.Pod(to) != b.At {
					out += t.ServersOn(l) * t.ServersOn(to)
				}
			}
		}
		for i := range t.Spines() * t.Tops() {
			if t.TopAlive(b.At, i%t.Spines(), i/t.Spines()) {
				live++
			}
		}
		return quotient(out, live)
	}
	var load, sum int64
	for _, w := range b.Weights {
		sum += w
	}
	for from := range t.Leaves() {
		for _, to := range met(t, from) {
			least := sum
			for _, path := range t.LivePaths(from, to) {
				k, top := t.Through(from, to, path)
				w := b.Weights[t.Up(from, k)] + b.Weights[t.Down(to, k)]
				if top >= 0 {
					w += b.Weights[t.TopUp(t.Pod(from), k, top)] + b.Weights[t.TopDown(t.Pod(to), k, top)]
				}
				least = min(least, w)
			}
			load += least * int64(t.ServersOn(from)*t.ServersOn(to))
		}
	}
	return quotient(int(load), int(sum))
}

// met returns the other leaves that a leaf exchanges messages with.
func met(t *topology.Live, leaf int) []int {
	var out []int
	for l := range t.Leaves() {
		if l != leaf && t.ServersOn(leaf) > 0 && t.ServersOn(l) > 0 && len(t.CommonSpines(leaf, l)) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// servers returns how many are on some leaves.
func servers(t *topology.Shape, leaves []int) int {
	n := 0
	for _, l := range leaves {
		n += t.ServersOn(l)
	}
	return n
}

// needs returns how many phases the messages between a leaf and a set of leaves need.
func needs(t *topology.Live, leaf int, set []int) int {
	spines := make(map[int]bool)
	for _, l := range set {
		for _, k := range t.CommonSpines(leaf, l) {
			spines[k] = true
		}
	}
	return quotient(t.ServersOn(leaf)*servers(t.Shape, set), len(spines))
}

// quotient returns a/b, rounded up.
func quotient(a, b int) int { return (a + b - 1) / b }

// reached checks that the split reaches the bound and the witness proves it.
func reached(t *testing.T, tr *topology.Tree, seed uint64) {
	t.Helper()
	b := scheduler.LowerBound(tr, scheduler.Options{})
	if gap := scheduler.Gap(tr); gap != 0 || proven(&tr.Live, b) != b.Phases {
		t.Errorf("%s with %d spines, seed %d: bound %d by %v, which proves %d, and %d phases more needed",
			tr.Notation(), tr.Spines(), seed, b.Phases, b, proven(&tr.Live, b), gap)
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
		kinds[scheduler.LowerBound(tr, scheduler.Options{}).Kind]++
	}
	expect.True(t, kinds["server"] >= 5 && kinds["leaf"] >= 5 && kinds["hall"] >= 5 && kinds["lp"] >= 3, "bounds %v: want some of each kind", kinds)
}

// TestHall compares with all sets of leaves of small trees, connected or not.
func TestHall(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	better := 0
	for i := range 1500 {
		tr := brokenTree(rng, 1+rng.IntN(8), 1+rng.IntN(8), i%3, 1)
		if tr == nil {
			continue
		}
		want, whole := 0, 0
		for l := range tr.Leaves() {
			want = max(want, slowHall(&tr.Live, l))
			if others := met(&tr.Live, l); len(others) > 0 {
				whole = max(whole, needs(&tr.Live, l, others))
			}
		}
		b := scheduler.Hall(tr, 0)
		expect.MustFalse(t, b.Phases != want || want > 0 && (b.Kind != scheduler.KindHall || needs(&tr.Live, b.At, b.Subset) != want),
			"%s, fill %v, down %v: bound %d by %v with %v, want %d", tr.Notation(), tr.Fill(), tr.DownNames(), b.Phases, b, b.Subset, want)
		if b := scheduler.Hall(tr, want); b.Phases != want || b.Kind != "" {
			t.Fatalf("%s: %d by %v replaces a bound of %d", tr.Notation(), b.Phases, b, want)
		}
		if want > whole {
			better++
		}
	}
	expect.True(t, better >= 50, "in only %d trees a set proves more than all leaves together", better)
}

// slowHall tries all sets of leaves.
func slowHall(t *topology.Live, leaf int) int {
	others, best := met(t, leaf), 0
	for bits := 1; bits < 1<<len(others); bits++ {
		var set []int
		for i, l := range others {
			if bits>>i&1 == 1 {
				set = append(set, l)
			}
		}
		best = max(best, needs(t, leaf, set))
	}
	return best
}

func TestLowerBoundUnconnected(t *testing.T) {
	tr := tree(t, topology.Options{Ports: 3, Leaves: 2}, column(0, 0, 0)...)
	tr, _ = tr.Without(topology.Link{Leaf: 0, Spine: 1}, topology.Link{Leaf: 1, Spine: 2})
	b := scheduler.LowerBound(tr, scheduler.Options{})
	expect.True(t, b.Phases == 9 && b.String() == "leaf0", "bound %d by %v, want 9 by leaf0", b.Phases, b)
}
