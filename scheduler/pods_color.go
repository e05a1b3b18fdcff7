package scheduler

import (
	"math/rand/v2"
	"slices"

	"evbench/internal/coloring"
)

// common returns the colours in both sets. And loops over the words: with it, pinning a
// schedule takes a sixth longer.
func common(s, t *coloring.ColorSet) coloring.ColorSet {
	return coloring.ColorSet{s[0] & t[0], s[1] & t[1], s[2] & t[2], s[3] & t[3]}
}

func allColors(n int) coloring.ColorSet {
	var s coloring.ColorSet
	for c := range n {
		s.Add(c)
	}
	return s
}

// A listColorer colours the edges of a small bipartite multigraph, each with a colour of its
// list, such that edges with a common end differ: the messages of one phase between pods with
// the top switches of a plane, or between leaves with planes. Each edge in turn gets a colour
// free at both ends, if need be after an exchange of two colours along an alternating path;
// what is left is tried by tabu search (Blöchliger and Zufferey's PARTIALCOL, for edges). It
// proves nothing: what it leaves may still be possible.
type listColorer struct {
	colors int
	edges  []listEdge
	color  []int32 // of each edge, or none
	left   side
	right  side
	path   []int32
	tabu   []int32
	random *rand.PCG
}

type listEdge struct {
	u, v int32
	list coloring.ColorSet
}

// A side is one side of the graph: which edge has a colour at a node, by
// node·colours + colour, and the colours of which none does.
type side struct {
	at   []int32
	free []coloring.ColorSet
}

func (s *side) reset(nodes, colors int) {
	s.at = slices.Grow(s.at[:0], nodes*colors)[:nodes*colors]
	for i := range s.at {
		s.at[i] = none
	}
	s.free = s.free[:0]
	all := allColors(colors)
	for range nodes {
		s.free = append(s.free, all)
	}
}

func (c *listColorer) start(left, right, colors int) {
	c.colors = colors
	c.edges, c.color = c.edges[:0], c.color[:0]
	c.left.reset(left, colors)
	c.right.reset(right, colors)
}

func (c *listColorer) add(u, v int, list coloring.ColorSet) {
	c.edges = append(c.edges, listEdge{int32(u), int32(v), list})
	c.color = append(c.color, none)
}

// run colours the graph with at most that many steps of tabu search and returns
// how many edges are left without a colour.
func (c *listColorer) run(steps int) int {
	var left []int32
	for e := range c.edges {
		if !c.insert(int32(e)) {
			left = append(left, int32(e))
		}
	}
	if len(left) == 0 || steps == 0 {
		return len(left)
	}
	return c.search(left, steps)
}

func (c *listColorer) set(e int32, color int) {
	x := c.edges[e]
	c.color[e] = int32(color)
	c.left.at[int(x.u)*c.colors+color], c.right.at[int(x.v)*c.colors+color] = e, e
	c.left.free[x.u].Remove(color)
	c.right.free[x.v].Remove(color)
}

func (c *listColorer) clear(e int32) {
	x, color := c.edges[e], int(c.color[e])
	c.color[e] = none
	c.left.at[int(x.u)*c.colors+color], c.right.at[int(x.v)*c.colors+color] = none, none
	c.left.free[x.u].Add(color)
	c.right.free[x.v].Add(color)
}

// insert colours an edge without taking a colour from another for good, and
// reports whether it could.
func (c *listColorer) insert(e int32) bool {
	x := c.edges[e]
	atU, atV := common(&x.list, &c.left.free[x.u]), common(&x.list, &c.right.free[x.v])
	both := common(&atU, &atV)
	if free := both.Next(0); free != none {
		c.set(e, free)
		return true
	}
	for a := atU.Next(0); a != none; a = atU.Next(a + 1) {
		for b := atV.Next(0); b != none; b = atV.Next(b + 1) {
			if c.exchange(&c.right, &c.left, x.v, a, b, false) {
				c.set(e, a)
				return true
			}
			if c.exchange(&c.left, &c.right, x.u, b, a, true) {
				c.set(e, b)
				return true
			}
		}
	}
	return false
}

// exchange swaps colours a and b on the path that starts at a node of one side
// with its edge of colour a, if all lists on it allow that. The node has no edge
// of colour b, or is on a cycle of the two.
func (c *listColorer) exchange(from, to *side, node int32, a, b int, left bool) bool {
	c.path = c.path[:0]
	for want, other := a, b; ; want, other = other, want {
		e := from.at[int(node)*c.colors+want]
		if e == none || len(c.path) > 0 && e == c.path[0] {
			break
		}
		if !c.edges[e].list.Has(other) {
			return false
		}
		c.path = append(c.path, e)
		node = c.edges[e].u
		if left {
			node = c.edges[e].v
		}
		from, to, left = to, from, !left
	}
	for _, e := range c.path {
		now := c.color[e] ^ int32(a^b)
		c.clear(e)
		c.color[e] = now
	}
	for _, e := range c.path {
		c.set(e, int(c.color[e]))
	}
	return true
}

func (c *listColorer) search(left []int32, steps int) int {
	c.tabu = slices.Grow(c.tabu[:0], len(c.edges)*c.colors)[:len(c.edges)*c.colors]
	clear(c.tabu)
	c.random = rand.NewPCG(uint64(len(c.edges)), uint64(left[0]))
	best, kept := len(left), slices.Clone(c.color)
	for step := int32(1); step <= int32(steps) && len(left) > 0; step++ {
		i := int(c.random.Uint64() % uint64(len(left)))
		e := left[i]
		color := c.choose(e, step)
		if color == none {
			continue
		}
		left[i] = left[len(left)-1]
		left = c.take(left[:len(left)-1], e, color, step)
		if len(left) < best {
			best, kept = len(left), slices.Clone(c.color)
		}
	}
	if len(left) > best {
		c.restore(kept)
	}
	return best
}

// choose returns the colour that the fewest neighbours of an edge hold, of those
// it may take now; equal ones by lot.
func (c *listColorer) choose(e int32, step int32) int {
	x := c.edges[e]
	best, least, ties := none, 3, uint64(0)
	for k := x.list.Next(0); k != none; k = x.list.Next(k + 1) {
		if c.tabu[int(e)*c.colors+k] > step {
			continue
		}
		held := 0
		if !c.left.free[x.u].Has(k) {
			held++
		}
		if !c.right.free[x.v].Has(k) {
			held++
		}
		if held > least {
			continue
		}
		if held < least {
			best, least, ties = k, held, 1
			continue
		}
		if ties++; c.random.Uint64()%ties == 0 {
			best = k
		}
	}
	return best
}

// take gives an edge a colour and returns left with the edges that lost it and
// found no other.
func (c *listColorer) take(left []int32, e int32, color int, step int32) []int32 {
	x := c.edges[e]
	for _, loser := range []int32{c.left.at[int(x.u)*c.colors+color], c.right.at[int(x.v)*c.colors+color]} {
		if loser == none || c.color[loser] != int32(color) {
			continue
		}
		c.clear(loser)
		c.tabu[int(loser)*c.colors+color] = step + 3 + int32(c.random.Uint64()%uint64(4+len(left)))
		left = append(left, loser)
	}
	c.set(e, color)
	rest := left[:0]
	for _, l := range left {
		if !c.insert(l) {
			rest = append(rest, l)
		}
	}
	return rest
}

func (c *listColorer) restore(color []int32) {
	for e, k := range c.color {
		if k != none {
			c.clear(int32(e))
		}
	}
	for e, k := range color {
		if k != none {
			c.set(int32(e), int(k))
		}
	}
}
