package scheduler

import (
	"fmt"

	"evbench/scheduler/schedules"
	"evbench/topology"
)

// LinearShift returns the schedule in which the server of rank s sends to (s+p+1) mod S in
// phase p: S-1 phases (thesis 2.2.3, without its phase 0). With spine = destination rank mod
// M0 no two messages share a link of a full tree without failures; where leaves are partly
// filled the wrap-around collides, which LinearShiftPorts avoids. O(S²).
//
// Where some of R readers and B builders have one role only, reader i sends to builder (i+p) mod
// max(R,B) in phase p, if that builder exists. Phases without a message are left out.
func LinearShift(t *topology.Tree) *Schedule {
	if t.Roles() {
		return shiftRoles(t)
	}
	return linearShift(t.Servers())
}

func linearShift(servers int) *Schedule {
	s := newSchedule(schedules.LinearShift, servers)
	s.Phases = s.Ranks - 1
	s.meet(func(src, dst int) int { return (dst - src - 1 + s.Ranks) % s.Ranks })
	return s
}

// LinearShiftPorts returns the linear shift over ports: in phase p the server at position s sends
// to position (s+p+1) mod M0·M1, if a server is there. So spine = position mod M0, and OpenSM's
// ftree, stay free of contention with any fill, as thesis 4.2.2 says of 326 servers on 360 ports.
// Phases without a message are left out: at most M0·M1-1. O(S²).
func LinearShiftPorts(t *topology.Tree) *Schedule {
	s := newSchedule(schedules.LinearShiftPorts, t.Servers())
	ports := t.Ports() * t.Leaves()
	s.Phases = ports - 1
	at := positions(t)
	s.meet(func(src, dst int) int { return (at[dst] - at[src] - 1 + ports) % ports })
	s.dropEmpty()
	return s
}

func positions(t *topology.Tree) []int {
	at := make([]int, t.Servers())
	for r := range at {
		at[r] = t.Position(r)
	}
	return at
}

// XOR returns the schedule in which the server of rank s sends to s xor (p+1) in phase p: servers
// exchange in pairs (thesis 2.2.3 names it, with a reference to Izzi and Massini 2022; p = 0, each
// with itself, is left out). It exists only for a power of two of servers, as s xor p must be a
// server, and then has S-1 phases. Any other number is an error. O(S²).
func XOR(t *topology.Tree) (*Schedule, error) {
	n := t.Servers()
	if n&(n-1) != 0 {
		return nil, fmt.Errorf("schedule xor: needs a power of two of servers, such as %d or %d; here are %d", below2(n), 2*below2(n), n)
	}
	s := newSchedule(schedules.XOR, n)
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

// BandwidthOptimal returns the bandwidth-optimal schedule of Prisacari et al. (thesis 5.3,
// Algorithm 1, which reproduces Table 5.4): in phase p the server at position s sends to
//
//	((⌊s/M1⌋ + ⌊p/M1⌋) mod M0) + M0·((s+p) mod M1);
//
// the modulus printed in the thesis belongs to the wrong level. Three levels use the formula of
// Levels. In each phase at most M0-⌊M0/M1⌋ messages leave a leaf, but each phase needs new spines.
// Messages of absent servers are dropped, and so are phases without a message: at most M0·M1.
// O((M0·M1)²) at most.
func BandwidthOptimal(t *topology.Tree) *Schedule {
	levels := Levels{t.Ports(), t.PodLeaves(), t.Pods()}[:t.Levels()]
	return levels.bandwidthOptimal(positions(t))
}
