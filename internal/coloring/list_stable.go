package coloring

import (
	"cmp"
	"slices"
)

// stable colours by stable matchings, or returns nil if success is uncertain (Galvin, "The list
// chromatic index of a bipartite multigraph", JCTB 1995).
//
// Take a proper edge colouring c without lists. Let a left node prefer its edges of high c, a right
// node those of low c. For each color in turn, the uncoloured edges that allow it have a stable
// matching, and get the color. An edge left out is adjacent to one in the matching that an end
// prefers. There are r(e) = #(c above at its left end) + #(c below at its right end) preferred
// edges, so it is coloured before its list ends if r(e) < |list(e)|. That is computed for c and its
// mirror image. O(E·(Δ + colours)).
func (g *ListGraph) stable(seed uint64) *ListColoring {
	least := MaxListColors
	for i := range g.Edges {
		least = min(least, g.Edges[i].List.Len())
	}
	if 2*least < g.degree() { // hopeless for most graphs: r(e) is Δ/2 or so
		return nil
	}
	c, k := g.proper(seed)
	if !g.certain(c) {
		for i := range c {
			c[i] = int16(k-1) - c[i]
		}
		if !g.certain(c) {
			return nil
		}
	}
	return g.matchings(c)
}

func (g *ListGraph) certain(c []int16) bool {
	at := make([]ColorSet, g.Left+g.Right) // values of c
	for i, e := range g.Edges {
		at[e.U].Add(int(c[i]))
		at[g.Left+int(e.V)].Add(int(c[i]))
	}
	for i, e := range g.Edges {
		above := at[e.U].Without(upTo(int(c[i])))
		below := at[g.Left+int(e.V)].And(upTo(int(c[i]) - 1))
		if above.Len()+below.Len() >= e.List.Len() {
			return false
		}
	}
	return true
}

// upTo returns the colours 0..c.
func upTo(c int) ColorSet {
	var s ColorSet
	for i := range s {
		switch n := c + 1 - 64*i; {
		case n >= 64:
			s[i] = ^uint64(0)
		case n > 0:
			s[i] = 1<<n - 1
		}
	}
	return s
}

func (g *ListGraph) matchings(c []int16) *ListColoring {
	r := &ListColoring{Color: make([]int16, len(g.Edges))}
	order := make([]int32, len(g.Edges)) // by left node, most preferred first
	for i := range order {
		order[i], r.Color[i] = int32(i), none
	}
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(g.Edges[i].U, g.Edges[j].U), cmp.Compare(c[j], c[i]))
	})
	m := &proposer{g: g, c: c, order: order, next: make([]int32, g.Left), holds: make([]int32, g.Right)}
	colors := g.colors()
	for color := colors.Next(0); color >= 0; color = colors.Next(color + 1) {
		m.match(color, r.Color)
	}
	if slices.Contains(r.Color, none) {
		panic("coloring: stable matchings left an edge over") // contradicts Galvin's theorem
	}
	return r
}

// A proposer finds stable matchings by proposals from the left (Gale and Shapley).
type proposer struct {
	g     *ListGraph
	c     []int16
	order []int32
	next  []int32 // by left node: the index in order of its next proposal
	holds []int32 // by right node: the edge it holds
}

func (m *proposer) match(color int, out []int16) {
	for v := range m.holds {
		m.holds[v] = none
	}
	for i := len(m.order) - 1; i >= 0; i-- {
		m.next[m.g.Edges[m.order[i]].U] = int32(i)
	}
	for u := range m.next {
		m.propose(int32(u), color, out)
	}
	for _, e := range m.holds {
		if e != none {
			out[e] = int16(color)
		}
	}
}

// propose finds a place for left node u; a displaced node continues.
func (m *proposer) propose(u int32, color int, out []int16) {
	for i := m.next[u]; int(i) < len(m.order); i++ {
		e := m.order[i]
		edge := &m.g.Edges[e]
		if edge.U != u {
			return
		}
		if out[e] != none || !edge.List.Has(color) {
			continue
		}
		held := m.holds[edge.V]
		if held != none && m.c[held] < m.c[e] {
			continue
		}
		m.holds[edge.V], m.next[u] = e, i+1
		if held == none {
			return
		}
		u = m.g.Edges[held].U
		i = m.next[u] - 1
	}
}
