package survey

import (
	"evbench/routing"
	"evbench/site/engines"
	"evbench/topology"
)

// closedPaths fills the paths of an engine, by leaf·servers + dst, for a tree whose dead links leave no two
// leaves with servers unreachable.
type closedPaths = func(t *topology.Tree, leaf []int, path []int32)

// closedOf returns the closed form of an engine that makes tables of a tree and of what is left of it, on two
// levels without parallel cables; nil where there is none.
func closedOf(t *topology.Tree, engine string) closedPaths {
	if !t.Plain() {
		return nil
	}
	switch engine {
	case routing.MinHop:
		return func(t *topology.Tree, leaf []int, path []int32) { leastUsed(t, leaf, path, false) }
	case routing.Spread:
		return func(t *topology.Tree, leaf []int, path []int32) { leastUsed(t, leaf, path, true) }
	case routing.Ftree:
		if _, err := engines.FromTree(t, 0); err == nil && t.Connected() == nil {
			return ftreePaths
		}
	}
	return nil
}

// leastUsed is the rule of routing.TreeTables for minhop and, where ties rotate by leaf, spread.
func leastUsed(t *topology.Tree, leaf []int, path []int32, rotate bool) {
	count, live := make([]int32, t.Spines()), make([]int32, 0, t.Spines())
	for l := range t.Leaves() {
		row := path[l*len(leaf):][:len(leaf)]
		clear(count)
		next, broken := int32(0), false
		for dst, b := range leaf {
			if b == l {
				continue
			}
			if row[dst] = next; t.Alive(l, int(next)) && t.Alive(b, int(next)) {
				count[next]++
			} else {
				row[dst], broken = -1, true
			}
			if next++; int(next) == len(count) {
				next = 0
			}
		}
		of := -1 // the leaf that live leads to
		for dst, b := range leaf {
			if !broken || b == l || row[dst] >= 0 {
				continue
			}
			if b != of {
				live, of = common(live[:0], t, l, b), b
			}
			if len(live) == 0 {
				continue
			}
			start := 0
			if rotate {
				start = l
			}
			row[dst] = routing.LeastUsed(live, count, start)
			count[row[dst]]++
		}
	}
}

func common(to []int32, t *topology.Tree, a, b int) []int32 {
	for k := range t.Spines() {
		if t.Alive(a, k) && t.Alive(b, k) {
			to = append(to, int32(k))
		}
	}
	return to
}

// ftreePaths is what OpenSM's ftree (site/engines/opensm) comes to with the spines as roots: the routes to the
// servers of a leaf take its live spines in turn, in the order in which a search from the first leaf with
// servers finds them, and a leaf that has lost the spine whose turn it is takes the next that it has.
func ftreePaths(t *topology.Tree, leaf []int, path []int32) {
	found := search(t)
	live := make([]int32, 0, len(found))
	for b := range t.Leaves() {
		live = live[:0]
		for _, k := range found {
			if t.Alive(b, int(k)) {
				live = append(live, k)
			}
		}
		for slot := range t.On(b) {
			for l := range t.Leaves() {
				if l == b || t.On(l) == 0 {
					continue
				}
				i := slot % len(live)
				for !t.Alive(l, int(live[i])) {
					if i++; i == len(live) {
						i = 0
					}
				}
				path[l*len(leaf)+t.First(b)+slot] = live[i]
			}
		}
	}
}

// search returns the spines breadth first from the first leaf with servers.
func search(t *topology.Tree) []int32 {
	var spines []int32
	leaves := make([]int, 0, t.Leaves())
	foundLeaf, foundSpine := make([]bool, t.Leaves()), make([]bool, t.Spines())
	for l := range t.Leaves() {
		if t.On(l) > 0 {
			leaves, foundLeaf[l] = append(leaves, l), true
			break
		}
	}
	for next := 0; len(leaves) > 0; leaves = leaves[1:] {
		for k, found := range foundSpine {
			if !found && t.Alive(leaves[0], k) {
				spines, foundSpine[k] = append(spines, int32(k)), true
			}
		}
		for ; next < len(spines); next++ {
			for l, found := range foundLeaf {
				if !found && t.Alive(l, int(spines[next])) {
					leaves, foundLeaf[l] = append(leaves, l), true
				}
			}
		}
	}
	return spines
}
