package coloring

import (
	"math/rand/v2"
	"slices"
)

// A Quick colours the edges of a small bipartite multigraph, each with a color of its list, such
// that edges with a common end differ: the messages of one phase between leaves with planes, or
// between pods with the top switches of a plane. Each edge in turn gets a color free at both ends,
// if necessary after an exchange of two colours along an alternating path. Tabu search tries the
// remaining edges (Blöchliger and Zufferey's PARTIALCOL, for edges). It proves nothing: an
// uncoloured edge may still have a colour. The zero value is ready for Start; its memory serves one
// graph after the other.
type Quick struct {
	partial
	tabu   []int32
	random *rand.PCG
}

// Start forgets all edges and sets the numbers of nodes and colours.
func (q *Quick) Start(left, right, colors int) { q.begin(left, right, colors) }

func (q *Quick) Add(u, v int, list ColorSet) {
	q.edges = append(q.edges, ListEdge{int32(u), int32(v), list})
	q.color = append(q.color, none)
}

// Edges returns the edges in the order in which they were added.
func (q *Quick) Edges() []ListEdge { return q.edges }

// Color returns the color of an edge, or -1.
func (q *Quick) Color(e int32) int { return int(q.color[e]) }

// Run colours the graph with at most steps steps of tabu search and returns the number of edges
// without a color.
func (q *Quick) Run(steps int) int {
	var left []int32
	for e := range q.edges {
		if !q.insert(int32(e)) {
			left = append(left, int32(e))
		}
	}
	if len(left) == 0 || steps == 0 {
		return len(left)
	}
	return q.search(left, steps)
}

// insert colours an edge without taking a color from another for good, and reports whether it
// succeeded.
func (q *Quick) insert(e int32) bool {
	both := q.choice(e)
	if free := both.Next(0); free != none {
		q.set(e, free)
		return true
	}
	list := &q.edges[e].List
	u, v := q.ends(e)
	atU, atV := list.And(q.free[u]), list.And(q.free[v])
	for a := atU.Next(0); a != none; a = atU.Next(a + 1) {
		for b := atV.Next(0); b != none; b = atV.Next(b + 1) {
			if q.exchange(v, a, b) {
				q.set(e, a)
				return true
			}
			if q.exchange(u, b, a) {
				q.set(e, b)
				return true
			}
		}
	}
	return false
}

// Swap exchanges the color of an edge with another along their path, or cycle, and returns a
// function that undoes it; nil if a list forbids it.
func (q *Quick) Swap(e int32, other int) (undo func()) {
	node, first, second := q.end(e, q.Color(e), other)
	if !q.exchange(node, first, second) {
		return nil
	}
	return func() { q.exchange(node, second, first) }
}

// end returns an end of the path of two colours through an edge of the first, with
// the color of the edge there first; on a cycle, the left end of the edge.
func (q *Quick) end(e int32, a, b int) (node int32, first, second int) {
	for node, _ = q.ends(e); ; a, b = b, a {
		next := q.at[int(node)*q.width+b]
		if next == none {
			return node, a, b
		}
		u, v := q.ends(next)
		if next == e {
			return u, int(q.color[e]), int(q.color[e]) ^ a ^ b
		}
		node = u + v - node
	}
}

func (q *Quick) search(left []int32, steps int) int {
	q.tabu = sized(q.tabu, len(q.edges)*q.width)
	clear(q.tabu)
	q.random = rand.NewPCG(uint64(len(q.edges)), uint64(left[0]))
	best, kept := len(left), slices.Clone(q.color)
	for step := int32(1); step <= int32(steps) && len(left) > 0; step++ {
		i := int(q.random.Uint64() % uint64(len(left)))
		e := left[i]
		color := q.choose(e, step)
		if color == none {
			continue
		}
		left[i] = left[len(left)-1]
		left = q.take(left[:len(left)-1], e, color, step)
		if len(left) < best {
			best, kept = len(left), slices.Clone(q.color)
		}
	}
	if len(left) > best {
		q.restore(kept)
	}
	return best
}

// choose returns the permitted color that the fewest neighbours of an edge would lose; a draw
// decides ties.
func (q *Quick) choose(e int32, step int32) int {
	x := q.edges[e]
	u, v := q.ends(e)
	best, least, ties := none, 3, uint64(0)
	for k := x.List.Next(0); k != none; k = x.List.Next(k + 1) {
		if q.tabu[int(e)*q.width+k] > step {
			continue
		}
		held := 0
		if !q.free[u].Has(k) {
			held++
		}
		if !q.free[v].Has(k) {
			held++
		}
		if held > least {
			continue
		}
		if held < least {
			best, least, ties = k, held, 1
			continue
		}
		if ties++; q.random.Uint64()%ties == 0 {
			best = k
		}
	}
	return best
}

// take gives an edge a color and returns left with the edges that lost it without a replacement.
func (q *Quick) take(left []int32, e int32, color int, step int32) []int32 {
	u, v := q.ends(e)
	for _, node := range [2]int32{u, v} {
		if q.free[node].Has(color) {
			continue
		}
		loser := q.at[int(node)*q.width+color]
		q.clear(loser)
		q.tabu[int(loser)*q.width+color] = step + 3 + int32(q.random.Uint64()%uint64(4+len(left)))
		left = append(left, loser)
	}
	q.set(e, color)
	rest := left[:0]
	for _, l := range left {
		if !q.insert(l) {
			rest = append(rest, l)
		}
	}
	return rest
}

func (q *Quick) restore(color []int16) {
	for e, k := range q.color {
		if k != none {
			q.clear(int32(e))
		}
	}
	for e, k := range color {
		if k != none {
			q.set(int32(e), int(k))
		}
	}
}
