package split

import (
	"slices"
)

// Grains are moves of several messages of a split at once.
type Grains struct {
	s     *Split
	size  []int32 // by sending leaf: messages moved at once, all for a destination or fewer
	Parts int     // in how many portions smaller than all for a destination the messages of two leaves may come
}

func NewGrains(s *Split) *Grains {
	g := &Grains{s: s, size: make([]int32, s.F.Leaves)}
	g.Set(slices.Max(s.F.R))
	return g
}

// Set lets moves take n messages, or all for a destination where there are fewer.
func (g *Grains) Set(n int) {
	for a := range g.size {
		g.size[a] = int32(min(n, g.s.F.R[a]))
	}
}

// can reports whether a grain between two nodes can move to another spine.
func (g *Grains) can(i, j, from, to int) bool {
	size, n := g.of(i, j), int32(g.s.F.R[min(i, j)])
	x := g.s.X[g.s.At(i, j):][:g.s.F.Spines]
	if size == 0 || x[from] < size || !g.s.F.Alive[g.s.F.Link(i%g.s.F.Leaves, to)] || !g.s.F.Alive[g.s.F.Link(j%g.s.F.Leaves, to)] {
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
	return parts <= g.Parts
}

// of returns the grain of the sending one of two nodes.
func (g *Grains) of(i, j int) int32 { return g.size[min(i, j)] }

// Lower moves grains until no link carries more than the ceiling. Where no chain helps it kicks a
// link, at most kicks times, and ends with the best split. It reports whether it succeeded.
func (g *Grains) Lower(ceiling, kicks int) bool {
	s := g.s
	s.Ceiling, s.Over = int32(ceiling), 0
	for i, l := range s.Load {
		s.Over += int(max(0, l-s.most(i)))
	}
	c := newChain(s, g)
	least, x, load := s.Over, slices.Clone(s.X), slices.Clone(s.Load)
	for failed := 0; s.Over > 0 && c.states <= maxStates; {
		node, spine := c.next()
		fits := kicks > 0 || c.s.Load[c.cursor] >= c.s.most(c.cursor)+g.size[node%c.f.Leaves] // no more than is over
		if fits && c.relieve(node, spine) {
			if s.Over < least {
				least = s.Over
				copy(x, s.X)
				copy(load, s.Load)
			}
			continue
		}
		if failed++; kicks == 0 && failed < len(s.Load) {
			c.cursor = (c.cursor + 1) % len(s.Load) // another link may be luckier
			continue
		}
		if failed >= kicks {
			break
		}
		c.kick(node, spine)
	}
	if s.Over > least {
		s.Over = least
		copy(s.X, x)
		copy(s.Load, load)
	}
	return s.Over == 0
}
