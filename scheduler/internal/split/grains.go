package split

import "slices"

// Grains are moves of several messages of a split at once.
type Grains struct {
	s     *Split
	size  []int32 // by sending leaf: messages moved at once, all for a destination or fewer
	Parts int     // in how many portions smaller than all for a destination the messages of two leaves may come
}

// NewGrains returns moves of all messages of a leaf for a destination.
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
