package opensm

import (
	"cmp"
	"math"
)

// A spread chooses again among the shortest routes to a destination, with the routes of the same
// destination in view. In Dijkstra's search all switches follow the earlier weights, so many choose
// the cable that was lightest. Here each switch sees the choices of switches farther away.
type spread struct {
	s    *search
	hops []int32
	path []uint64 // load of the fullest cable on the best way to the destination
}

func newSpread(s *search) *spread {
	return &spread{s: s, hops: make([]int32, len(s.g.sw)), path: make([]uint64, len(s.g.sw))}
}

// choose takes the result of a search, and how many routes begin at each vertex. From the farthest
// to the nearest, each vertex takes the neighbour over which the fullest cable on the way is least
// full, its own routes included, and of equals the least full cable. The weights include these
// routes afterwards. O(C).
func (p *spread) choose(count []uint64) {
	s, g := p.s, p.s.g
	p.look()
	for i := len(s.order) - 1; i >= 0; i-- {
		if v := s.order[i]; s.used[v] != none {
			slot := p.best(v, count)
			s.used[v] = slot
			g.weight[slot] += count[v]
			count[g.owner[slot]] += count[v]
		}
	}
}

func (p *spread) look() {
	s, g := p.s, p.s.g
	for _, v := range s.order {
		if p.hops[v] = 0; s.used[v] != none {
			p.hops[v] = p.hops[g.owner[s.used[v]]] + 1
		}
	}
	for _, v := range s.order {
		if p.path[v] = 0; s.used[v] == none {
			continue
		}
		p.path[v] = math.MaxUint64
		p.each(v, func(slot, up int32) {
			p.path[v] = min(p.path[v], max(g.weight[slot], p.path[up]))
		})
	}
}

func (p *spread) best(v int32, count []uint64) int32 {
	g := p.s.g
	best, fullest, first := int32(none), uint64(0), uint64(0)
	p.each(v, func(slot, up int32) {
		onward := uint64(0)
		if p.hops[up] > 0 {
			onward = p.path[up] + count[up]
		}
		full := max(g.weight[slot], onward)
		if best == none || cmp.Or(cmp.Compare(full, fullest), cmp.Compare(g.weight[slot], first)) < 0 {
			best, fullest, first = slot, full, g.weight[slot]
		}
	})
	return best
}

func (p *spread) each(v int32, do func(slot, up int32)) {
	g := p.s.g
	for own := g.first[v]; own < g.first[v+1]; own++ {
		if up := g.to[own]; up != none && p.hops[up] == p.hops[v]-1 {
			do(g.back[own], up)
		}
	}
}
