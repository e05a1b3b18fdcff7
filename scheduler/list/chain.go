package list

import (
	"fmt"
	"math"
	"slices"

	"evbench/internal/lists"
	"evbench/topology"
)

// A Chain is windows of one tree that follow one another. It knows the last piece on each port and
// link, in any window, and when that piece ends as planned.
type Chain struct {
	tree    *topology.Tree
	windows int32
	last    []use   // by wire
	took    []int32 // by rank, pieces received so far
	free    []int64 // by wire, when it is free for the next window, which begins at 0; nil: at 0
}

// A use is the last piece on a wire.
type use struct {
	window, piece int32 // windows count from 1; 0: none
	take          int32 // number among all that dst receives
	src, dst      uint16
}

// A Token tells the sender of a piece that another has been received.
type Token struct {
	Back  int32 // how many windows ago that one is planned, 0: in this one
	Piece int32 // its place in the Pieces of its window
	Rank  int32 // its receiver, which sends the token
	// Take numbers what Rank receives: 0 is the first of this window, -1 the last of those before.
	Take int32
}

// NewChain returns a chain without windows: the network is quiet.
func NewChain(t *topology.Tree) *Chain {
	return &Chain{tree: t, last: make([]use, t.AllWires()), took: make([]int32, t.Servers())}
}

// Tree returns the tree of all windows.
func (c *Chain) Tree() *topology.Tree { return c.tree }

// Add appends a plan. It returns, for each piece in the order of Pieces, the tokens that its sender
// awaits, five at most: of the pieces before it on its receive port and the links of its path. No
// token comes twice, and none is the sender's own: it sends in the order of Pieces. A token that
// the sender received itself needs no message.
func (c *Chain) Add(p *Plan) [][]Token {
	c.windows++
	first := slices.Clone(c.took)
	out := make([][]Token, len(p.placed))
	for k, x := range p.placed {
		now := use{c.windows, int32(k), c.took[x.dst], x.src, x.dst}
		c.took[x.dst]++
		for _, w := range p.wires(x) {
			u := c.last[w]
			c.last[w] = now
			t := Token{c.windows - u.window, u.piece, int32(u.dst), u.take - first[u.dst]}
			if u.window > 0 && u.src != x.src && !slices.Contains(out[k], t) {
				out[k] = append(out[k], t)
			}
		}
	}
	c.free = p.leaves()
	return out
}

// wires returns the wires that a piece occupies: its receive port and links, but not its send port.
func (p *Plan) wires(x placed) []topology.Wire {
	i, j := int(x.src), int(x.dst)
	wires := append(make([]topology.Wire, 0, maxWires), p.Tree.ToServer(j))
	if x.path != noPath {
		wires = between(p.Tree.Wires, wires, p.Tree.Leaf(i), p.Tree.Leaf(j), int(x.path))
	}
	return wires
}

// leaves returns when each wire is free, measured from the start of the next window: the moment at
// which the first server has sent all its pieces.
func (p *Plan) leaves() []int64 {
	begin := int64(math.MaxInt64)
	for _, x := range p.placed {
		begin = min(begin, p.free[p.Tree.FromServer(int(x.src))])
	}
	return lists.Map(p.free, func(end int64) int64 { return max(0, end-begin) })
}

// after returns when wires are free for a window of that tree; nil: all are.
func (c *Chain) after(t *topology.Tree) ([]int64, error) {
	if c == nil {
		return nil, nil
	}
	if c.tree != t {
		return nil, fmt.Errorf("%s: the windows before are planned for another tree", t.Notation())
	}
	return c.free, nil
}
