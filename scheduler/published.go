package scheduler

import (
	"fmt"

	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Published returns the schedule of thesis 6.3, Algorithms 4 and 5, as the listing prints them,
// with the spines of thesis 6.4, Algorithm 6, for reproduction. ForsClosed is a form without the
// faults, and FORS is more general.
//
// With f = M0-w links lost at each leaf, q = M1-1 and Θ̃(i) = ⌈i·M0/w⌉, the server
// in slot α sends its i-th message for other leaves, i = 0..M0·q-1, in phase
// Θ̃(i+θ)-α, where θ = ⌊(α-1)·w/M0⌋+1 (floor towards -∞), to
//
//	slot (n + ⌊i/lcm(M0, q)⌋) mod M0, 1 + n mod q leaves further on, n = i+θ.
//
// The formulas in the text of 6.3 add ⌊i/lcm(M0, q)⌋ to the leaf instead of the slot. The messages
// of a phase take the w spines without dead links in turn, in order of source. Messages within a
// leaf, missing in the thesis, take phases in which both ends are idle, or follow.
//
// The result is wrong, an *InvalidError, where gcd(M0, q) > 1 and a server receives twice in a
// phase; or where w does not divide M0²·q and two messages share a link. A tree with servers missing,
// other than M0 spines or one leaf, or not reduced uniformly, is an error of another kind. O(S²).
func Published(t *topology.Tree) (*Schedule, error) {
	p, live, err := published(t)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", schedules.FORSPublished, err)
	}
	if err := p.judge(t); err != nil {
		return nil, err
	}
	perPhase := p.perPhase()
	p.fit()
	return p.schedule(schedules.FORSPublished, t, func(leaf int, h transfer) int { return live[p.turn(leaf, h, perPhase)] }), nil
}
