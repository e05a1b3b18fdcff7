package scheduler

import (
	"fmt"

	"evbench/scheduler/internal/slots"
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
	if t.Divided() {
		return shiftRoles(t)
	}
	if f := shiftOf(t, false, tableServers); f != nil {
		return f.schedule(schedules.LinearShift)
	}
	n := t.Servers()
	return newSchedule(schedules.LinearShift, slots.Met(n, n-1, func(src, dst int) int { return (dst - src - 1 + n) % n }), false)
}

// LinearShiftPorts returns the linear shift over ports: in phase p the server at position s sends
// to position (s+p+1) mod M0·M1, if a server is there. So spine = position mod M0, and OpenSM's
// ftree, stay free of contention with any fill, as thesis 4.2.2 says of 326 servers on 360 ports.
// Phases without a message are left out: at most M0·M1-1. O(S²).
func LinearShiftPorts(t *topology.Shape) *Schedule {
	at, ports := t.Positions(), t.Ports()*t.Leaves()
	table := slots.Met(len(at), ports-1, func(src, dst int) int { return (at[dst] - at[src] - 1 + ports) % ports })
	table.DropEmpty()
	return newSchedule(schedules.LinearShiftPorts, table, false)
}

// XOR returns the schedule in which the server of rank s sends to s xor (p+1) in phase p: servers
// exchange in pairs (thesis 2.2.3 names it, with a reference to Izzi and Massini 2022; p = 0, each
// with itself, is left out). It exists only for a power of two of servers, as s xor p must be a
// server, and then has S-1 phases. Any other number is an error. O(S²).
func XOR(t *topology.Shape) (*Schedule, error) {
	n := t.Servers()
	if n&(n-1) != 0 {
		return nil, fmt.Errorf("schedule xor: needs a power of two of servers, such as %d or %d; here are %d", below2(n), 2*below2(n), n)
	}
	return newSchedule(schedules.XOR, slots.Met(n, n-1, func(src, dst int) int { return (src ^ dst) - 1 }), false), nil
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
// the modulus printed in the thesis belongs to the wrong level. On three levels, M0, M1, M2, it is,
// with F_k = Π_{j>k} M_j,
//
//	Σ_k ((⌊s/F_k⌋ + ⌊p/F_k⌋) mod M_k) · Π_{j<k} M_j:
//
// the digits of the destination are the sums, without carry, of the digits of s and those of p in
// opposite order. In each phase at most M0-⌊M0/(M1·M2)⌋ messages leave a leaf, and M0·M1-⌊M0·M1/M2⌋
// a pod, but each phase needs new spines. Messages of absent servers are dropped, and so are phases
// without a message: at most M0·M1·M2. O((M0·M1·M2)²) at most.
func BandwidthOptimal(t *topology.Shape) *Schedule {
	at, ports := t.Positions(), t.Ports()*t.Leaves()
	levels := []int{t.Ports(), t.PodLeaves(), t.Pods()}[:t.Levels()]
	// Solved for p: the digit of p at place F_k is the digit of dst at its place, less the digit of
	// src at F_k.
	table := slots.Met(len(at), ports, func(src, dst int) int {
		d, place, phase := at[dst], ports, 0
		for _, m := range levels {
			place /= m // F_k
			phase += (d%m + m - at[src]/place%m) % m * place
			d /= m
		}
		return phase
	})
	table.DropEmpty()
	return newSchedule(schedules.BandwidthOptimal, table, false)
}

func shiftRoles(t *topology.Tree) *Schedule {
	table := slots.New(t.Servers(), max(t.Readers(), t.Builders()))
	rows := make([]slots.Slot, 0, t.Readers()*t.Builders())
	for i := range t.Readers() {
		for j := range t.Builders() {
			rows = append(rows, slots.Make((j-i+table.Phases)%table.Phases, None))
		}
	}
	table.Spread(&t.Roles, rows)
	return newSchedule(schedules.LinearShift, table, false)
}
