package opensm

import "math"

// A search finds the lightest routes from all vertices to one destination. It
// keeps its memory for the next one.
type search struct {
	g     *graph
	dist  []uint64
	used  []int32 // slot through which a vertex was reached, or none; its owner is nearer
	order []int32 // vertices as they were settled
	count []uint64
	heap  heap
}

func newSearch(g *graph) *search {
	v := len(g.sw)
	return &search{
		g: g, dist: make([]uint64, v+1), used: make([]int32, v), order: make([]int32, 0, v), count: make([]uint64, v),
		heap: heap{item: make([]int32, 0, v+1), key: make([]uint64, 0, v+1), pos: make([]int32, v+1)},
	}
}

const far = math.MaxUint64 / 2

// from searches outwards from the vertex with the destination; itself says that the destination is
// the switch. It is Dijkstra's algorithm with the order of equals of OpenSM's heap. OpenSM gives up
// beyond 2^31, the total weight of four cables of some 23,000 LIDs; this does not. O(C + V log V)
// for V switches and C cables.
func (s *search) from(root int32, itself bool) {
	g := s.g
	for v := range g.sw {
		s.dist[v], s.used[v] = far, none
	}
	s.order = s.order[:0]
	s.begin(root, itself)
	for len(s.heap.item) > 0 {
		v := s.heap.pop()
		s.order = append(s.order, v)
		s.relax(v)
	}
}

// begin fills the heap. A host is an element of its own, added last; it is settled first and
// reaches its switch with weight 1.
func (s *search) begin(root int32, itself bool) {
	count := len(s.g.sw)
	if !itself {
		count++
	}
	s.heap.fill(count, far)
	if itself {
		s.dist[root] = 0
		s.heap.lower(root, 0)
		return
	}
	host := int32(count - 1)
	s.heap.lower(host, 0)
	s.heap.pop()
	s.dist[root] = 1
	s.heap.lower(root, 1)
}

// relax offers the neighbours of v a route through it. A settled neighbour is
// at most as far away as v, so no route through v is lighter.
func (s *search) relax(v int32) {
	g, near := s.g, s.dist[v]
	if near >= far {
		return
	}
	for slot := g.first[v]; slot < g.first[v+1]; slot++ {
		w := g.to[slot]
		if w == none {
			continue
		}
		if d := near + g.weight[slot]; d < s.dist[w] {
			s.dist[w], s.used[w] = d, slot
			s.heap.lower(w, d)
		}
	}
}

// add makes each cable heavier by the number of routes over it, count[v] of
// them from vertex v. It changes count. O(V).
func (s *search) add(count []uint64) {
	for i := len(s.order) - 1; i >= 0; i-- {
		v := s.order[i]
		if slot := s.used[v]; slot != none {
			s.g.weight[slot] += count[v]
			count[s.g.owner[slot]] += count[v]
		}
	}
}

func (s *search) all() []uint64 {
	for v, l := range s.g.lids {
		s.count[v] = uint64(l)
	}
	return s.count
}

// A heap keeps the smallest key at the front; every element has four children. Of equal children
// the last moves up: the order of equals makes tables equal to OpenSM's (complib/cl_heap.c).
type heap struct {
	item []int32
	key  []uint64 // of the element at a place
	pos  []int32  // of an item
}

const arity = 4

// fill adds 0..n-1 in order, with one key.
func (h *heap) fill(n int, key uint64) {
	h.item, h.key = h.item[:n], h.key[:n]
	for i := range n {
		h.item[i], h.key[i], h.pos[i] = int32(i), key, int32(i)
	}
}

func (h *heap) put(at int, item int32, key uint64) {
	h.item[at], h.key[at], h.pos[item] = item, key, int32(at)
}

func (h *heap) lower(item int32, key uint64) {
	at := int(h.pos[item])
	for at > 0 {
		up := (at - 1) / arity
		if key >= h.key[up] {
			break
		}
		h.put(at, h.item[up], h.key[up])
		at = up
	}
	h.put(at, item, key)
}

// pop removes the front; the last element takes its place and sinks.
func (h *heap) pop() int32 {
	front, end := h.item[0], len(h.item)-1
	item, key := h.item[end], h.key[end]
	h.item, h.key = h.item[:end], h.key[:end]
	if end == 0 {
		return front
	}
	at := 0
	for at*arity+1 < end {
		least := at*arity + 1
		for c := least + 1; c < min(at*arity+1+arity, end); c++ {
			if h.key[c] <= h.key[least] {
				least = c
			}
		}
		if key <= h.key[least] {
			break
		}
		h.put(at, h.item[least], h.key[least])
		at = least
	}
	h.put(at, item, key)
	return front
}
