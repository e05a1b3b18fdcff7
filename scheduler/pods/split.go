package pods

import (
	"math"
	"math/rand/v2"
	"slices"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/split"
)

// A planeSplit is a split of messages over planes that includes top switches: the leaf links have the
// loads of the split, and planeSplit counts the links above, once for each direction.
type planeSplit struct {
	f       *fattree.Tree
	split   *split.Split
	scale   []float64 // of links, as in fluid
	room    []int32   // capacity times ceiling of each link, or a lot
	carried []int32   // of each link and direction: 2·link, upwards, and 2·link + 1
	random  *rand.Rand
}

// round is round on three levels, for a ceiling.
func round(w *split.Fluid, ceiling, try int) *planeSplit {
	f := w.F
	s := &planeSplit{
		f: f, scale: w.Scale, split: split.New(f, ceiling),
		room: make([]int32, len(w.Scale)), carried: make([]int32, 2*len(w.Scale)),
		random: rand.New(rand.NewPCG(uint64(ceiling), uint64(try))),
	}
	for l, scale := range w.Scale {
		s.room[l] = math.MaxInt32 / 2
		if scale > 0 {
			s.room[l] = int32(float64(ceiling)/scale + 0.5)
		}
	}
	w.Rounded(s.random, &split.Rounding{Missing: make([]float64, len(s.carried)), Scale: s.scale, Add: s.add, Links: s.directed})
	return s
}

// directed returns the links of a message from leaf a to leaf b on a plane, with their directions.
func (s *planeSplit) directed(a, b, k int) (out [5]int, n int) {
	out, n = s.f.Links(a, b, k)
	for i := range n {
		out[i] = 2*out[i] + i%2 // links are: up, down, up, down, both pods
	}
	if n == 5 && s.f.Pod[a] > s.f.Pod[b] {
		out[4]++
	}
	return out, n
}

func (s *planeSplit) add(a, b, k int, d int32) {
	s.split.Add(a, s.f.Leaves+b, k, d)
	links, n := s.directed(a, b, k)
	for _, l := range links[:n] {
		s.carried[l] += d
	}
}

// repair moves single messages between planes while that lowers the loads above the ceiling, or
// does not raise them. It reports whether no leaf link is above the ceiling in the end. Links
// higher up may stay above it: a later step moves their messages.
func (s *planeSplit) repair() bool {
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
	return s.split.Over == 0
}

func (s *planeSplit) fits() bool {
	for l, load := range s.carried {
		if load > s.room[l/2] {
			return false
		}
	}
	return true
}

// relieve makes the best move of a message off a link, if one lowers the sum of squared excesses,
// or else, sometimes, a move that leaves the sum equal.
func (s *planeSplit) relieve(link int) bool {
	type move struct{ a, b, from, to int }
	var best move
	least, ties := 0, 0
	s.users(link, func(a, b, k int) {
		if s.split.X[s.split.At(a, s.f.Leaves+b)+k] == 0 {
			return
		}
		for to := range s.f.Spines {
			if to == k || !s.f.Usable(a, b, to) {
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

func (s *planeSplit) change(a, b, from, to int) int {
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
func (s *planeSplit) users(link int, f func(a, b, k int)) {
	k := link / 2 % s.f.Spines // whatever its level
	for a := range s.f.Leaves {
		for b := range s.f.Leaves {
			if links, n := s.directed(a, b, k); a != b && slices.Contains(links[:n], link) {
				f(a, b, k)
			}
		}
	}
}

// none stands for no leaf, link or message.
const none = -1
