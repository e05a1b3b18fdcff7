// Package topologytest makes trees for tests.
package topologytest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/internal/lists"
	"evbench/topology"
)

// Tree returns a tree without the named links and spines.
func Tree(t testing.TB, o topology.Options, down ...string) *topology.Tree {
	t.Helper()
	healthy := Without(t, o)
	var dead []topology.Link
	for _, name := range down {
		links, err := healthy.Links(name)
		if err != nil {
			t.Fatal(err)
		}
		dead = append(dead, links...)
	}
	return Without(t, o, dead...)
}

// Without returns a tree without the given links.
func Without(t testing.TB, o topology.Options, dead ...topology.Link) *topology.Tree {
	t.Helper()
	tree, err := topology.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if tree, err = tree.Without(dead...); err != nil {
		t.Fatal(err)
	}
	return tree
}

// Cables draws a connected tree with parallel cables, of which some are dead, of at most so many
// ports and leaves; most limits its spines.
func Cables(t testing.TB, rng *rand.Rand, ports, leaves, most int) *topology.Tree {
	t.Helper()
	o := topology.Options{Ports: 1 + rng.IntN(ports), Leaves: 2 + rng.IntN(leaves-1), Spines: 1 + rng.IntN(most), Cables: 2 + rng.IntN(2)}
	if rng.IntN(3) == 0 {
		o.Fill = lists.Tabulate(o.Leaves, func(l int) int { return 1 + rng.IntN(o.Ports) })
	}
	tree := Tree(t, o)
	for dead := rng.IntN(tree.AllLinks() / 2); ; dead /= 2 {
		if links, err := tree.Random(dead, rng.Uint64()); err == nil {
			return Without(t, o, links...)
		}
	}
}

// Roles draws the reading and the building servers: often apart, with some overlap, or all of one.
func Roles(t testing.TB, tree *topology.Tree, rng *rand.Rand) *topology.Tree {
	t.Helper()
	for range 1000 {
		var lists [2][]string
		share, apart := [2]float64{rng.Float64(), rng.Float64()}, rng.IntN(2) == 0
		for rank := range tree.Servers() {
			for i := range lists {
				if rng.Float64() < share[i] && !(apart && i == 1 && len(lists[0]) > 0 && lists[0][len(lists[0])-1] == tree.ServerName(rank)) {
					lists[i] = append(lists[i], tree.ServerName(rank))
				}
			}
		}
		if rng.IntN(6) == 0 {
			lists[rng.IntN(2)] = []string{fmt.Sprintf("leaf0-%d", tree.Leaves()-1)}
		}
		if out, err := tree.WithRoles(strings.Join(lists[0], ","), strings.Join(lists[1], ",")); err == nil && len(lists[0])*len(lists[1]) > 0 {
			return out
		}
	}
	t.Fatalf("%s: no roles", tree.Notation())
	return nil
}

// Random returns a tree with absent servers and dead links, or false for one
// that is too small.
func Random(t testing.TB, rng *rand.Rand, m0, m1 int) (*topology.Tree, bool) {
	t.Helper()
	o := topology.Options{Ports: m0, Leaves: m1, Fill: make([]int, m1), Spines: 1 + rng.IntN(m0+2)}
	for l := range o.Fill {
		o.Fill[l] = rng.IntN(m0 + 1)
	}
	o.Fill[0] = m0
	tr, err := topology.New(o)
	if err != nil {
		return nil, false
	}
	if links, err := tr.Random(rng.IntN(1+o.Spines*m1/3), rng.Uint64()); err == nil {
		tr, _ = tr.Without(links...)
	}
	return tr, true
}

// Pods returns a tree of three levels with dead links.
func Pods(t testing.TB, rng *rand.Rand) *topology.Tree {
	o := topology.Options{Ports: 1 + rng.IntN(3), Pods: 2 + rng.IntN(2), Spines: 1 + rng.IntN(3), Tops: 1 + rng.IntN(3)}
	o.Leaves = o.Pods * (1 + rng.IntN(3))
	t.Helper()
	tr := Without(t, o)
	for dead := rng.IntN(1 + tr.AllLinks()/3); ; dead /= 2 {
		if links, err := tr.Random(dead, rng.Uint64()); err == nil {
			return Without(t, o, links...)
		}
	}
}
