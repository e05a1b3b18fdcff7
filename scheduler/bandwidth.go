package scheduler

import "evbench/topology"

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
	at := make([]int, s.Ranks)
	for r := range at {
		at[r] = t.Position(r)
	}
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
