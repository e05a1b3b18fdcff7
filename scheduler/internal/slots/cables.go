package slots

import (
	"fmt"

	"evbench/topology"
)

// GiveCables gives each message of a phase a cable where cables are parallel. The messages of a leaf on a
// spine take the live cables in order, upwards and downwards. There are enough: no phase of t has
// more messages of a link than live cables. O(S²).
func (t *Table) GiveCables(tree *topology.Live) {
	if tree.Cables() == 1 {
		return
	}
	t.AddTops()
	start, order := t.ByPhase()
	leaf, used := tree.LeafOfRanks(), make([]int, 2*tree.Leaves()*tree.Spines())
	next := func(side, leaf, spine int) int {
		at := &used[(side*tree.Leaves()+leaf)*tree.Spines()+spine]
		for !tree.CableAlive(leaf, spine, *at) {
			*at++
		}
		*at++
		return *at - 1
	}
	for p := range t.Phases {
		clear(used)
		for _, i := range order[start[p]:start[p+1]] {
			if k := t.Slots[i].Spine(); k != none {
				up := next(0, leaf[int(i)/t.Ranks], k)
				t.Tops[i] = uint8(tree.Lane(up, next(1, leaf[int(i)%t.Ranks], k)))
			}
		}
	}
}

// ShiftCables is GiveCables for linear shift with few paths: spines are those of the servers of a leaf, and
// those of the same spine take its live cables in order. So tables with one entry for a server hold
// the paths. O(S²).
func (t *Table) ShiftCables(tree *topology.Live, spines []int) {
	if tree.Cables() == 1 {
		return
	}
	number := make([]int, len(spines))
	for i, k := range spines {
		for _, before := range spines[:i] {
			if before == k {
				number[i]++
			}
		}
	}
	t.Lay(tree, func(dst, spine int) (k, up, down int) {
		n := number[dst%len(spines)]
		return spine, n, n
	})
}

// Lay gives each message the spine and the numbers of the live cables, up and down, of its destination
// and present spine. O(S²).
func (t *Table) Lay(tree *topology.Live, cables func(dst, spine int) (k, up, down int)) {
	t.AddTops()
	leaf := tree.LeafOfRanks()
	t.Walk(func(src, dst int, x *Slot) {
		if x.Spine() != none {
			k, up, down := cables(dst, x.Spine())
			*x = Make(x.Phase(), k)
			t.Tops[src*t.Ranks+dst] = uint8(tree.Lane(nth(tree, leaf[src], k, up), nth(tree, leaf[dst], k, down)))
		}
	})
}

// nth returns the n-th live cable between a leaf and a spine.
func nth(tree *topology.Live, leaf, spine, n int) int {
	for c := range tree.Cables() {
		if tree.CableAlive(leaf, spine, c) {
			if n--; n < 0 {
				return c
			}
		}
	}
	panic(fmt.Sprintf("scheduler: %s has fewer live cables", topology.Link{Leaf: leaf, Spine: spine}))
}
