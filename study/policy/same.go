package policy

import (
	"cmp"
	"slices"
	"strings"

	"evbench/topology"
)

// same returns a state that FORS builds as much in: leaves and spines are counted anew,
// so that of states that differ only in their names most become one. On a tree with all
// ports in use any order of leaves and of spines is as good as another, and a plan for
// the one is a plan for the other with the names changed. On other trees the state stays.
func (s *Setting) same(x State) State {
	if !s.Tree.Full() || x.stopped {
		return x
	}
	r := renaming{}
	for i, d := range []Dead{x.plan, x.tables} {
		for name := range strings.FieldsSeq(string(d)) {
			if links, err := s.Tree.Links(name); err == nil {
				r.add(links[0], i)
			}
		}
	}
	leaf, spine := r.order()
	renamed := [2][]topology.Link{}
	for l, in := range r {
		for i := range in {
			if in[i] {
				renamed[i] = append(renamed[i], topology.Link{Leaf: leaf[l.Leaf], Spine: spine[l.Spine]})
			}
		}
	}
	return State{plan: deadOf(renamed[0]), tables: deadOf(renamed[1])}
}

// A renaming holds which links are dead in the plan, and which the tables avoid.
type renaming map[topology.Link][2]bool

func (r renaming) add(l topology.Link, i int) {
	in := r[l]
	in[i] = true
	r[l] = in
}

// order numbers the leaves and spines that have a link. Those with more links come first,
// links of the plan before others; of equals those whose links lead to such as have more.
// What is still equal then comes in the old order: too many names are no harm.
func (r renaming) order() (leaf, spine map[int]int) {
	leaves, spines := map[int]int{}, map[int]int{}
	for l, in := range r {
		weight := 1
		if in[0] {
			weight = 1000
		}
		if in[0] && in[1] {
			weight = 1001
		}
		leaves[l.Leaf] += weight
		spines[l.Spine] += weight
	}
	leafBy, spineBy := map[int][]int{}, map[int][]int{}
	for l := range r {
		leafBy[l.Leaf] = append(leafBy[l.Leaf], spines[l.Spine])
		spineBy[l.Spine] = append(spineBy[l.Spine], leaves[l.Leaf])
	}
	return numbered(leaves, leafBy), numbered(spines, spineBy)
}

func numbered(weight map[int]int, beyond map[int][]int) map[int]int {
	var nodes []int
	for n := range weight {
		slices.SortFunc(beyond[n], func(a, b int) int { return b - a })
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b int) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), slices.Compare(beyond[b], beyond[a]), cmp.Compare(a, b))
	})
	out := map[int]int{}
	for i, n := range nodes {
		out[n] = i
	}
	return out
}
