package verify_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/topology"
	"evbench/topology/topologytest"
)

// podOptions are FT(3;m0,m1,m2).
func podOptions(m0, m1, m2 int) topology.Options {
	return topology.Options{Ports: m0, Leaves: m1 * m2, Pods: m2}
}

// podDrafts returns valid three-level plans of one shape: healthy, partly filled
// with a plane and a top switch more, and with dead links at both levels.
func podDrafts(t testing.TB, m0, m1, m2 int) []*draft {
	o := podOptions(m0, m1, m2)
	out := []*draft{greedy("healthy", topologytest.Tree(t, o))}
	late := out[0].clone()
	late.kind, late.messages[0][0] = "late", late.phases
	if len(late.messages) > 2 {
		out = append(out, late.state())
	}
	wide := o
	wide.Spines, wide.Tops = m0+1, m1+1
	if wide.Fill = slices.Repeat([]int{m0}, m1*m2); m0*m1*m2 > 2 {
		wide.Fill[m1*m2-1]--
	}
	out = append(out, greedy("partial", topologytest.Tree(t, wide)))
	return append(out, greedy("dead", topologytest.Tree(t, wide, "leaf0-spine0", "pod1-spine1-top0")))
}

// randomTree returns a tree with so many dead links that pairs of leaves may be
// apart.
func randomTree(t testing.TB, rng *rand.Rand) *topology.Tree {
	o := topology.Options{Ports: 1 + rng.IntN(3), Leaves: 3 + rng.IntN(3), Spines: 1 + rng.IntN(3)}
	var dead []topology.Link
	for l := range o.Leaves {
		for k := range o.Spines {
			if rng.IntN(3) == 0 {
				dead = append(dead, topology.Link{Leaf: l, Spine: k})
			}
		}
	}
	return topologytest.Without(t, o, dead...)
}
