package scheduler

import (
	"testing"

	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/topology"
)

// deadPods returns FT(3;4,4,4) with dead links on both levels.
func deadPods(t *testing.T) *fabric {
	t.Helper()
	p, err := topology.New(topology.Options{Ports: 4, Leaves: 16, Pods: 4})
	expect.Must(t, err)
	above := func(pod, spine, top int) topology.Link {
		return topology.Link{Leaf: pod, Spine: spine, Above: true, Top: top}
	}
	p, err = p.Without(topology.Link{Leaf: 0, Spine: 1}, topology.Link{Leaf: 9, Spine: 1},
		above(0, 0, 2), above(1, 0, 1), above(2, 3, 3), above(3, 1, 0))
	expect.Must(t, err)
	f := newFabric(p)
	f.part()
	return f
}

// TestPodSplitLoads adds all messages up again, and checks that moves of repair
// keep them.
func TestPodSplitLoads(t *testing.T) {
	f := deadPods(t)
	w := newFluid(f)
	s := roundPods(w, w.settlePods(f.simpleBound()).Phases-3, 0) // too few: something to repair
	s.repair()
	load := make([]int32, len(s.carried))
	for a := range f.leaves {
		for b := range f.leaves {
			sum := 0
			for k := 0; a != b && k < f.spines; k++ {
				x := s.split.x[s.split.at(a, f.leaves+b)+k]
				expect.MustFalse(t, x < 0 || x > 0 && !f.usable(a, b, k), "%d messages from leaf %d to %d on plane %d", x, a, b, k)
				sum += int(x)
				links, n := s.directed(a, b, k)
				for _, l := range links[:n] {
					load[l] += x
				}
			}
			if a != b && sum != f.messages(a, b) {
				t.Fatalf("%d messages from leaf %d to %d, want %d", sum, a, b, f.messages(a, b))
			}
		}
	}
	for l := range load {
		expect.MustTrue(t, load[l] == s.carried[l], "link %d carries %d, noted %d", l, load[l], s.carried[l])
	}
	for l := range f.podLinks() {
		i := (l/f.spines)*f.spines + l%f.spines
		expect.MustTrue(t, s.carried[2*l] == s.split.load[i] && s.carried[2*l+1] == s.split.load[f.leaves*f.spines+i],
			"link %d: %d and %d, in the split %d and %d", l, s.carried[2*l], s.carried[2*l+1], s.split.load[i], s.split.load[f.leaves*f.spines+i])
	}
}

// TestPodTableSwaps mixes phases and checks that they stay perfect matchings of
// the same units.
func TestPodTableSwaps(t *testing.T) {
	f := deadPods(t)
	w := newFluid(f)
	b := w.settlePods(f.simpleBound())
	s := roundPods(w, b.Phases, 0)
	expect.MustTrue(t, s.repair(), "not repaired")
	table := newPodTable(s, schedules.Options{})
	table.settle()
	seen := make([]bool, len(table.from))
	for p := range table.b.phases {
		for u := range table.nodes {
			e := table.out[p*table.nodes+u]
			expect.MustTrue(t, !seen[e] && int(table.from[e]) == u && table.in[p*table.nodes+int(table.to[e])] == e,
				"phase %d, node %d: unit %d is out of place", p, u, e)
			seen[e] = true
		}
		for k, need := range table.need {
			if need && table.cost[p*table.f.spines+k] != table.price(p, k) {
				t.Fatalf("phase %d, plane %d: cost %d, now %d", p, k, table.cost[p*table.f.spines+k], table.price(p, k))
			}
		}
	}
}
