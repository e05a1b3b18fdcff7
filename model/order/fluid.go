package order

import (
	"slices"

	"evbench/model/maxmin"
)

// Pairwise returns how long the exchange takes, in message times, where each host sends its messages one
// after the other in the order of a schedule, without barriers, in a network that shares links max-min
// fairly. As in MPI's pairwise exchange, a host goes on to its next phase when the message that it sends
// in this one has arrived, and the one that it receives, too. O(messages · hosts).
func Pairwise(p *Problem, s *Schedule) float64 {
	x := pairwise{p: p, s: s, phase: make([]int, p.Hosts), open: make([]int, p.Hosts), from: make([][]int32, p.Hosts), to: make([][]int32, p.Hosts)}
	for h := range p.Hosts {
		x.from[h], x.to[h] = rows(s.Phases), rows(s.Phases)
	}
	first, in := s.ByPhase()
	for k := range s.Phases {
		for _, m := range in[first[k]:first[k+1]] {
			src, dst := m/int32(p.Hosts), m%int32(p.Hosts)
			x.to[src][k], x.from[dst][k] = dst, src
		}
	}
	longest := 0
	for m, k := range s.Phase {
		if k != None {
			longest = max(longest, 2+len(p.Between(m/p.Hosts, m%p.Hosts)))
		}
	}
	x.shares = maxmin.New(p.Hosts, len(p.Links), longest, 1)
	for l := range p.Links {
		x.shares.SetCapacity(int32(l), p.Links[l].Rate())
	}
	return x.run()
}

func rows(n int) []int32 {
	return slices.Repeat([]int32{None}, n)
}

// A pairwise is a host's sends, one stream each, in virtual time.
type pairwise struct {
	p      *Problem
	s      *Schedule
	shares *maxmin.Shares
	to     [][]int32 // by host and phase
	from   [][]int32
	phase  []int // that a host is in
	open   []int // messages of its phase that are under way or to come
	early  map[[2]int32]bool
}

func (x *pairwise) run() (now float64) {
	x.early = map[[2]int32]bool{}
	for h := range x.phase {
		x.enter(int32(h))
	}
	for {
		x.shares.Refill()
		next := x.shares.Soonest()
		if next > 1e300 {
			return now
		}
		now = next
		x.shares.Now = now
		over := append([]int32(nil), x.shares.Ending(next*(1+1e-12))...)
		for _, h := range over {
			x.shares.Remove(h)
		}
		for _, h := range over {
			k := x.phase[h]
			dst := x.to[h][k]
			if x.phase[dst] == k { // else it is behind: the message has come early
				x.finish(dst)
			} else {
				x.early[[2]int32{h, dst}] = true
			}
			x.finish(h)
		}
	}
}

// finish counts a message of a host's phase, and the host goes on after the last.
func (x *pairwise) finish(h int32) {
	if x.open[h]--; x.open[h] == 0 {
		x.phase[h]++
		x.enter(h)
	}
}

// enter has a host send the message of its phase. Phases without messages pass at once.
func (x *pairwise) enter(h int32) {
	for ; x.phase[h] < x.s.Phases; x.phase[h]++ {
		k := x.phase[h]
		if dst := x.to[h][k]; dst != None {
			path := append([]int32{h, int32(x.p.Hosts) + dst}, x.p.Between(int(h), int(dst))...)
			x.shares.Route(h, path)
			x.shares.Add(h, 1)
			x.open[h]++
		}
		if src := x.from[h][k]; src != None && !x.early[[2]int32{src, h}] {
			x.open[h]++
		}
		if x.open[h] > 0 {
			return
		}
	}
}
