package routing

import "evbench/topology"

// ftree is what OpenSM's ftree (site/engines/opensm) comes to with the spines as roots: the routes to the
// servers of a leaf take its live spines in turn, in the order in which a search from the first leaf with
// servers finds them, and a leaf that has lost the spine whose turn it is takes the next that it has.
func ftree(t *topology.Live, ways []int32) {
	found := search(t)
	live := make([]int32, 0, len(found))
	for b := range t.Leaves() {
		live = live[:0]
		for _, k := range found {
			if t.Alive(b, int(k)) {
				live = append(live, k)
			}
		}
		for slot := range t.ServersOn(b) {
			for l := range t.Leaves() {
				way := &ways[l*t.Servers()+t.First(b)+slot]
				*way = none
				for i := 0; i < len(live) && l != b && *way == none; i++ {
					if k := live[(slot+i)%len(live)]; t.Alive(l, int(k)) {
						*way = k
					}
				}
			}
		}
	}
}

// search returns the spines breadth first from the first leaf with servers.
func search(t *topology.Live) []int32 {
	var spines []int32
	leaves := make([]int, 0, t.Leaves())
	foundLeaf, foundSpine := make([]bool, t.Leaves()), make([]bool, t.Spines())
	for l := range t.Leaves() {
		if t.ServersOn(l) > 0 {
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
