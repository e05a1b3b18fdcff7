package scheduler

import "evbench/scheduler/schedules"

// Levels are the numbers of a full fat tree FT(L;M_0,…,M_{L-1}) of any number of levels of
// switches: M_0 servers on a leaf, M_l subtrees of level l below a switch of level l+1. A subtree
// has as many links upwards as servers. Trees of more than three levels are not planned; the
// formulas hold for all.
type Levels []int

// Servers returns S, the product of all.
func (m Levels) Servers() int { return m.Below(len(m)) }

// Below returns Π_l = M_0·…·M_{l-1} (thesis 5.4.1): the servers of a subtree of level l,
// 1 being a leaf, and its links to switches of level l+1.
func (m Levels) Below(level int) int {
	n := 1
	for _, x := range m[:level] {
		n *= x
	}
	return n
}

// PhasesAtLeast returns the lower bound of thesis equation 5.1,
//
//	max( S, ⌈Π_l·(S-Π_l) / (Π_l-F)⌉ ),
//
// on the phases of a contention-free exchange where some subtree of level l has lost
// F < Π_l of its links upwards, 1 <= l < L. It counts the phase in which every server
// sends to itself, which a schedule need not have: LowerBound has S-1 in the place of S.
func (m Levels) PhasesAtLeast(level, reduction int) int {
	s, n := m.Servers(), m.Below(level)
	return max(s, ceilDiv(n*(s-n), n-reduction))
}

// LinearShift returns the linear shift over all servers.
func (m Levels) LinearShift() *Schedule { return linearShift(m.Servers()) }

// BandwidthOptimal returns the bandwidth-optimal schedule: with F_k = Π_{j>k} M_j, in
// phase p server s sends to server
//
//	Σ_k ((⌊s/F_k⌋ + ⌊p/F_k⌋) mod M_k) · Π_{j<k} M_j,
//
// as thesis 5.3, Algorithm 1, means it. The digits of the destination are the sums, without carry,
// of the digits of s and those of p in opposite order. On three levels at most M0-⌊M0/(M1·M2)⌋
// messages leave a leaf in a phase, and M0·M1-⌊M0·M1/M2⌋ a pod. O(S²).
func (m Levels) BandwidthOptimal() *Schedule {
	at := make([]int, m.Servers())
	for s := range at {
		at[s] = s
	}
	return m.bandwidthOptimal(at)
}

// bandwidthOptimal takes the position of each rank.
func (m Levels) bandwidthOptimal(at []int) *Schedule {
	s := newSchedule(schedules.BandwidthOptimal, len(at))
	s.Phases = m.Servers()
	// Solved for p: the digit of p at place F_k is the digit of dst at its place, less the digit of
	// src at F_k.
	s.meet(func(src, dst int) int {
		d, place, phase := at[dst], s.Phases, 0
		for _, m := range m {
			place /= m // F_k
			phase += (d%m + m - at[src]/place%m) % m * place
			d /= m
		}
		return phase
	})
	s.dropEmpty()
	return s
}
