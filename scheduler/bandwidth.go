package scheduler

import "evbench/topology"

// BandwidthOptimal returns the bandwidth-optimal schedule of Prisacari et al. in
// the form of thesis 5.3, Algorithm 1, which reproduces thesis Table 5.4: in phase p
// the server at position s sends to position
//
//	((⌊s/M1⌋ + ⌊p/M1⌋) mod M0) + M0·((s+p) mod M1).
//
// The modulus printed there, M[kPerm[k]-1], belongs to the wrong level; it is
// M[k] here. In each phase at most M0-⌊M0/M1⌋ messages leave a leaf (M0 ≥ M1),
// so it has bandwidth to spare when links die. But no rule that fixes one path
// for each destination routes it without contention: it needs a spine chosen
// anew in each phase.
//
// The formula has M0·M1 phases over all positions. Messages of absent servers
// are dropped, and so are phases that are left without a message between two
// servers. O((M0·M1)²) at most.
func BandwidthOptimal(t *topology.Tree) *Schedule {
	s := newSchedule("bandwidth-optimal", t)
	m0, m1 := t.Ports(), t.Leaves()
	at := make([]int, s.Ranks)
	for r := range at {
		at[r] = t.Position(r)
	}
	// Solved for p: its digits are ⌊p/M1⌋ = α-⌊s/M1⌋ and p mod M1 = γ-s, for the
	// destination α + γ·M0.
	s.Phases = m0 * m1
	s.meet(func(src, dst int) int {
		high := at[dst]%m0 - at[src]/m1
		low := at[dst]/m0 - at[src]%m1
		return (high+m0)%m0*m1 + (low+m1)%m1
	})
	s.dropEmpty()
	return s
}
