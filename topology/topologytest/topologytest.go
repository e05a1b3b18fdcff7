// Package topologytest makes trees for tests.
package topologytest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

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

// Roles draws who reads and who builds: often apart, with some overlap, or all of one.
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
