package pods

import (
	"testing"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/topology"
)

// deadPods returns FT(3;4,4,4) with dead links on both levels.
func deadPods(t *testing.T) *fattree.Tree {
	t.Helper()
	p, err := topology.New(topology.Options{Ports: 4, Leaves: 16, Pods: 4})
	expect.Must(t, err)
	above := func(pod, spine, top int) topology.Link {
		return topology.Link{Leaf: pod, Spine: spine, Above: true, Top: top}
	}
	p, err = p.Without(topology.Link{Leaf: 0, Spine: 1}, topology.Link{Leaf: 9, Spine: 1},
		above(0, 0, 2), above(1, 0, 1), above(2, 3, 3), above(3, 1, 0))
	expect.Must(t, err)
	f := fattree.New(p)
	f.Part()
	return f
}

// TestPodSplitLoads adds all messages up again, and checks that moves of repair
// keep them.
func TestPodSplitLoads(t *testing.T) {
	f := deadPods(t)
	w := split.NewFluid(f)
	s := round(w, w.SettlePods(split.Simple(f)).Phases-3, 0) // too few: something to repair
	s.repair()
	load := make([]int32, len(s.carried))
	for a := range f.Leaves {
		for b := range f.Leaves {
			sum := 0
			for k := 0; a != b && k < f.Spines; k++ {
				x := s.split.X[s.split.At(a, f.Leaves+b)+k]
				expect.MustFalse(t, x < 0 || x > 0 && !f.Usable(a, b, k), "%d messages from leaf %d to %d on plane %d", x, a, b, k)
				sum += int(x)
				links, n := s.directed(a, b, k)
				for _, l := range links[:n] {
					load[l] += x
				}
			}
			if a != b && sum != f.Messages(a, b) {
				t.Fatalf("%d messages from leaf %d to %d, want %d", sum, a, b, f.Messages(a, b))
			}
		}
	}
	for l := range load {
		expect.MustTrue(t, load[l] == s.carried[l], "link %d carries %d, noted %d", l, load[l], s.carried[l])
	}
	for l := range f.PodLinks() {
		i := (l/f.Spines)*f.Spines + l%f.Spines
		expect.MustTrue(t, s.carried[2*l] == s.split.Load[i] && s.carried[2*l+1] == s.split.Load[f.Leaves*f.Spines+i],
			"link %d: %d and %d, in the split %d and %d", l, s.carried[2*l], s.carried[2*l+1], s.split.Load[i], s.split.Load[f.Leaves*f.Spines+i])
	}
}

// TestPodTableSwaps mixes phases and checks that they stay perfect matchings of
// the same units.
func TestPodTableSwaps(t *testing.T) {
	f := deadPods(t)
	w := split.NewFluid(f)
	b := w.SettlePods(split.Simple(f))
	s := round(w, b.Phases, 0)
	expect.MustTrue(t, s.repair(), "not repaired")
	table := newTable(s, schedules.Options{}, false)
	table.settle()
	seen := make([]bool, len(table.from))
	for p := range table.b.Phases {
		for u := range table.nodes {
			e := table.out[p*table.nodes+u]
			expect.MustTrue(t, !seen[e] && int(table.from[e]) == u && table.in[p*table.nodes+int(table.to[e])] == e,
				"phase %d, node %d: unit %d is out of place", p, u, e)
			seen[e] = true
		}
		for k, need := range table.need {
			if need && table.cost[p*table.f.Spines+k] != table.price(p, k) {
				t.Fatalf("phase %d, plane %d: cost %d, now %d", p, k, table.cost[p*table.f.Spines+k], table.price(p, k))
			}
		}
	}
}
