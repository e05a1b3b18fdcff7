package routing_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func TestCountPathsKnown(t *testing.T) {
	t.Parallel()
	// 326 servers on 18 leaves with 20 spines, as in thesis 6.7.2.
	lhcb := topologytest.Tree(t, topology.Options{
		Ports: 20, Leaves: 18, Fill: slices.Concat(slices.Repeat([]int{19}, 2), slices.Repeat([]int{18}, 16)),
	})
	big := topologytest.Tree(t, topology.Options{Ports: 20, Leaves: 18})
	for _, tt := range []struct {
		name  string
		tree  *topology.Tree
		spine func(src, dst int) int
		want  topology.Paths
	}{
		{"as many as servers of a leaf", lhcb, func(src, dst int) int { return (src + dst) % 20 }, topology.Paths{Most: 19, LMC: 5, LIDs: 10470, Entries: 10469}},
		{"one for each destination", lhcb, func(src, dst int) int { return dst % 20 }, topology.Paths{Most: 1, LIDs: 364, Entries: 363}},
		{"two", big, func(src, dst int) int { return (dst + src%2) % 20 }, topology.Paths{Most: 2, LMC: 1, LIDs: 758, Entries: 757}},
		{"three", big, func(src, dst int) int { return (dst + src%3) % 20 }, topology.Paths{Most: 3, LMC: 2, LIDs: 1478, Entries: 1477}},
		{"none", big, func(src, dst int) int { return -1 }, topology.Paths{LIDs: 398, Entries: 397}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, routing.CountPaths(tt.tree, tt.spine), tt.want, "routing.CountPaths")
		})
	}
}

// TestCountPathsRandom compares with sets, one for each leaf and destination,
// also where spines are more than a word has bits.
func TestCountPathsRandom(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		o := topology.Options{Ports: 2 + rng.IntN(8), Leaves: 1 + rng.IntN(6), Spines: 1 + rng.IntN(150)}
		for range o.Leaves {
			o.Fill = append(o.Fill, 1+rng.IntN(o.Ports))
		}
		o.Fill[0] = max(o.Fill[0], 2)
		tr := topologytest.Tree(t, o)
		spine := make([]int, tr.Servers()*tr.Servers())
		for i := range spine {
			spine[i] = rng.IntN(tr.Spines()+1) - 1
		}
		of := func(src, dst int) int { return spine[src*tr.Servers()+dst] }
		most := 0
		for leaf := range tr.Leaves() {
			for dst := range tr.Servers() {
				set := map[int]bool{}
				for src := range tr.Servers() {
					if tr.Leaf(src) == leaf && tr.Leaf(dst) != leaf && of(src, dst) >= 0 {
						set[of(src, dst)] = true
					}
				}
				most = max(most, len(set))
			}
		}
		got := routing.CountPaths(tr, of)
		expect.False(t, got.Most != most || most > 0 && (1<<got.LMC < most || most > 1 && 1<<(got.LMC-1) >= most),
			"%s, %d spines: %+v, want %d at most", tr.Notation(), tr.Spines(), got, most)
	}
}
