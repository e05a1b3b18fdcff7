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
	lefts  int32 // nodes of the left side; those of the right follow
	edges  []listEdge
	color  []int32             // of each edge, or none
	at     []int32             // by node·colors + colour: the edge that has it there, or none
	free   []coloring.ColorSet // by node: the colours that no edge has there
	path   []int32
	tabu   []int32
	random *rand.PCG
}

type listEdge struct {
	u, v int32
	list coloring.ColorSet
}

func (c *listColorer) start(left, right, colors int) {
	c.colors, c.lefts = colors, int32(left)
	c.edges, c.color, c.free = c.edges[:0], c.color[:0], c.free[:0]
	n := (left + right) * colors
	c.at = slices.Grow(c.at[:0], n)[:n]
	for i := range c.at {
		c.at[i] = none
	}
	all := allColors(colors)
	for range left + right {
		c.free = append(c.free, all)
	}
}

func (c *listColorer) add(u, v int, list coloring.ColorSet) {
	c.edges = append(c.edges, listEdge{int32(u), int32(v), list})
	c.color = append(c.color, none)
}

// ends returns the nodes of an edge.
func (c *listColorer) ends(e int32) (u, v int32) { return c.edges[e].u, c.lefts + c.edges[e].v }

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
	c.color[e] = int32(color)
	u, v := c.ends(e)
	c.at[int(u)*c.colors+color], c.at[int(v)*c.colors+color] = e, e
	c.free[u].Remove(color)
	c.free[v].Remove(color)
}

func (c *listColorer) clear(e int32) {
	color := int(c.color[e])
	c.color[e] = none
	u, v := c.ends(e)
	c.at[int(u)*c.colors+color], c.at[int(v)*c.colors+color] = none, none
	c.free[u].Add(color)
	c.free[v].Add(color)
}

// insert colours an edge without taking a colour from another for good, and
// reports whether it could.
func (c *listColorer) insert(e int32) bool {
	list := &c.edges[e].list
	u, v := c.ends(e)
	atU, atV := common(list, &c.free[u]), common(list, &c.free[v])
	both := common(&atU, &atV)
	if free := both.Next(0); free != none {
		c.set(e, free)
		return true
	}
	for a := atU.Next(0); a != none; a = atU.Next(a + 1) {
		for b := atV.Next(0); b != none; b = atV.Next(b + 1) {
			if c.exchange(v, a, b) {
				c.set(e, a)
				return true
			}
			if c.exchange(u, b, a) {
				c.set(e, b)
				return true
			}
		}
	}
	return false
}

// exchange swaps colours a and b on the path that starts at a node with its edge of colour a, if
// all lists on it allow that. The node has no edge of colour b, or is on a cycle of the two.
func (c *listColorer) exchange(node int32, a, b int) bool {
	c.path = c.path[:0]
	for want, other := a, b; ; want, other = other, want {
		e := c.at[int(node)*c.colors+want]
		if e == none || len(c.path) > 0 && e == c.path[0] {
			break
		}
		if !c.edges[e].list.Has(other) {
			return false
		}
		c.path = append(c.path, e)
		u, v := c.ends(e)
		node = u + v - node
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

// end returns an end of the path of two colours through an edge of the first, with
// the colour of the edge there first; on a cycle, the left end of the edge.
func (c *listColorer) end(e int32, a, b int) (node int32, first, second int) {
	for node, _ = c.ends(e); ; a, b = b, a {
		next := c.at[int(node)*c.colors+b]
		if next == none {
			return node, a, b
		}
		u, v := c.ends(next)
		if next == e {
			return u, int(c.color[e]), int(c.color[e]) ^ a ^ b
		}
		node = u + v - node
	}
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
	u, v := c.ends(e)
	best, least, ties := none, 3, uint64(0)
	for k := x.list.Next(0); k != none; k = x.list.Next(k + 1) {
		if c.tabu[int(e)*c.colors+k] > step {
			continue
		}
		held := 0
		if !c.free[u].Has(k) {
			held++
		}
		if !c.free[v].Has(k) {
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

// take gives an edge a colour and returns left with the edges that lost it and found no other.
func (c *listColorer) take(left []int32, e int32, color int, step int32) []int32 {
	u, v := c.ends(e)
	for _, loser := range []int32{c.at[int(u)*c.colors+color], c.at[int(v)*c.colors+color]} {
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
