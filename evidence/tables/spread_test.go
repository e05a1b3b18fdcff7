package tables

import (
	"math/rand/v2"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// The largest load of random phases on small trees with random dead links, beside
// the least of all choices of spines.
func TestSpreadFindsTheLeastLoad(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	over := 0
	const phases = 2000
	for range phases {
		tree := randomTree(t, rng)
		edges := randomPhase(tree, rng)
		got, want := newSpread(tree).load(edges), leastLoad(tree, edges)
		expect.MustTrue(t, got >= want && got <= want+1, "%s without %v, %v: load %d, least %d", tree.Notation(), tree.DownNames(), edges, got, want)
		if got > want {
			over++
		}
	}
	expect.True(t, over <= phases/1000, "%d of %d phases are one over the least", over, phases)
}

func randomTree(t *testing.T, rng *rand.Rand) *topology.Tree {
	tree := topologytest.Tree(t, topology.Options{Ports: 1 + rng.IntN(4), Leaves: 2 + rng.IntN(3), Spines: 2 + rng.IntN(3)})
	for {
		var dead []topology.Link
		for range rng.IntN(4) {
			dead = append(dead, topology.Link{Leaf: rng.IntN(tree.Leaves()), Spine: rng.IntN(tree.Spines())})
		}
		if v, err := tree.Without(dead...); err == nil && v.Connected() == nil {
			return v
		}
	}
}

// randomPhase returns the leaf pairs of a random permutation of the servers.
func randomPhase(t *topology.Tree, rng *rand.Rand) (edges [][2]int) {
	for src, dst := range rng.Perm(t.Servers()) {
		if a, b := t.Leaf(src), t.Leaf(dst); a != b && len(edges) < 8 {
			edges = append(edges, [2]int{a, b})
		}
	}
	return edges
}

// leastLoad tries every choice.
func leastLoad(t *topology.Tree, edges [][2]int) int {
	load := make([]int, t.AllWires())
	best := len(edges)
	var try func(i, most int)
	try = func(i, most int) {
		if most >= best {
			return
		}
		if i == len(edges) {
			best = most
			return
		}
		a, b := edges[i][0], edges[i][1]
		for _, k := range t.CommonSpines(a, b) {
			up, down := t.Up(a, k), t.Down(b, k)
			load[up]++
			load[down]++
			try(i+1, max(most, load[up], load[down]))
			load[up]--
			load[down]--
		}
	}
	if len(edges) > 0 {
		try(0, 0)
	}
	return best
}
