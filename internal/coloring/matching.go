package coloring

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// A step is the exit of a walk from a left node: its edge and its right node.
type step struct{ edge, v int32 }

// unmatched begins a perfect matching of a regular graph: s.taken[u] becomes the edge of left node u, s.mate[v]
// the left node of right node v.
//
// From each free left node, a random walk takes a random edge to the right and the matched edge
// back until it meets a free right node. The last exits of its nodes are the walk without its
// loops: an augmenting path. Expected O(n log n) steps in all (Goel, Kapralov, Khanna).
func (s *worker) unmatched(nodes int) {
	s.mate, s.taken, s.exit = sized(s.mate, nodes), sized(s.taken, nodes), sized(s.exit, nodes)
	for v := range s.mate {
		s.mate[v] = none
	}
}

// augment matches left node u, and all that its walk has met, by their last exits.
func augment(mate, taken []int32, exit []step, u int32) {
	for u != none {
		x := exit[u]
		taken[u] = x.edge
		u, mate[x.v] = mate[x.v], u
	}
}

// random returns the source of one part of the recursion, identified by its first colour and its
// degree.
func (c *colorer) random(k, color int32) *rand.PCG {
	return rand.NewPCG(c.seed, uint64(color)<<32|uint64(k))
}

// below returns a number 0..k-1, by multiplication: its bias is below k/2^64.
func below(src *rand.PCG, k int32) int32 {
	hi, _ := bits.Mul64(src.Uint64(), uint64(k))
	return int32(hi)
}

// take gives color to a perfect matching of a k-regular graph and removes it.
func (c *colorer) take(m *multigraph, w *worker, k, color int32) {
	src := c.random(k, color)
	w.unmatched(c.nodes)
	for first := range int32(c.nodes) {
		for u := first; u != none; {
			r, i := below(src, k), m.start[u]
			for ; r >= m.arcs[i].w; i++ {
				r -= m.arcs[i].w
			}
			v := m.arcs[i].v
			w.exit[u] = step{i, v}
			u = w.mate[v]
		}
		augment(w.mate, w.taken, w.exit, first)
	}
	for _, i := range w.taken {
		a := &m.arcs[i]
		if a.first >= 0 {
			c.set(a.first, color)
		}
		a.first++
		a.w--
	}
}

// takeUnits is take for single edges; it returns the remaining ones.
func (c *colorer) takeUnits(p *piece, e []unit, w *worker, k, color int32) []unit {
	if k == 1 {
		for u, x := range e {
			p.colors[u*p.degree+c.index(x)] = color
		}
		return e[:0]
	}
	src := c.random(k, color)
	w.unmatched(c.nodes)
	mate, exit, shift := w.mate, w.exit, c.shift&31
	for first := range int32(c.nodes) {
		u := first
		for {
			i := u*k + below(src, k)
			v := int32(e[i] >> shift)
			next := mate[v]
			if next == none && u == first { // most walks: nothing to move
				w.taken[u], mate[v] = i, u
				break
			}
			exit[u] = step{i, v}
			if u = next; u == none {
				augment(mate, w.taken, exit, first)
				break
			}
		}
	}
	rest := 0
	for u, i := range w.taken {
		p.colors[u*p.degree+c.index(e[i])] = color
		if from := int32(u) * k; k > 8 {
			rest += copy(e[rest:], e[from:i])
			rest += copy(e[rest:], e[i+1:from+k])
		} else {
			for j, x := range e[from : from+k] { // without a branch
				e[rest] = x
				rest += int(uint32((from+int32(j))^i+math.MaxInt32) >> 31)
			}
		}
	}
	return e[:rest]
}
