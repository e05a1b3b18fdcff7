package coloring

import (
	"slices"
	"sync"
)

// A multigraph is a regular one with equally many nodes on both sides. The arcs
// of left node u are arcs[start[u]:start[u+1]].
type multigraph struct {
	nodes int
	start []int32
	arcs  []arc
}

// An arc is an edge, seen from its left node: w copies, units first upwards.
type arc struct{ v, w, first int32 }

// A part is some of the edges of a multigraph and the numbers of their nodes in it.
type part struct {
	edges       []Edge
	left, right []int32
}

func newMultigraph(nodes int, parts ...part) *multigraph {
	m := &multigraph{nodes: nodes, start: make([]int32, nodes+1)}
	for _, p := range parts {
		for _, e := range p.edges {
			if e.N > 0 {
				m.start[p.left[e.U]+1]++
			}
		}
	}
	for u := range nodes {
		m.start[u+1] += m.start[u]
	}
	m.arcs = make([]arc, m.start[nodes])
	next := slices.Clone(m.start)
	for _, p := range parts {
		for _, e := range p.edges {
			if e.First < 0 {
				e.First = unreported
			}
			if u := p.left[e.U]; e.N > 0 {
				m.arcs[next[u]] = arc{p.right[e.V], e.N, e.First}
				next[u]++
			}
		}
	}
	return m
}

// A unit is a single edge, grouped by left node, which is therefore implied by
// its index: k units for each node of a k-regular graph.
type unit struct{ v, id int32 }

type colorer struct {
	nodes int
	seed  uint64
	set   func(unit, color int32)
	idle  chan struct{} // one token for each goroutine that may be started
}

// forkSize is the number of edges below which a goroutine costs more than it saves.
const forkSize = 4096

// fork runs a and b, the two halves of a graph with that many edges, and returns
// when both have ended. When a worker is idle it gets a, which is told so: the
// two then run at the same time.
func (c *colorer) fork(edges int, a func(apart bool), b func()) {
	if edges >= forkSize {
		select {
		case <-c.idle:
			var wg sync.WaitGroup
			wg.Go(func() {
				a(true)
				c.idle <- struct{}{}
			})
			b()
			wg.Wait()
			return
		default:
		}
	}
	a(false)
	b()
}

// weighted colours a k-regular graph with the colours from color upwards. It
// turns to single edges when the weights no longer save anything; this is so at
// k = 2 at the latest, as each left node has an arc.
func (c *colorer) weighted(m *multigraph, k, color int32) {
	units := int(k) * c.nodes
	if units <= 2*len(m.arcs) {
		e := m.expand(units)
		c.units(e, make([]unit, units), c.newScratch(units), k, color)
		return
	}
	if k%2 == 1 {
		c.take(m, k, color)
		k--
		color++
	}
	a, b := m.halve(c.newScratch(len(m.arcs)))
	c.fork(units,
		func(bool) { c.weighted(a, k/2, color) },
		func() { c.weighted(b, k/2, color+k/2) })
}

func (m *multigraph) expand(units int) []unit {
	e := make([]unit, 0, units)
	for _, a := range m.arcs {
		for i := range a.w {
			e = append(e, unit{a.v, a.first + i})
		}
	}
	return e
}

// halve splits a graph of even degree into two of half the degree: each takes
// half of every weight, and the odd copies, of which every node has an even
// number, are Euler split.
func (m *multigraph) halve(s *scratch) (lo, hi *multigraph) {
	var odd []unit
	for i, a := range m.arcs {
		if a.w%2 == 1 {
			odd = append(odd, unit{a.v, int32(i)})
		}
	}
	buf := make([]unit, len(odd))
	s.split(odd, buf[:len(odd)/2], buf[len(odd)/2:])
	more := make([]bool, len(m.arcs)) // the odd copy goes to lo
	for _, x := range buf[:len(odd)/2] {
		more[x.id] = true
	}
	lo = &multigraph{m.nodes, make([]int32, m.nodes+1), make([]arc, 0, len(m.arcs))}
	hi = &multigraph{m.nodes, make([]int32, m.nodes+1), make([]arc, 0, len(m.arcs))}
	for u := range m.nodes {
		for i := m.start[u]; i < m.start[u+1]; i++ {
			a := m.arcs[i]
			w := a.w / 2
			if more[i] {
				w++
			}
			lo.add(arc{a.v, w, a.first})
			hi.add(arc{a.v, a.w - w, a.first + w})
		}
		lo.start[u+1], hi.start[u+1] = int32(len(lo.arcs)), int32(len(hi.arcs))
	}
	return lo, hi
}

func (m *multigraph) add(a arc) {
	if a.w > 0 {
		m.arcs = append(m.arcs, a)
	}
}

// units colours a k-regular graph of single edges; buf is as long as e.
func (c *colorer) units(e, buf []unit, s *scratch, k, color int32) {
	if k%2 == 1 {
		e = c.takeUnits(e, s, k, color)
		k--
		color++
	}
	if k == 0 {
		return
	}
	half := len(e) / 2
	s.split(e, buf[:half], buf[half:len(e)])
	k /= 2
	c.fork(len(e),
		func(apart bool) {
			own := s
			if apart {
				own = c.newScratch(half)
			}
			c.units(buf[:half], e[:half], own, k, color)
		},
		func() { c.units(buf[half:len(e)], e[half:], s, k, color+k) })
}

// scratch is the working memory of one goroutine.
type scratch struct {
	pair    []int32 // the other edge of a pair at its right node, by edge
	waiting []int32 // the edge that still looks for its pair, by right node; none between calls
	mate    []int32 // matching: left node, by right node
	taken   []int32 // matching: edge, by left node
	exit    []step  // how a walk last left a left node
}

const none = -1

func (c *colorer) newScratch(edges int) *scratch {
	n := c.nodes
	buf := make([]int32, edges+3*n)
	s := &scratch{
		pair: buf[:edges], waiting: buf[edges : edges+n],
		mate: buf[edges+n : edges+2*n], taken: buf[edges+2*n:], exit: make([]step, n),
	}
	for v := range s.waiting {
		s.waiting[v] = none
	}
	return s
}

// split deals the edges of a graph in which every node has an even degree into
// lo and hi such that every node keeps half of its edges in each (Euler split).
// Edges 2i and 2i+1 are a pair at their left node; edges are also paired at
// their right node. Each edge is in two pairs, so the pairs form even cycles,
// along which the edges go to lo and hi in turn. O(E).
func (s *scratch) split(e, lo, hi []unit) {
	pair := s.pair[:len(e)]
	for i, x := range e {
		j := s.waiting[x.v]
		if j == none {
			s.waiting[x.v] = int32(i)
			continue
		}
		pair[i], pair[j] = j, int32(i)
		s.waiting[x.v] = none
	}
	for i := 0; i < len(e); i += 2 {
		for j := int32(i); pair[j] != none; {
			other := j ^ 1
			lo[j>>1], hi[j>>1] = e[j], e[other]
			next := pair[other]
			pair[j], pair[other] = none, none
			j = next
		}
	}
}
