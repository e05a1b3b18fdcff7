package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"evbench/scheduler/schedules"
	"evbench/topology"
)

// An InvalidError says that a published algorithm gives a wrong result for a tree that it accepts.
type InvalidError struct {
	Schedule string // as on the command line
	Shape    string // the tree, the reduction, and what about them goes wrong
	Offence  string // the first one, with its phase
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("schedule %s is wrong as published for %s: %s", e.Schedule, e.Shape, e.Offence)
}

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

// published returns the messages between leaves, and the spines without dead links.
func published(t *topology.Tree) (*pattern, []int, error) {
	live, err := uniform(t)
	if err == nil && t.Spines() != t.Ports() {
		err = fmt.Errorf("needs as many spines as servers on a leaf; here are %d and %d: use fors-closed", t.Spines(), t.Ports())
	}
	if err == nil && t.Leaves() < 2 {
		err = errors.New("needs at least two leaves: use fors-closed")
	}
	if err != nil {
		return nil, nil, err
	}
	p := newPattern(t, len(live))
	if err := p.check(t); err != nil {
		return nil, nil, err
	}
	p.print()
	return p, live, nil
}

// print fills the pattern as Algorithms 4 and 5 do. The line of a transfer is its index among the
// transfers of its leaf and phase. O(M0·phases).
func (p *pattern) print() {
	theta, sent := make([]int, p.m0), make([]int, p.m0)
	for a := range theta {
		theta[a] = floorDiv((a-1)*p.w, p.m0) + 1
	}
	p.transfers = make([]transfer, 0, p.m0*p.m0*(p.q+1))
	for phase := range p.phases {
		line := 0
		for a := range p.m0 {
			n := sent[a] + theta[a]
			if sent[a] == p.m0*p.q || ceilDiv(n*p.m0, p.w)-a != phase {
				continue
			}
			p.transfers = append(p.transfers, transfer{phase: phase, src: a, step: 1 + n%p.q, dst: (n + sent[a]/p.cycle()) % p.m0, line: line})
			sent[a]++
			line++
		}
	}
}

func (p *pattern) perPhase() []int {
	out := make([]int, p.phases)
	for _, h := range p.transfers {
		out[h.phase]++
	}
	return out
}

// turn returns the index of the spine that Algorithm 6 gives to a leaf's transfer: it
// deals the spines to all messages of a phase in turn, in order of source.
func (p *pattern) turn(leaf int, h transfer, perPhase []int) int {
	return (leaf*perPhase[h.phase] + h.line) % p.w
}

func (p *pattern) in(phase int) []transfer {
	by := func(h transfer, phase int) int { return h.phase - phase }
	from, _ := slices.BinarySearchFunc(p.transfers, phase, by)
	to, _ := slices.BinarySearchFunc(p.transfers, phase+1, by)
	return p.transfers[from:to]
}

func floorDiv(a, b int) int {
	if a < 0 {
		return -ceilDiv(-a, b)
	}
	return a / b
}
