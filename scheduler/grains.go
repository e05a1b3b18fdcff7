package scheduler

import "slices"

// Grains are moves of several messages of a split at once.
type grains struct {
	s     *split
	size  []int32 // by sending leaf: messages moved at once, all for a destination or fewer
	parts int     // in how many portions smaller than all for a destination the messages of two leaves may come
}

func newGrains(s *split) *grains {
	g := &grains{s: s, size: make([]int32, s.f.leaves)}
	g.set(slices.Max(s.f.r))
	return g
}

// set lets moves take n messages, or all for a destination where there are fewer.
func (g *grains) set(n int) {
	for a := range g.size {
		g.size[a] = int32(min(n, g.s.f.r[a]))
	}
}

// can reports whether a grain between two nodes can move to another spine.
func (g *grains) can(i, j, from, to int) bool {
	size, n := g.of(i, j), int32(g.s.f.r[min(i, j)])
	x := g.s.x[g.s.at(i, j):][:g.s.f.spines]
	if size == 0 || x[from] < size || !g.s.f.alive[g.s.f.link(i%g.s.f.leaves, to)] || !g.s.f.alive[g.s.f.link(j%g.s.f.leaves, to)] {
		return false
	}
	if size == n {
		return true
	}
	parts := 0
	for k, v := range x {
		switch k {
		case from:
			v -= size
		case to:
			v += size
		}
		if v%n != 0 {
			parts++
		}
	}
	return parts <= g.parts
}

// of returns the grain of the sending one of two nodes.
func (g *grains) of(i, j int) int32 { return g.size[min(i, j)] }

// lower moves grains until no link carries more than the ceiling. Where no chain helps it kicks a
// link, at most kicks times, and ends with the best split. It reports whether it succeeded.
func (g *grains) lower(ceiling, kicks int) bool {
	s := g.s
	s.ceiling, s.over = int32(ceiling), 0
	for i, l := range s.load {
		s.over += int(max(0, l-s.most(i)))
	}
	c := newChain(s, g)
	least, x, load := s.over, slices.Clone(s.x), slices.Clone(s.load)
	for failed := 0; s.over > 0 && c.states <= maxStates; {
		node, spine := c.next()
		fits := kicks > 0 || c.s.load[c.cursor] >= c.s.most(c.cursor)+g.size[node%c.f.leaves] // no more than is over
		if fits && c.relieve(node, spine) {
			if s.over < least {
				least = s.over
				copy(x, s.x)
				copy(load, s.load)
			}
			continue
		}
		if failed++; kicks == 0 && failed < len(s.load) {
			c.cursor = (c.cursor + 1) % len(s.load) // another link may be luckier
			continue
		}
		if failed >= kicks {
			break
		}
		c.kick(node, spine)
	}
	if s.over > least {
		s.over = least
		copy(s.x, x)
		copy(s.load, load)
	}
	return s.over == 0
}
