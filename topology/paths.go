package topology

import "math/bits"

// Paths say what the paths of messages need of an InfiniBand subnet, where the destination's address (LID) chooses a path.
type Paths struct {
	Most    int `json:"most"`        // most distinct paths from one leaf to one server of another
	LMC     int `json:"lmc"`         // LID mask control: ⌈log2 Most⌉, with parallel cables perhaps more
	LIDs    int `json:"lids"`        // addresses in the subnet: 2^LMC for each server, one for each switch
	Entries int `json:"lft_entries"` // of the forwarding table of each switch: all addresses but its own
}

// pathsRoom bounds the memory of CountPaths, in words of eight bytes. A tree of 4,096 servers takes a sixteenth of it.
const pathsRoom = 1 << 22

// CountPaths counts the paths that messages take from leaves to servers on others. each calls count for every such message from
// the leaves from..to-1, or from any, with the rank of its destination; it is called for as many leaves at once as fit. The numbers
// follow thesis 6.7.2: LMC 5 for 326 servers and 38 switches is 32·326 + 37 = 10,469 entries. O(messages + leaves·S·paths/64).
func (v *Live) CountPaths(each func(from, to int, count func(leaf, dst, path int))) (p Paths) {
	words := (v.Paths() + 63) / 64
	row := v.Servers() * words // of a leaf
	part := max(1, min(v.leaves, pathsRoom/row))
	seen, lids := make([]uint64, part*row), make([]hostLIDs, v.Servers())
	for first := 0; first < v.leaves; first += part {
		end := min(first+part, v.leaves)
		clear(seen)
		each(first, end, func(leaf, dst, path int) {
			if at := leaf - first; uint(at) < uint(part) {
				seen[at*row+dst*words+path>>6] |= 1 << (path & 63)
			}
		})
		for leaf := first; leaf < end; leaf++ {
			for dst := range lids {
				p.Most = max(p.Most, lids[dst].add(v, seen[(leaf-first)*row+dst*words:][:words]))
				if (leaf+1)%v.PodLeaves() == 0 {
					p.LMC = max(p.LMC, lids[dst].pod(v))
				}
			}
		}
	}
	p.LIDs = v.Servers()<<p.LMC + v.Switches()
	p.Entries = p.LIDs - 1
	return p
}

// lmc counts the paths of a set (path p is bit p%64 of word p/64), and returns the power of 2 of LIDs that one server needs for
// them. Where cables are parallel, a LID comes down by the same cable of each spine, its offset modulo their number, from any leaf.
func (v *Live) lmc(set []uint64) (paths, lmc int) {
	var down [MaxCables]int // paths by cable
	for i, w := range set {
		paths += bits.OnesCount64(w)
		for ; w != 0 && v.cables > 1; w &= w - 1 {
			down[v.downCable(64*i+bits.TrailingZeros64(w))]++
		}
	}
	if v.cables == 1 {
		return paths, bits.Len(uint(max(paths, 1) - 1))
	}
	for cable, n := range down[:v.cables] {
		for (1<<lmc-cable+v.cables-1)/v.cables < n {
			lmc++
		}
	}
	return paths, lmc
}

// downCable is the cable by which a path comes down to its last leaf.
func (v *Live) downCable(path int) int {
	_, lane := v.SpineTop(path)
	_, down := v.LaneCables(lane)
	return down
}

// hostLIDs are those that a server needs. One suffices where each leaf has one path to it and all that
// come down from a spine take one cable; on three levels, where each leaf of a pod has one and all of
// the pod through a plane take one top switch. Otherwise a pod has all paths of its leaves at once.
type hostLIDs struct {
	down    []int    // by spine or plane: the cable or top switch, plus 1; 0: none
	all     []uint64 // on three levels: the paths of the pod
	lmc     int      // where one does not suffice
	several bool
}

// add takes the paths from one leaf, and returns their number.
func (h *hostLIDs) add(v *Live, set []uint64) int {
	n, lmc := v.lmc(set)
	h.lmc, h.several = max(h.lmc, lmc), h.several || n > 1
	if v.Plain() {
		return n
	}
	if h.down == nil {
		h.down, h.all = make([]int, v.spines), make([]uint64, len(set))
	}
	for i, w := range set {
		for h.all[i] |= w; w != 0; w &= w - 1 {
			path := 64*i + bits.TrailingZeros64(w)
			spine, by := v.SpineTop(path)
			if v.cables > 1 {
				by = v.downCable(path)
			}
			h.several = h.several || h.down[spine] != 0 && h.down[spine] != by+1
			h.down[spine] = by + 1
		}
	}
	return n
}

// pod ends a pod, all leaves on two levels, and returns the LMC that it needs.
func (h *hostLIDs) pod(v *Live) (need int) {
	if v.tops > 0 {
		_, h.lmc = v.lmc(h.all)
	}
	if h.several {
		need = h.lmc
	}
	clear(h.down)
	clear(h.all)
	h.lmc, h.several = 0, false
	return need
}
