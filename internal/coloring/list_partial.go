package coloring

import "slices"

// A partial is a colouring of some edges. At a node a color has at most as many edges as it has
// room for, one unless rooms is called.
type partial struct {
	width int // above the highest color
	lefts int32
	edges []ListEdge
	color []int16    // of each edge, or none
	at    []int32    // by node·width + color: an edge with that color there, or none; left nodes first
	free  []ColorSet // by node: the colours with room there
	path  []int32

	room    []int32 // indexed like at: room for further edges; nil: one at most
	next    []int32 // with room, by 2·edge + side: the next edge of the color at the node
	flipped []bool  // with room, by edge: the edge is on the path
}

// begin forgets all edges. The nodes are free in all colours below width.
func (p *partial) begin(left, right, width int) {
	p.width, p.lefts, p.room = width, int32(left), nil
	p.edges, p.color = p.edges[:0], p.color[:0]
	p.at = sized(p.at, (left+right)*width)
	for i := range p.at {
		p.at[i] = none
	}
	p.free = sized(p.free, left+right)
	all := upTo(width - 1)
	for v := range p.free {
		p.free[v] = all
	}
}

// rooms sets how many edges of a color a node may have, left nodes first.
func (p *partial) rooms(of func(node, color int) int) {
	p.room = make([]int32, len(p.at))
	for i := range p.room {
		node, color := i/p.width, i%p.width
		if p.room[i] = int32(of(node, color)); p.room[i] <= 0 {
			p.free[node].Remove(color)
		}
	}
	p.next, p.flipped = sized(p.next, 2*len(p.edges)), sized(p.flipped, len(p.edges))
	clear(p.flipped)
}

func (p *partial) ends(e int32) (u, v int32) { return p.edges[e].U, p.lefts + p.edges[e].V }

func (p *partial) set(e int32, color int) {
	p.color[e] = int16(color)
	u, v := p.ends(e)
	if p.room != nil {
		p.enter(e, 0, u, color)
		p.enter(e, 1, v, color)
		return
	}
	p.at[int(u)*p.width+color], p.at[int(v)*p.width+color] = e, e
	p.free[u].Remove(color)
	p.free[v].Remove(color)
}

func (p *partial) clear(e int32) {
	color := int(p.color[e])
	p.color[e] = none
	u, v := p.ends(e)
	if p.room != nil {
		p.leave(e, 0, u, color)
		p.leave(e, 1, v, color)
		return
	}
	p.at[int(u)*p.width+color], p.at[int(v)*p.width+color] = none, none
	p.free[u].Add(color)
	p.free[v].Add(color)
}

func (p *partial) enter(e int32, side int, node int32, color int) {
	i := int(node)*p.width + color
	p.next[2*int(e)+side], p.at[i] = p.at[i], e
	if p.room[i]--; p.room[i] == 0 {
		p.free[node].Remove(color)
	}
}

func (p *partial) leave(e int32, side int, node int32, color int) {
	i := int(node)*p.width + color
	at := &p.at[i]
	for *at != e {
		at = &p.next[2*int(*at)+side]
	}
	*at = p.next[2*int(e)+side]
	if p.room[i]++; p.room[i] == 1 {
		p.free[node].Add(color)
	}
}

// choice returns the colours in the list of an edge with room at both ends. It avoids And, which
// loops over the words: with it, pinning a schedule takes a sixth longer.
func (p *partial) choice(e int32) ColorSet {
	u, v := p.ends(e)
	l, s, t := &p.edges[e].List, &p.free[u], &p.free[v]
	return ColorSet{l[0] & s[0] & t[0], l[1] & s[1] & t[1], l[2] & s[2] & t[2], l[3] & s[3] & t[3]}
}

// exchange swaps colours a and b on the path that starts at a node with an edge of color a, if all
// lists on it allow that. The node has room for an edge of color b, or is on a cycle of both
// colours.
func (p *partial) exchange(node int32, a, b int) bool {
	if p.room != nil {
		return p.trail(node, a, b)
	}
	p.path = p.path[:0]
	for want, other := a, b; ; want, other = other, want {
		e := p.at[int(node)*p.width+want]
		if e == none || len(p.path) > 0 && e == p.path[0] {
			break
		}
		if !p.edges[e].List.Has(other) {
			return false
		}
		p.path = append(p.path, e)
		u, v := p.ends(e)
		node = u + v - node
	}
	for _, e := range p.path {
		now := p.color[e] ^ int16(a^b)
		p.clear(e)
		p.color[e] = now
	}
	for _, e := range p.path {
		p.set(e, int(p.color[e]))
	}
	return true
}

// trail is exchange for nodes with room for several edges of a color: the path ends at a node with
// room, other than its start, and may pass a node again, but no edge.
func (p *partial) trail(node int32, a, b int) bool {
	start, first := &p.room[int(node)*p.width+a], node
	if *start > 0 {
		return true
	}
	*start-- // reserved for the new edge
	p.path = p.path[:0]
	ok := true
	for want, other := a, b; ; want, other = other, want {
		e := p.flippable(node, want, other)
		if ok = e != none; !ok {
			break
		}
		p.flip(e, other)
		p.path, p.flipped[e] = append(p.path, e), true
		u, v := p.ends(e)
		if node = u + v - node; p.room[int(node)*p.width+other] >= 0 {
			break
		}
	}
	for _, e := range slices.Backward(p.path) {
		if p.flipped[e] = false; !ok {
			p.flip(e, a^b^int(p.color[e]))
		}
	}
	if *start++; *start > 0 {
		p.free[first].Add(a)
	}
	return ok
}

func (p *partial) flip(e int32, color int) {
	p.clear(e)
	p.set(e, color)
}

// flippable returns an edge of a color at a node that allows another and is not on the path, or
// none.
func (p *partial) flippable(node int32, color, other int) int32 {
	side := 0
	if node >= p.lefts {
		side = 1
	}
	e := p.at[int(node)*p.width+color]
	for e != none && (p.flipped[e] || !p.edges[e].List.Has(other)) {
		e = p.next[2*int(e)+side]
	}
	return e
}
