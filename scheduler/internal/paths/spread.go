package paths

import (
	"cmp"
	"slices"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/split"
)

// A spread is a split on its way to few paths: each leaf has for each destination first one spine,
// then as few as a ceiling allows. Each destination on a leaf has its own native spine. Messages
// leave the native spine only where one of its links is dead or would carry too much.
type spread struct {
	f      *fattree.Tree
	split  *split.Split
	native []int // by builder; none where a leaf has more builders than spines
	grains *split.Grains
}

// newSpread gives every leaf one spine for each destination: the native one or,
// where that is dead, the one with the least load. O(leaves·S·spines).
func newSpread(f *fattree.Tree) *spread {
	s := &spread{f: f, split: split.New(f, 0)}
	s.grains = split.NewGrains(s.split)
	s.chooseNatives()
	for a := range f.Leaves {
		for b := range f.Leaves {
			if a != b {
				s.settle(a, b)
			}
		}
	}
	return s
}

func (s *spread) clone() *spread {
	half := *s.split
	half.X, half.Load = slices.Clone(s.split.X), slices.Clone(s.split.Load)
	return &spread{f: s.f, split: &half, native: s.native, grains: split.NewGrains(&half)}
}

// down returns the lane down of a message: there is one cable.
func (s *spread) down(_, lane int) int { return lane }

// chooseNatives gives the builders of each leaf different live spines, from as many spines as the
// fullest leaf has builders, those with fewest dead links. Other spines are left for messages that
// cannot take the native one. Leaves with fewer builders leave out different spines.
func (s *spread) chooseNatives() {
	s.native = slices.Repeat([]int{none}, s.f.Topology.Builders())
	rank, taken := s.byDeadLinks(), make([]int, s.f.Spines)
	enough := slices.Max(s.f.B) - 1
	for b := range s.f.Leaves {
		var live []int
		for k := range s.f.Spines {
			if s.f.Alive[s.f.Link(b, k)] {
				live = append(live, k)
			}
		}
		slices.SortStableFunc(live, func(k, l int) int {
			return cmp.Or(max(enough, rank[k])-max(enough, rank[l]), taken[k]-taken[l])
		})
		live = live[:min(len(live), s.f.B[b])]
		slices.Sort(live)
		for i, k := range live {
			s.native[s.f.Builders[b]+i] = k
			taken[k]++
		}
	}
}

func (s *spread) byDeadLinks() []int {
	dead, order, rank := make([]int, s.f.Spines), make([]int, s.f.Spines), make([]int, s.f.Spines)
	for i, alive := range s.f.Alive {
		if !alive {
			dead[i%s.f.Spines]++
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
	for _, k := range s.native[s.f.Builders[b] : s.f.Builders[b]+s.f.B[b]] {
		if k != none && s.f.Alive[s.f.Link(a, k)] {
			s.split.Add(a, s.f.Leaves+b, k, int32(s.f.R[a]))
		} else {
			left++
		}
	}
	for range left {
		if k := s.lightest(a, b); k != none {
			s.split.Add(a, s.f.Leaves+b, k, int32(s.f.R[a]))
		}
	}
}

// lightest returns the spine on which the fuller of the links of two leaves carries least, or none.
func (s *spread) lightest(a, b int) int {
	best, least := none, int32(0)
	for k := range s.f.Spines {
		if !s.f.Alive[s.f.Link(a, k)] || !s.f.Alive[s.f.Link(b, k)] {
			continue
		}
		if load := max(s.split.Load[a*s.f.Spines+k], s.split.Load[(s.f.Leaves+b)*s.f.Spines+k]); best == none || load < least {
			best, least = k, load
		}
	}
	return best
}

// step returns the least difference of two largest loads with one spine for each leaf and
// destination: n, if all leaves with readers have n.
func (s *spread) step() int {
	most := slices.Max(s.f.R)
	for _, n := range s.f.R {
		if n != 0 && n != most {
			return 1
		}
	}
	return most
}

// least returns a number of phases that every schedule with one spine for each leaf and destination
// needs. The up-links of a leaf of n readers then carry multiples of n; where all leaves have n
// readers, all links do.
func (s *spread) least(b split.Bound, need int) int {
	least := need - 1
	if s.f.Topology.Divided() {
		least = need // no phase is added for messages to self
	}
	if b.Kind != split.KindServer {
		least = max(least, fattree.CeilDiv(b.Phases, s.step())*s.step())
	}
	for a, n := range s.f.R {
		if s.f.Live[a] > 0 {
			least = max(least, n*fattree.CeilDiv(s.f.Reach[a], s.f.Live[a]))
		}
	}
	return least
}

// whole moves messages to other spines, all of a leaf and a destination at once, until no link
// carries more than the ceiling. It reports whether it succeeded.
func (s *spread) whole(ceiling int) bool {
	s.grains.Set(slices.Max(s.f.R))
	return s.grains.Lower(ceiling, split.MaxKicks)
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
	s.grains.Parts = parts
	for n := slices.Max(s.f.R) - 1; n > 1; n-- {
		s.grains.Set(n)
		if s.grains.Lower(ceiling, 0) {
			return true
		}
	}
	s.grains.Set(1)
	return s.grains.Lower(ceiling, split.MaxKicks)
}
