package survey

import "evbench/scheduler"

// Levels are the numbers of a full fat tree FT(L;M_0,…,M_{L-1}) of any number of levels of
// switches: M_0 servers on a leaf, M_l subtrees of level l below a switch of level l+1. A subtree
// has as many links upwards as servers. The formulas hold for all; evbench plans trees of two and
// three levels.
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
// sends to itself, which a schedule need not have: scheduler.LowerBound has S-1 in the place of S.
func (m Levels) PhasesAtLeast(level, reduction int) int {
	s, n := m.Servers(), m.Below(level)
	return max(s, ceilDiv(n*(s-n), n-reduction))
}

// shift is the phase of a message of linear shift, with its phase 0. It has no spine.
func (m Levels) shift(src, dst int) (phase, spine int) {
	s := m.Servers()
	return (dst - src + s) % s, scheduler.None
}

// optimal is likewise of the bandwidth-optimal schedule, scheduler.BandwidthOptimal for any number
// of levels: the digit of the phase at place F_k is that of dst at its place, less that of src at F_k.
func (m Levels) optimal(src, dst int) (phase, spine int) {
	place := m.Servers()
	for _, n := range m {
		place /= n // F_k
		phase += (dst%n + n - src/place%n) % n * place
		dst /= n
	}
	return phase, scheduler.None
}
