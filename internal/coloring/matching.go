package coloring

import (
	"math/bits"
	"math/rand/v2"
)

// A step is the exit of a walk from a left node: its edge and its right node.
type step struct{ edge, v int32 }

// match finds a perfect matching of a regular graph: s.taken[u] is the edge of left node u,
// s.mate[v] the left node of right node v. pick returns a random edge of u.
//
// From each free left node, a random walk takes a random edge to the right and the matched edge
// back until it meets a free right node. The last exits of its nodes are the walk without its
// loops: an augmenting path. Expected O(n log n) steps in all (Goel, Kapralov, Khanna).
func (s *worker) match(nodes int, pick func(u int32) step) {
	s.mate, s.taken, s.exit = sized(s.mate, nodes), sized(s.taken, nodes), sized(s.exit, nodes)
	for v := range s.mate {
		s.mate[v] = none
	}
	for u := range s.mate {
		for w := int32(u); w != none; {
			s.exit[w] = pick(w)
			w = s.mate[s.exit[w].v]
		}
		for w := int32(u); w != none; {
			x := s.exit[w]
			s.taken[w] = x.edge
			w, s.mate[x.v] = s.mate[x.v], w
		}
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
	w.match(c.nodes, func(u int32) step {
		r := below(src, k)
		i := m.start[u]
		for ; r >= m.arcs[i].w; i++ {
			r -= m.arcs[i].w
		}
		return step{i, m.arcs[i].v}
	})
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
	w.match(c.nodes, func(u int32) step {
		i := u*k + below(src, k)
		return step{i, int32(e[i] >> c.shift)}
	})
	rest := e[:0]
	for u, i := range w.taken {
		p.colors[u*p.degree+c.index(e[i])] = color
		rest = append(rest, e[int32(u)*k:i]...)
		rest = append(rest, e[i+1:int32(u+1)*k]...)
	}
	return rest
}
