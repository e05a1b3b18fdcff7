package coloring

import (
	"slices"
	"sync"
)

// A multigraph is a regular one with equally many nodes on both sides. The arcs of left node u are
// arcs[start[u]:start[u+1]].
type multigraph struct {
	nodes int
	start []int32
	arcs  []arc
}

// An arc is an edge, seen from its left node: w copies, numbered from first.
type arc struct{ v, w, first int32 }

// A part is some of the edges of a multigraph with the numbers of their nodes in it.
type part struct {
	edges       []Edge
	left, right []int32
}

func (m *multigraph) fill(nodes int, parts ...part) *multigraph {
	m.nodes, m.start = nodes, sized(m.start, nodes+1)
	clear(m.start)
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
	m.arcs = sized(m.arcs, int(m.start[nodes]))
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

// sized returns s, or a larger slice in its place, with n elements of any value.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

type colorer struct {
	nodes int
	shift uint // of the right node in a unit, below 32
	seed  uint64
	set   func(unit, color int32)
	idle  chan *worker // workers ready to start
}

// A worker is the working memory of one goroutine.
type worker struct {
	piece
	spare   []unit
	pair    []int32 // see cycles
	waiting []int32 // see cycles; 0 between calls
	mate    []int32 // matching: left node, by right node
	taken   []int32 // matching: edge, by left node
	exit    []step  // a walk's last exit from a left node
	halves  []*multigraph
	depth   int // halves in use
}

// forkSize is the number of edges below which a goroutine costs more than it saves.
const forkSize = 4096

// fork runs a and b, the two halves of a graph with edges edges, and returns when both have ended.
// An idle worker runs a while w runs b.
func (c *colorer) fork(edges int, w *worker, a, b func(*worker)) {
	if edges >= forkSize {
		select {
		case other := <-c.idle:
			var wg sync.WaitGroup
			wg.Go(func() {
				a(other)
				c.idle <- other
			})
			b(w)
			wg.Wait()
			return
		default:
		}
	}
	a(w)
	b(w)
}

// weighted colours a k-regular graph with the colours from color upwards. It turns to single edges
// when the weights no longer save memory and the numbers fit into units.
func (c *colorer) weighted(m *multigraph, w *worker, k, color int32) {
	units := int(k) * c.nodes
	if units <= 2*len(m.arcs) && uint64(k) <= 1<<c.shift {
		p := w.begin(c, k)
		c.expand(m, p)
		c.color(p, w, color)
		for i, id := range p.ids {
			if id >= 0 {
				c.set(id, p.colors[i])
			}
		}
		return
	}
	if k%2 == 1 {
		c.take(m, w, k, color)
		k--
		color++
	}
	if k == 0 {
		return
	}
	hi := c.halve(m, w)
	w.depth++
	c.fork(units, w,
		func(w *worker) { c.weighted(m, w, k/2, color) },
		func(w *worker) { c.weighted(hi, w, k/2, color+k/2) })
	w.depth--
}

// halve splits a graph of even degree into two of half the degree, itself and the one returned:
// each takes half of every weight. Each node has an even number of odd copies, which are Euler
// split.
func (c *colorer) halve(m *multigraph, w *worker) (hi *multigraph) {
	w.units = sized(w.units, len(m.arcs)) // here and below written in any case, and kept if so: without a branch
	n := 0
	for _, a := range m.arcs {
		w.units[n] = c.unit(a.v, 0)
		n += int(a.w & 1)
	}
	w.units = w.units[:n]
	side := append(w.cycles(c, w.units), 0) // read once more behind the last
	if w.depth == len(w.halves) {
		w.halves = append(w.halves, &multigraph{})
	}
	hi = w.halves[w.depth]
	hi.nodes, hi.start, hi.arcs = m.nodes, sized(hi.start, m.nodes+1), sized(hi.arcs, len(m.arcs))
	from, nLo, nHi, nOdd := int32(0), int32(0), int32(0), int32(0)
	for u := range m.nodes {
		end := m.start[u+1]
		m.start[u], hi.start[u] = nLo, nHi
		for _, a := range m.arcs[from:end] {
			odd := a.w & 1
			lo := a.w/2 + odd&(1-(side[nOdd&^1]^nOdd)&1)
			nOdd += odd
			m.arcs[nLo] = arc{a.v, lo, a.first} // never ahead of the reading position
			hi.arcs[nHi] = arc{a.v, a.w - lo, a.first + lo}
			nLo += int32(uint32(-lo) >> 31)
			nHi += int32(uint32(lo-a.w) >> 31)
		}
		from = end
	}
	m.start[m.nodes], hi.start[m.nodes] = nLo, nHi
	m.arcs, hi.arcs = m.arcs[:nLo], hi.arcs[:nHi]
	return hi
}

// A unit is a single edge of a piece, grouped by left node, which its index implies: k units for
// each node of a k-regular graph. It holds the right node, shifted, and the original index among
// the units of its left node.
type unit uint32

func (c *colorer) unit(v, index int32) unit { return unit(v)<<c.shift | unit(index) }

func (c *colorer) index(x unit) int { return int(x & (1<<c.shift - 1)) }

// A piece is a regular graph of single edges, and their colours.
type piece struct {
	degree int
	units  []unit  // degree for each left node
	colors []int32 // in the original order of units
	ids    []int32 // in the same order: the caller's numbers; negative for those not reported
}

// begin returns an empty piece of degree k in the worker's memory.
func (w *worker) begin(c *colorer, k int32) *piece {
	n := int(k) * c.nodes
	w.degree, w.units, w.colors, w.ids = int(k), sized(w.units, n)[:0], sized(w.colors, n), w.ids[:0]
	return &w.piece
}

func (c *colorer) expand(m *multigraph, p *piece) {
	p.ids = sized(p.ids, p.degree*c.nodes)[:0]
	for u := range m.nodes {
		j := int32(0)
		for _, a := range m.arcs[m.start[u]:m.start[u+1]] {
			for i := range a.w {
				p.units = append(p.units, c.unit(a.v, j))
				p.ids = append(p.ids, a.first+i)
				j++
			}
		}
	}
}

func (c *colorer) color(p *piece, w *worker, color int32) {
	w.spare = sized(w.spare, len(p.units))
	c.units(p, w, regular{p.units, w.spare, int32(p.degree), color})
}

// A regular part of a piece is k-regular, and its colours begin with color; buf is as long as e.
type regular struct {
	e, buf   []unit
	k, color int32
}

func (c *colorer) units(p *piece, w *worker, x regular) {
	if x.k%2 == 1 {
		x.e = c.takeUnits(p, x.e, w, x.k, x.color)
		x.k--
		x.color++
	}
	if x.k == 0 {
		return
	}
	if x.k == 2 {
		c.two(p, w.cycles(c, x.e), x)
		return
	}
	e, buf, half, k := x.e, x.buf, len(x.e)/2, x.k/2
	w.split(c, e, buf[:half], buf[half:len(e)])
	c.fork(len(e), w,
		func(w *worker) { c.units(p, w, regular{buf[:half], e[:half], k, x.color}) },
		func(w *worker) { c.units(p, w, regular{buf[half:len(e)], e[half:], k, x.color + k}) })
}

// two colours a 2-regular part by the sides of its edges.
func (c *colorer) two(p *piece, side []int32, x regular) {
	for u := range len(x.e) / 2 {
		first, of := x.color+side[2*u]&1, p.colors[u*p.degree:][:p.degree]
		of[c.index(x.e[2*u])] = first
		of[c.index(x.e[2*u+1])] = 2*x.color + 1 - first
	}
}

const none = -1

// split deals the edges of a graph with only even degrees into lo and hi such that every node has
// half of its edges in each (Euler split). O(E).
func (w *worker) split(c *colorer, e, lo, hi []unit) {
	side := w.cycles(c, e)
	for i := range lo {
		a, b := e[2*i], e[2*i+1]
		swap := (a ^ b) & -unit(side[2*i]&1) // without a branch, which would be mispredicted every other time
		lo[i], hi[i] = a^swap, b^swap
	}
}

// cycles decides the sides of the edges of a graph with only even degrees. Edges 2i and 2i+1 are a
// pair at their left node; edges are also paired at their right node. Each edge is in two pairs, so
// the pairs form even cycles, along which the edges go to lo and hi in turn. The result at index 2i
// is odd if edge 2i+1 goes to lo and edge 2i to hi, and else even.
//
// Edge i has index i+2 in pair, so that 0 stands for none in waiting (the edge without a pair yet,
// by right node) and takes unused writes: pairing needs no branch.
func (w *worker) cycles(c *colorer, e []unit) []int32 {
	w.pair = sized(w.pair, len(e)+2)
	if len(w.waiting) < c.nodes {
		w.waiting = make([]int32, c.nodes)
	}
	pair, waiting, shift := w.pair, w.waiting, c.shift&31
	for i, x := range e {
		at := int32(i + 2)
		wait := &waiting[x>>shift]
		j := *wait
		pair[at], pair[j] = j, at
		*wait = at & ((j - 1) >> 31)
	}
	for i := 2; i < len(pair); i += 2 {
		if pair[i] < 0 {
			continue
		}
		for j := int32(i); ; {
			next := pair[j^1]
			pair[j&^1] = -2 | j&1 // not a place
			if j = next; j == int32(i) {
				break
			}
		}
	}
	return pair[2:]
}
