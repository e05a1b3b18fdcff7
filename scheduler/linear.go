package scheduler

import (
	"fmt"

	"evbench/topology"
)

// LinearShift returns the schedule in which the server of rank s sends to
// (s+p+1) mod S in phase p: S-1 phases (thesis 2.2.3, from Zahavi et al. 2009;
// without its phase 0, in which every server would send to itself). It is valid
// for any number of servers. With spine = destination rank mod M0 no two messages
// share a link of a full tree without failures; where leaves are partly filled the
// wrap-around collides. When links die it suffers most: in most phases every
// server of a leaf sends to another leaf. O(S²).
func LinearShift(t *topology.Tree) *Schedule {
	s := newSchedule(NameLinearShift, t)
	s.Phases = s.Ranks - 1
	s.meet(func(src, dst int) int { return (dst - src - 1 + s.Ranks) % s.Ranks })
	return s
}

// XOR returns the schedule in which the server of rank s sends to s xor (p+1) in
// phase p: servers exchange in pairs (thesis 2.2.3 names it, with a reference to
// Izzi and Massini 2022; p = 0, each with itself, is left out). It exists only for
// a power of two of servers, as s xor p must be a server, and then has S-1 phases.
// Any other number is an error. O(S²).
func XOR(t *topology.Tree) (*Schedule, error) {
	n := t.Servers()
	if n&(n-1) != 0 {
		return nil, fmt.Errorf("schedule xor: needs a power of two of servers, such as %d or %d; here are %d", below2(n), 2*below2(n), n)
	}
	s := newSchedule(NameXOR, t)
	s.Phases = n - 1
	s.meet(func(src, dst int) int { return (src ^ dst) - 1 })
	return s, nil
}

// below2 returns the largest power of two that is at most n.
func below2(n int) int {
	p := 1
	for 2*p <= n {
		p *= 2
	}
	return p
}
