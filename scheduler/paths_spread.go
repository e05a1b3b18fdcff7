package scheduler

import (
	"cmp"
	"slices"
)

// A spread is a split on its way to few paths: each leaf has for each destination first one spine,
// then as few as a ceiling allows. Each destination on a leaf has its own native spine. Messages
// leave the native spine only where one of its links is dead or would carry too much.
type spread struct {
	*split
	native []int   // by builder; None where a leaf has more builders than spines
	grain  []int32 // messages moved at once, by sending leaf: all for a destination, or fewer
	parts  int     // in how many portions smaller than n the messages of two leaves may come
}

// newSpread gives every leaf one spine for each destination: the native one or,
// where that is dead, the one with the least load. O(leaves·S·spines).
func newSpread(f *fabric) *spread {
	s := &spread{
		split: &split{
			fabric: f,
			x:      make([]int32, f.leaves*f.leaves*f.spines),
			load:   make([]int32, 2*f.leaves*f.spines),
		},
		grain: make([]int32, f.leaves),
	}
	s.setGrain(slices.Max(f.r))
	s.chooseNatives()
	for a := range f.leaves {
		for b := range f.leaves {
			if a != b {
				s.settle(a, b)
			}
		}
	}
	return s
}

func (s *spread) clone() *spread {
	c := *s
	half := *s.split
	c.split, c.grain = &half, slices.Clone(s.grain)
	c.x, c.load = slices.Clone(s.x), slices.Clone(s.load)
	return &c
}

// setGrain lets moves take n messages, or all for a destination where there are fewer.
func (s *spread) setGrain(n int) {
	for a := range s.grain {
		s.grain[a] = int32(min(n, s.r[a]))
	}
}

// chooseNatives gives the builders of each leaf different live spines, from as many spines as the
// fullest leaf has builders, those with fewest dead links. Other spines are left for messages that
// cannot take the native one. Leaves with fewer builders leave out different spines.
func (s *spread) chooseNatives() {
	s.native = slices.Repeat([]int{None}, s.tree.Builders())
	rank, taken := s.byDeadLinks(), make([]int, s.spines)
	enough := slices.Max(s.b) - 1
	for b := range s.leaves {
		var live []int
		for k := range s.spines {
			if s.alive[s.link(b, k)] {
				live = append(live, k)
			}
		}
		slices.SortStableFunc(live, func(k, l int) int {
			return cmp.Or(max(enough, rank[k])-max(enough, rank[l]), taken[k]-taken[l])
		})
		live = live[:min(len(live), s.b[b])]
		slices.Sort(live)
		for i, k := range live {
			s.native[s.builders[b]+i] = k
			taken[k]++
		}
	}
}

func (s *spread) byDeadLinks() []int {
	dead, order, rank := make([]int, s.spines), make([]int, s.spines), make([]int, s.spines)
	for i, alive := range s.alive {
		if !alive {
			dead[i%s.spines]++
		}
	}
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(k, l int) int { return dead[k] - dead[l] })
	for i, k := range order {
		rank[k] = i
	}
	return rank
}

func (s *spread) settle(a, b int) {
	left := 0
	for _, k := range s.native[s.builders[b] : s.builders[b]+s.b[b]] {
		if k != None && s.alive[s.link(a, k)] {
			s.add(a, s.leaves+b, k, s.grain[a])
		} else {
			left++
		}
	}
	for range left {
		if k := s.lightest(a, b); k != None {
			s.add(a, s.leaves+b, k, s.grain[a])
		}
	}
}

// lightest returns the spine on which the fuller of the links of two leaves carries least, or None.
func (s *spread) lightest(a, b int) int {
	best, least := None, int32(0)
	for k := range s.spines {
		if !s.alive[s.link(a, k)] || !s.alive[s.link(b, k)] {
			continue
		}
		if load := max(s.load[a*s.spines+k], s.load[(s.leaves+b)*s.spines+k]); best == None || load < least {
			best, least = k, load
		}
	}
	return best
}

// step returns the least difference of two largest loads with one spine for each leaf and
// destination: n, if all leaves with readers have n.
func (s *spread) step() int {
	most := slices.Max(s.r)
	for _, n := range s.r {
		if n != 0 && n != most {
			return 1
		}
	}
	return most
}

// least returns a number of phases that every schedule with one spine for each leaf and destination
// needs. The up-links of a leaf of n readers then carry multiples of n; where all leaves have n
// readers, all links do.
func (s *spread) least(b Bound, need int) int {
	least := need - 1
	if s.tree.Roles() {
		least = need // no phase is added for messages to self
	}
	if b.Kind != KindServer {
		least = max(least, ceilDiv(b.Phases, s.step())*s.step())
	}
	for a, n := range s.r {
		if s.live[a] > 0 {
			least = max(least, n*ceilDiv(s.reach[a], s.live[a]))
		}
	}
	return least
}

// whole moves messages to other spines, all of a leaf and a destination at once, until no link
// carries more than the ceiling. It reports whether it succeeded.
func (s *spread) whole(ceiling int) bool {
	s.setGrain(slices.Max(s.r))
	return s.lower(ceiling, maxKicks)
}

// find returns the spread with whole, or nil.
func (s *spread) find(phases int) laid {
	if c := s.clone(); c.whole(phases) {
		return c
	}
	return nil
}

// portions is whole with smaller moves, the largest first, which make fewer portions. Two leaves
// then have at most that many portions, so a destination has at most that many spines.
func (s *spread) portions(ceiling, parts int) bool {
	s.parts = parts
	for n := slices.Max(s.r) - 1; n > 1; n-- {
		s.setGrain(n)
		if s.lower(ceiling, 0) {
			return true
		}
	}
	s.setGrain(1)
	return s.lower(ceiling, maxKicks)
}

func (s *spread) can(i, j, from, to int) bool {
	g, n := s.grainOf(i, j), int32(s.r[min(i, j)])
	x := s.x[s.at(i, j):][:s.spines]
	if g == 0 || x[from] < g || !s.alive[s.link(i%s.leaves, to)] || !s.alive[s.link(j%s.leaves, to)] {
		return false
	}
	if g == n {
		return true
	}
	parts := 0
	for k, v := range x {
		switch k {
		case from:
			v -= g
		case to:
			v += g
		}
		if v%n != 0 {
			parts++
		}
	}
	return parts <= s.parts
}

// grainOf returns the grain of the sending one of two nodes.
func (s *spread) grainOf(i, j int) int32 { return s.grain[min(i, j)] }
