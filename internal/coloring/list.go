package coloring

import (
	"math/bits"
	"slices"
)

// MaxListColors is the number of colours that lists may draw from: 0..255.
const MaxListColors = 256

type ColorSet [MaxListColors / 64]uint64

func (s *ColorSet) Add(color int) { s[color>>6] |= 1 << (color & 63) }

func (s *ColorSet) Remove(color int) { s[color>>6] &^= 1 << (color & 63) }

func (s *ColorSet) Has(color int) bool { return s[color>>6]>>(color&63)&1 == 1 }

func (s *ColorSet) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s ColorSet) And(t ColorSet) ColorSet {
	for i := range s {
		s[i] &= t[i]
	}
	return s
}

func (s ColorSet) Or(t ColorSet) ColorSet {
	for i := range s {
		s[i] |= t[i]
	}
	return s
}

func (s ColorSet) Without(t ColorSet) ColorSet {
	for i := range s {
		s[i] &^= t[i]
	}
	return s
}

// Next returns the first color of the set that is at least from, or -1.
func (s *ColorSet) Next(from int) int {
	for i := from >> 6; i < len(s); i++ {
		w := s[i]
		if i == from>>6 {
			w &= ^uint64(0) << (from & 63)
		}
		if w != 0 {
			return i<<6 + bits.TrailingZeros64(w)
		}
	}
	return none
}

// A ListEdge joins left node U and right node V. Its valid colors are in List.
type ListEdge struct {
	U, V int32
	List ColorSet
}

// A ListGraph is a bipartite multigraph in which every edge has a list of its valid colours;
// parallel edges are separate edges.
type ListGraph struct {
	Left, Right int
	Edges       []ListEdge
	// Room is how many edges of a color fit at a node; right node v is number Left + v. nil: one.
	Room func(node, color int) int
}

// ListOptions steer ListGraph.Color; the zero value works.
type ListOptions struct {
	// Seed chooses among the colourings.
	Seed uint64
	// Steps bounds the tabu search. 0 means 20,000; negative means none.
	Steps int
	// Nodes bounds the exact search. 0 means 20,000; negative means none.
	Nodes int
	// Partial asks for many coloured edges rather than a proof that not all can be coloured: there
	// is no certificate and no exact search.
	Partial bool
}

// An Outcome is the result of a list colouring.
type Outcome int

const (
	// Colored says that every edge has a color.
	Colored Outcome = iota
	// Impossible says that there is no colouring; the certificate gives the reason.
	Impossible
	// GaveUp says that the search ended at its bound: nothing is proven.
	GaveUp
)

type ListColoring struct {
	Outcome Outcome
	// Color is the color of each edge, or -1. Edges with a common end differ. All edges have one if
	// Outcome is Colored; otherwise many have, without a proof that no more could.
	Color       []int16
	Uncolored   int
	Certificate *Certificate // if Outcome is Impossible
}

// Color gives each edge a color of its list such that edges with a common end differ, or proves
// that this is impossible, or gives up. It tries, in this order:
//
//   - All lists equal, and room for one edge: König's theorem (Graph.Color).
//   - Every list longer than the number of edges that an orientation of the line graph puts before
//     its edge, likewise: stable matchings (Galvin), which then always succeed. This is so wherever
//     each list has as many colours as the largest degree.
//   - The part of a proper colouring without lists that the lists allow, then
//     greedily the edge with fewest colours left (DSATUR, Brélaz 1979).
//   - Hall certificates.
//   - Tabu search on partial colourings (Blöchliger and Zufferey 2008) with Kempe
//     chains, in a few rounds from different starts.
//   - Count certificates.
//   - Exact search: DSATUR with backtracking.
//
// List edge colouring is NP-complete, even for bipartite graphs; the two searches are bounded. The
// others cost O(E·(Δ + colours)), and O(open²) for the open edges at the start of the greedy step.
func (g *ListGraph) Color(o ListOptions) *ListColoring {
	if g.Room == nil || len(g.Edges) == 0 {
		if c := g.koenig(o.Seed); c != nil {
			return c
		}
		if c := g.stable(o.Seed); c != nil {
			return c
		}
	}
	s := g.start(o.Seed)
	if s.left() > 0 && !o.Partial {
		if c := g.crowded(); c != nil {
			return s.result(c)
		}
	}
	if s.left() > 0 {
		s = s.search(o.Seed, limit(o.Steps))
	}
	if s.left() == 0 || o.Partial {
		return s.result(nil)
	}
	if c := g.scarce(); c != nil {
		return s.result(c)
	}
	return g.exact(s, limit(o.Nodes))
}

func (g *ListGraph) start(seed uint64) *listState {
	s := newListState(g)
	s.seed(seed)
	s.greedy()
	return s
}

// search improves a partial colouring by tabu search, and tries others if it gets stuck. It returns
// the best.
func (s *listState) search(seed uint64, steps int) *listState {
	const rounds = 4
	best := s
	for i := uint64(0); i < rounds && best.left() > 0 && steps >= rounds; i++ {
		if i > 0 {
			s = s.g.start(seed + i<<16)
		}
		if s.tabu(seed+i, steps/rounds); s.left() < best.left() {
			best = s
		}
	}
	return best
}

// Extend colours the edges without a color (-1) in a proper partial colouring by exchanging two
// colours along alternating paths, and reports whether it coloured all. Otherwise color is
// unchanged. O(colours²·nodes) an edge.
func (g *ListGraph) Extend(color []int16) bool {
	s := newListState(g)
	for e, c := range color {
		if c != none {
			s.give(int32(e), int(c))
		}
	}
	for s.left() > 0 {
		if !s.kempe() {
			return false
		}
	}
	copy(color, s.color)
	return true
}

func limit(n int) int {
	if n == 0 {
		return 20_000
	}
	return max(n, 0)
}

// result returns the colouring found; a certificate shows that no better outcome exists.
func (s *listState) result(c *Certificate) *ListColoring {
	r := &ListColoring{Color: s.color, Uncolored: s.left(), Certificate: c}
	switch {
	case c != nil:
		r.Outcome = Impossible
	case r.Uncolored > 0:
		r.Outcome = GaveUp
	}
	return r
}

func (g *ListGraph) colors() ColorSet {
	var s ColorSet
	for i := range g.Edges {
		s = s.Or(g.Edges[i].List)
	}
	return s
}

func (g *ListGraph) room(node, color int) int {
	if g.Room == nil {
		return 1
	}
	return g.Room(node, color)
}

// degrees returns the number of edges at each node, the left ones first.
func (g *ListGraph) degrees() []int32 {
	d := make([]int32, g.Left+g.Right)
	for _, e := range g.Edges {
		d[e.U]++
		d[g.Left+int(e.V)]++
	}
	return d
}

// degree returns the largest number of edges at a node.
func (g *ListGraph) degree() int { return int(slices.Max(append(g.degrees(), 0))) }

// proper returns an edge colouring without lists, and its number of colours, the largest degree.
func (g *ListGraph) proper(seed uint64) ([]int16, int) {
	k := g.degree()
	h := &Graph{Left: g.Left, Right: g.Right, Edges: make([]Edge, len(g.Edges))}
	for i, e := range g.Edges {
		h.Edges[i] = Edge{U: e.U, V: e.V, N: 1, First: int32(i)}
	}
	color := make([]int16, len(g.Edges))
	h.Color(k, Options{Seed: seed}, func(unit, c int32) { color[unit] = int16(c) })
	return color, k
}

// koenig colours a graph whose lists are all equal and long enough, or returns nil.
func (g *ListGraph) koenig(seed uint64) *ListColoring {
	if len(g.Edges) == 0 {
		return &ListColoring{}
	}
	list := g.Edges[0].List
	if slices.ContainsFunc(g.Edges, func(e ListEdge) bool { return e.List != list }) || g.degree() > list.Len() {
		return nil
	}
	color, k := g.proper(seed)
	name := make([]int16, 0, k)
	for c := list.Next(0); len(name) < k; c = list.Next(c + 1) {
		name = append(name, int16(c))
	}
	for i, c := range color {
		color[i] = name[c]
	}
	return &ListColoring{Color: color}
}
