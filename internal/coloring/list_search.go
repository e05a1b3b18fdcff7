package coloring

import (
	"math/rand/v2"
	"slices"
)

// A listState is a partial colouring of a graph, with its open edges.
type listState struct {
	partial
	g      *ListGraph
	colors ColorSet // of all lists
	open   []int32  // edges without a color, in no order
	place  []int32  // by edge: its index in open, or none
}

func newListState(g *ListGraph) *listState {
	s := &listState{g: g, colors: g.colors(), open: make([]int32, len(g.Edges)), place: make([]int32, len(g.Edges))}
	width := 0
	for c := s.colors.Next(0); c >= 0; c = s.colors.Next(c + 1) {
		width = c + 1
	}
	s.begin(g.Left, g.Right, width)
	s.edges, s.color = g.Edges, make([]int16, len(g.Edges))
	if g.Room != nil {
		s.rooms(g.Room)
	}
	for i := range s.color {
		s.color[i], s.open[i], s.place[i] = none, int32(i), int32(i)
	}
	return s
}

func (s *listState) left() int { return len(s.open) }

// give colours an open edge with a color free at both ends.
func (s *listState) give(e int32, color int) {
	s.set(e, color)
	last := s.open[len(s.open)-1]
	s.open[s.place[e]], s.place[last] = last, s.place[e]
	s.open, s.place[e] = s.open[:len(s.open)-1], none
}

func (s *listState) take(e int32) {
	s.clear(e)
	s.place[e] = int32(len(s.open))
	s.open = append(s.open, e)
}

// greedy colours open edges as long as one has a color left. O(open²).
func (s *listState) greedy() {
	for e, color := s.urgent(); e != none; e, color = s.urgent() {
		s.give(e, color)
	}
}

// seed takes colours from a proper colouring without lists. Its classes are matchings; each gets
// the remaining color that most of its edges allow, the class with the most to lose first.
func (s *listState) seed(seed uint64) {
	class, k := s.g.proper(seed)
	allow := make([]int32, k*s.width) // edges of a class that allow a color
	for i := range s.g.Edges {
		list := s.g.Edges[i].List
		for c := list.Next(0); c >= 0; c = list.Next(c + 1) {
			allow[int(class[i])*s.width+c]++
		}
	}
	color := make([]int, k)
	free := s.g.colors()
	for i := range color {
		color[i] = none
		for c := free.Next(0); c >= 0; c = free.Next(c + 1) {
			if color[i] == none || allow[i*s.width+c] > allow[i*s.width+color[i]] {
				color[i] = c
			}
		}
		if color[i] != none {
			free.Remove(color[i])
		}
	}
	for i := range s.g.Edges {
		if c := color[class[i]]; c != none && s.g.Edges[i].List.Has(c) {
			s.give(int32(i), c)
		}
	}
}

// kempe colours an open edge by exchanging two colours along an alternating path (Kempe chain), and
// reports whether it succeeded. It tries the edges opened last.
func (s *listState) kempe() bool {
	for i := len(s.open) - 1; i >= max(0, len(s.open)-chainEdges); i-- {
		e := s.open[i]
		u, v := s.ends(e)
		if s.chain(e, u, v) || s.chain(e, v, u) {
			return true
		}
	}
	return false
}

const chainEdges = 8 // more open edges hardly ever have a chain that fewer have not

// chain finds a color that is free at one end of e and can be freed at the other.
func (s *listState) chain(e, near, far int32) bool {
	here := s.edges[e].List.And(s.free[near])
	there := s.colors.And(s.free[far])
	for c := here.Next(0); c >= 0; c = here.Next(c + 1) {
		for d := there.Next(0); d >= 0; d = there.Next(d + 1) {
			if s.exchange(far, c, d) {
				s.give(e, c)
				return true
			}
		}
	}
	return false
}

// urgent returns the open edge with the fewest colours left, at least one, and the first of them;
// none if no edge can be coloured. O(open).
func (s *listState) urgent() (edge int32, color int) {
	edge, best := int32(none), MaxListColors+1
	for _, e := range s.open {
		left := s.choice(e)
		if n := left.Len(); n > 0 && n < best {
			edge, best, color = e, n, left.Next(0)
		}
	}
	return edge, color
}

// tabu colours an open edge in each step: one whose neighbours lose the fewest colours for it. It
// forbids the losers their color for 20 to 79 steps and one more for each open edge. If an exchange
// of colours suffices, no edge loses its color. It leaves the best partial colouring found in s.
// This is PartialCol (Blöchliger and Zufferey 2008) with Kempe chains and longer tabus: short ones
// ran in circles. O(open·colours) a step.
func (s *listState) tabu(seed uint64, steps int) {
	rng := rand.New(rand.NewPCG(seed, uint64(len(s.color))))
	until := make([]int32, len(s.color)*s.width) // by edge·width + color
	best, bestColor := s.left(), slices.Clone(s.color)
	for step := int32(1); int(step) <= steps && s.left() > 0; step++ {
		if s.kempe() {
			continue
		}
		if s.left() < best {
			best = s.left()
			copy(bestColor, s.color)
		}
		m, ok := s.move(rng, until, step, best)
		if !ok {
			continue
		}
		for _, f := range m.losers() {
			s.take(f)
			until[int(f)*s.width+m.color] = step + int32(20+rng.IntN(60)) + int32(s.left())
		}
		s.give(m.edge, m.color)
	}
	if s.left() > best {
		s.restore(bestColor)
	}
}

// A listMove gives an edge a color that its neighbours a and b, if any, lose.
type listMove struct {
	edge, a, b int32
	color      int
}

func (m listMove) losers() []int32 {
	switch {
	case m.a == none && m.b == none:
		return nil
	case m.a == none || m.a == m.b:
		return []int32{m.b}
	case m.b == none:
		return []int32{m.a}
	}
	return []int32{m.a, m.b}
}

// move draws one of the best moves that are allowed, or that lead to fewer open edges than ever.
func (s *listState) move(rng *rand.Rand, until []int32, step int32, best int) (listMove, bool) {
	var m listMove
	found, ties := 4, 0
	for _, e := range s.open {
		u, v := s.ends(e)
		list := s.g.Edges[e].List
		for c := list.Next(0); c >= 0; c = list.Next(c + 1) {
			a, b := s.loser(u, c), s.loser(v, c)
			cost := 0
			if a != none {
				cost++
			}
			if b != none && b != a {
				cost++
			}
			if cost > found || until[int(e)*s.width+c] >= step && len(s.open)-1+cost >= best {
				continue
			}
			if cost < found {
				found, ties = cost, 0
			}
			if ties++; rng.IntN(ties) == 0 {
				m = listMove{e, a, b, c}
			}
		}
	}
	return m, ties > 0
}

// loser returns the edge of a color that a node must uncolour for another, or none.
func (s *listState) loser(node int32, color int) int32 {
	if s.free[node].Has(color) {
		return none
	}
	return s.at[int(node)*s.width+color]
}

func (s *listState) restore(color []int16) {
	for e, c := range s.color {
		if c != none && color[e] != c {
			s.take(int32(e))
		}
	}
	for e, c := range color {
		if c != none && s.color[e] == none {
			s.give(int32(e), int(c))
		}
	}
}

// exact searches all colourings, the edge with fewest colours left first. If the search completes
// it returns the result, otherwise best.
func (g *ListGraph) exact(best *listState, nodes int) *ListColoring {
	x := &listSearch{listState: newListState(g), nodes: nodes}
	switch {
	case x.run():
		return x.result(nil)
	case x.nodes >= 0:
		return best.result(&Certificate{Kind: Exhausted, Edges: g.all(), Colors: g.colors()})
	}
	return best.result(nil)
}

type listSearch struct {
	*listState
	nodes int // still allowed; negative when used up
}

// run reports whether it has coloured all open edges.
func (x *listSearch) run() bool {
	if x.left() == 0 {
		return true
	}
	if x.nodes--; x.nodes < 0 {
		return false
	}
	edge, fewest := int32(none), MaxListColors+1
	var choice ColorSet
	for _, e := range x.open {
		if left := x.choice(e); left.Len() < fewest {
			edge, fewest, choice = e, left.Len(), left
		}
	}
	for c := choice.Next(0); c >= 0; c = choice.Next(c + 1) {
		x.give(edge, c)
		if x.run() {
			return true
		}
		x.take(edge)
		if x.nodes < 0 {
			return false
		}
	}
	return false
}
