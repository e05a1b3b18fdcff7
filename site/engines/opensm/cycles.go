package opensm

import (
	"cmp"
	"slices"
)

// Dependencies are the channel dependency graph of one lane. Channels and their dependencies are in
// the order in which routes brought them.
type dependencies struct {
	g    *graph
	out  [][]dependency // by channel
	seen []bool
	born []int32
}

func newDependencies(g *graph) *dependencies {
	return &dependencies{g: g, out: make([][]dependency, len(g.to)), seen: make([]bool, len(g.to))}
}

func (d *dependencies) find(from, to int32) *dependency {
	if from == none {
		return nil
	}
	for i := range d.out[from] {
		if d.out[from][i].to == to {
			return &d.out[from][i]
		}
	}
	return nil
}

// add enters a bundle that goes from one channel to the next, or that begins.
func (d *dependencies) add(from, to int32, b bundle, routes int) {
	if !d.seen[to] {
		d.seen[to] = true
		d.born = append(d.born, to)
	}
	if from == none {
		return
	}
	dep := d.find(from, to)
	if dep == nil {
		d.out[from] = append(d.out[from], dependency{to: to})
		dep = &d.out[from][len(d.out[from])-1]
	}
	dep.bundles = append(dep.bundles, b)
	dep.routes += routes
}

// key is OpenSM's name of a channel: LID and port at both ends.
func (d *dependencies) key(c int32) uint64 {
	g := d.g
	v, w := g.owner[c], g.to[c]
	port, back := uint64(c-g.first[v]+1), uint64(g.back[c]-g.first[w]+1)
	return uint64(g.switchLID(v))<<48 + port<<32 + uint64(g.switchLID(w))<<16 + back
}

// starts returns the channels in the order of a search. OpenSM keeps them in a binary tree by key,
// never balanced, and reads that from the root, left before right. In that tree every channel is
// younger than its parent, so one pass over the sorted keys builds it.
func (d *dependencies) starts() []int32 {
	age := make([]int32, len(d.out))
	for i, c := range d.born {
		age[c] = int32(i)
	}
	sorted := slices.Clone(d.born)
	slices.SortFunc(sorted, func(a, b int32) int { return cmp.Compare(d.key(a), d.key(b)) })
	left, right := make([]int32, len(d.out)), make([]int32, len(d.out))
	var spine []int32 // from the root to the right
	for _, c := range sorted {
		under := int32(none)
		for len(spine) > 0 && age[spine[len(spine)-1]] > age[c] {
			under, spine = spine[len(spine)-1], spine[:len(spine)-1]
		}
		left[c], right[c] = under, none
		if len(spine) > 0 {
			right[spine[len(spine)-1]] = c
		}
		spine = append(spine, c)
	}
	if len(spine) == 0 {
		return nil
	}
	return preorder(spine[0], left, right)
}

func preorder(root int32, left, right []int32) (order []int32) {
	for stack := []int32{root}; len(stack) > 0; {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		order = append(order, c)
		for _, child := range []int32{right[c], left[c]} {
			if child != none {
				stack = append(stack, child)
			}
		}
	}
	return order
}

// States of a channel in a cycleSearch.
const (
	fresh uint8 = iota
	onTrail
	finished // leads to no cycle
)

// A cycleSearch looks for cycles, depth first, and continues where the last one was. As in OpenSM,
// a channel cut off from its trail remembers its predecessor. When the search reaches the channel
// again, it returns to that predecessor before it looks for another start.
type cycleSearch struct {
	d      *dependencies
	state  []uint8
	led    []int32 // by channel: the one before it on the trail, or none
	looked []int   // by channel: dependencies known to lead to finished channels
	starts []int32
	start  int
	now    int32
}

func newCycleSearch(d *dependencies) *cycleSearch {
	h := &cycleSearch{d: d, state: make([]uint8, len(d.out)), looked: make([]int, len(d.out)), led: make([]int32, len(d.out))}
	for c := range h.led {
		h.led[c] = none
	}
	h.starts = d.starts()
	h.now = h.begin()
	return h
}

// cycle continues until it has found a cycle, which includes now, or nothing more.
func (h *cycleSearch) cycle() bool {
	for h.now != none {
		c := h.now
		h.state[c] = onTrail
		next := h.next(c)
		switch {
		case next == none:
			h.back(c)
		case h.state[next] == onTrail:
			h.now = next
			return true
		default:
			h.led[next], h.now = c, next
		}
	}
	return false
}

func (h *cycleSearch) back(c int32) {
	h.state[c] = finished
	if h.led[c] == none {
		h.now = h.begin()
		return
	}
	h.now, h.led[c] = h.led[c], none
}

func (h *cycleSearch) begin() int32 {
	for ; h.start < len(h.starts); h.start++ {
		if c := h.starts[h.start]; h.state[c] == fresh {
			return c
		}
	}
	return none
}

// next returns the first dependency of channel c that is not finished.
func (h *cycleSearch) next(c int32) int32 {
	out := h.d.out[c]
	for ; h.looked[c] < len(out); h.looked[c]++ {
		if to := out[h.looked[c]].to; h.state[to] != finished {
			return to
		}
	}
	return none
}

// cut removes the dependency of the cycle with the fewest routes, the first of equals, and returns
// its bundles. The search is back at the start of the cycle.
func (h *cycleSearch) cut() []bundle {
	best, least := h.now, -1
	for c := h.now; ; {
		h.state[c] = fresh
		dep := h.d.out[c][h.looked[c]]
		if least < 0 || dep.routes < least {
			best, least = c, dep.routes
		}
		if c = dep.to; c == h.now {
			break
		}
	}
	at := h.looked[best]
	bundles := h.d.out[best][at].bundles
	h.d.out[best] = slices.Delete(h.d.out[best], at, at+1)
	h.start = 0
	return bundles
}
