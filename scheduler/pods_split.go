package scheduler

import (
	"math"
	"math/rand/v2"
)

// A podSplit is a split of messages over planes that includes top switches: the leaf links have the
// loads of the split, and podSplit counts the links above, once for each direction.
type podSplit struct {
	f       *fabric
	split   *split
	scale   []float64 // of links, as in fluid
	room    []int32   // capacity times ceiling of each link, or a lot
	carried []int32   // of each link and direction: 2·link, upwards, and 2·link + 1
	random  *rand.Rand
}

// roundPods is round on three levels, for a ceiling.
func roundPods(w *fluid, ceiling, try int) *podSplit {
	f := w.f
	s := &podSplit{
		f: f, scale: w.scale,
		split: &split{
			f: f, ceiling: int32(ceiling),
			x:    make([]int32, f.leaves*f.leaves*f.spines),
			load: make([]int32, 2*f.leaves*f.spines),
		},
		room: make([]int32, len(w.scale)), carried: make([]int32, 2*len(w.scale)),
		random: rand.New(rand.NewPCG(uint64(ceiling), uint64(try))),
	}
	for l, scale := range w.scale {
		s.room[l] = math.MaxInt32 / 2
		if scale > 0 {
			s.room[l] = int32(float64(ceiling)/scale + 0.5)
		}
	}
	w.rounded(s.random, &rounding{missing: make([]float64, len(s.carried)), scale: s.scale, add: s.add, links: s.directed})
	return s
}

// directed returns the links of a message from leaf a to leaf b on a plane, with their directions.
func (s *podSplit) directed(a, b, k int) (out [5]int, n int) {
	out, n = s.f.links(a, b, k)
	for i := range n {
		out[i] = 2*out[i] + i%2 // links are: up, down, up, down, both pods
	}
	if n == 5 && s.f.pod[a] > s.f.pod[b] {
		out[4]++
	}
	return out, n
}

func (s *podSplit) add(a, b, k int, d int32) {
	s.split.add(a, s.f.leaves+b, k, d)
	links, n := s.directed(a, b, k)
	for _, l := range links[:n] {
		s.carried[l] += d
	}
}

// repair moves single messages between planes while that lowers the loads above the ceiling, or
// does not raise them. It reports whether no leaf link is above the ceiling in the end. Links
// higher up may stay above it: a later step moves their messages.
func (s *podSplit) repair() bool {
	for idle := 0; idle < 4; idle++ {
		for l := range s.carried {
			for steps := 0; s.carried[l] > s.room[l/2] && steps < 200; steps++ {
				if s.relieve(l) {
					idle = 0
				} else {
					break
				}
			}
		}
		if s.fits() {
			return true
		}
	}
	return s.split.over == 0
}

func (s *podSplit) fits() bool {
	for l, load := range s.carried {
		if load > s.room[l/2] {
			return false
		}
	}
	return true
}

// relieve makes the best move of a message off a link, if one lowers the sum of squared excesses,
// or else, sometimes, a move that leaves the sum equal.
func (s *podSplit) relieve(link int) bool {
	type move struct{ a, b, from, to int }
	var best move
	least, ties := 0, 0
	s.users(link, func(a, b, k int) {
		if s.split.x[s.split.at(a, s.f.leaves+b)+k] == 0 {
			return
		}
		for to := range s.f.spines {
			if to == k || !s.f.usable(a, b, to) {
				continue
			}
			d := s.change(a, b, k, to)
			switch {
			case d < least:
				best, least, ties = move{a, b, k, to}, d, 1
			case d == least:
				if ties++; s.random.IntN(ties) == 0 {
					best = move{a, b, k, to}
				}
			}
		}
	})
	if ties == 0 {
		return false
	}
	s.add(best.a, best.b, best.from, -1)
	s.add(best.a, best.b, best.to, 1)
	return least < 0
}

func (s *podSplit) change(a, b, from, to int) int {
	d := 0
	links, n := s.directed(a, b, from)
	for _, l := range links[:n] {
		if e := int(s.carried[l] - s.room[l/2]); e > 0 {
			d -= 2*e - 1
		}
	}
	links, n = s.directed(a, b, to)
	for _, l := range links[:n] {
		if e := int(s.carried[l] - s.room[l/2]); e >= 0 {
			d += 2*e + 1
		}
	}
	return d
}

// users calls f for the pairs of leaves, and the plane, that may use a link in its direction.
func (s *podSplit) users(link int, f func(a, b, k int)) {
	l, down := link/2, link%2 == 1
	k := l % s.f.spines
	for a := range s.f.leaves {
		for b := range s.f.leaves {
			if a == b {
				continue
			}
			from, to := a, b
			if down {
				from, to = b, a
			}
			switch {
			case l < s.f.podLinks():
				if from != l/s.f.spines {
					continue
				}
			case l < s.f.pairLinks():
				if s.f.pod[a] == s.f.pod[b] || s.f.pod[from] != (l-s.f.podLinks())/s.f.spines {
					continue
				}
			default:
				i := (l - s.f.pairLinks()) / s.f.spines
				if s.f.pod[from] != i/s.f.pods || s.f.pod[to] != i%s.f.pods {
					continue
				}
			}
			f(a, b, k)
		}
	}
}
