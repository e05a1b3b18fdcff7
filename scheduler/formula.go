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
// wrap-around collides, which LinearShiftPorts avoids. When links die it suffers
// most: in most phases every server of a leaf sends to another leaf. O(S²).
func LinearShift(t *topology.Tree) *Schedule {
	s := newSchedule(NameLinearShift, t)
	s.Phases = s.Ranks - 1
	s.meet(func(src, dst int) int { return (dst - src - 1 + s.Ranks) % s.Ranks })
	return s
}

// LinearShiftPorts returns the linear shift over ports: in phase p the server at
// position s sends to position (s+p+1) mod M0·M1, if a server is there. On full
// leaves it is LinearShift.
//
// Thesis 2.2.3 has d = (s+p) mod S, which counts servers; here ports are counted, also
// those without a server. In a phase a leaf then sends to positions side by side, so
// that spine = position mod M0, and OpenSM's ftree, stay free of contention with any
// fill, as the thesis says of its 326 servers on 360 ports (2.3.3, 4.2.2). Servers
// without a partner are idle for a phase, and phases without a message are left out:
// S-1 phases on full leaves, at most M0·M1-1 on others, and each server sends in S-1 of
// them. O(S²).
func LinearShiftPorts(t *topology.Tree) *Schedule {
	s := newSchedule(NameLinearShiftPorts, t)
	ports := t.Ports() * t.Leaves()
	s.Phases = ports - 1
	at := positions(t)
	s.meet(func(src, dst int) int { return (at[dst] - at[src] - 1 + ports) % ports })
	s.dropEmpty()
	return s
}

// positions returns the position of each rank.
func positions(t *topology.Tree) []int {
	at := make([]int, t.Servers())
	for r := range at {
		at[r] = t.Position(r)
	}
	return at
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

// BandwidthOptimal returns the bandwidth-optimal schedule of Prisacari et al. in
// the form of thesis 5.3, Algorithm 1, which reproduces thesis Table 5.4: in phase p
// the server at position s sends to position
//
//	((⌊s/M1⌋ + ⌊p/M1⌋) mod M0) + M0·((s+p) mod M1).
//
// The modulus printed there, M[kPerm[k]-1], belongs to the wrong level; it is
// M[k] here. See BandwidthOptimalPods for any number of levels.
//
// In each phase at most M0-⌊M0/M1⌋ messages leave a leaf, and as many enter it,
// so it has bandwidth to spare when links die, if M0 ≥ M1. But no rule that
// fixes one path for each destination routes it without contention: it needs a
// spine chosen anew in each phase.
//
// The formula has M0·M1 phases over all positions, each of which holds a message
// between two servers unless servers are missing. Messages of absent servers are
// dropped, and so are phases that are left without one. O((M0·M1)²) at most.
func BandwidthOptimal(t *topology.Tree) *Schedule {
	return bandwidthOptimal(t, []int{t.Ports(), t.Leaves()})
}

// BandwidthOptimalPods returns the bandwidth-optimal schedule of a three-level
// tree. With L levels, M_k children of a switch at level k and F_k = Π_{j>k} M_j, in
// phase p the server at position s sends to position
//
//	Σ_k ((⌊s/F_k⌋ + ⌊p/F_k⌋) mod M_k) · Π_{j<k} M_j.
//
// Thesis 5.3, Algorithm 1, means this. The factors and places printed there are
// right for two levels; for three only if M0 = M1, for more never.
//
// The digits of the destination are those of s and p, read in the opposite order
// and added without carry: each server meets each in one phase, and is met by
// each. The subtree with N = M_0·…·M_{k-1} servers that a destination is in, one
// of Q = M_k·…·M_{L-1}, depends on s mod Q alone, one to one. Of N servers side by side
// at least ⌊N/Q⌋ hit each, so in each phase at most N-⌊N/Q⌋ messages leave any such
// subtree: at most M0-⌊M0/(M1·M2)⌋ a leaf, and M0·M1-⌊M0·M1/M2⌋ a pod.
//
// The formula has M0·M1·M2 phases over all positions; absent servers are treated
// as by BandwidthOptimal. It chooses neither planes nor top switches.
// O((M0·M1·M2)²) at most.
func BandwidthOptimalPods(p *topology.Pods) *Schedule {
	t := p.Lower()
	return bandwidthOptimal(t, []int{t.Ports(), t.Leaves() / p.Pods(), p.Pods()})
}

// bandwidthOptimal takes the levels of a tree, from the servers of a leaf upwards.
func bandwidthOptimal(t *topology.Tree, levels []int) *Schedule {
	s := newSchedule(NameBandwidthOptimal, t)
	at := positions(t)
	s.Phases = 1
	for _, m := range levels {
		s.Phases *= m
	}
	// Solved for p: its digit at the place F_k is that of the destination at its
	// place, less that of the source at F_k.
	s.meet(func(src, dst int) int {
		d, place, phase := at[dst], s.Phases, 0
		for _, m := range levels {
			place /= m // F_k
			phase += (d%m + m - at[src]/place%m) % m * place
			d /= m
		}
		return phase
	})
	s.dropEmpty()
	return s
}
