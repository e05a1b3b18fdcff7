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
	if err := p.judge(&t.Live); err != nil {
		return nil, err
	}
	perPhase := p.perPhase()
	p.fit()
	return p.schedule(schedules.FORSPublished, t.Shape, func(leaf int, h transfer) int { return live[p.turn(leaf, h, perPhase)] }), nil
}

// judge returns an *InvalidError for the first offence of the schedule, or, if
// that is right, for the first link that two messages share.
func (p *pattern) judge(t *topology.Live) error {
	shape := fmt.Sprintf("%s, f=%d: ", t.Notation(), p.f())
	if phase, wrong := p.offence(); wrong {
		compare := "<="
		if p.w > p.q {
			compare = ">"
		}
		shape += fmt.Sprintf("g = gcd(M0,M1-1) = %d > 1 and w = %d %s q = %d", p.g(), p.w, compare, p.q)
		return &InvalidError{schedules.FORSPublished, shape, fmt.Sprintf("phase %d: %s", phase, p.describe(phase, t.Shape))}
	}
	if n, first := p.conflicts(t); n > 0 {
		all := p.m0 * p.m0 * p.q
		shape += fmt.Sprintf("w = %d does not divide the M0²(M1-1) = %d messages of a leaf, the last phase has %d", p.w, all, all%p.w)
		return &InvalidError{schedules.FORSPublished, shape, fmt.Sprintf("%s; in all %d messages are second on their link", first, n)}
	}
	return nil
}

// offence returns the first phase in which a server receives twice. It looks at one leaf, as all
// leaves send the same.
func (p *pattern) offence() (phase int, wrong bool) {
	received := make([]int, p.m0) // the phase after that in which a slot last received
	for _, h := range p.transfers {
		if received[h.dst] == h.phase+1 {
			return h.phase, true
		}
		received[h.dst] = h.phase + 1
	}
	return 0, false
}

// describe returns the first offence in a phase, with messages in the order of
// the listing: by source.
func (p *pattern) describe(phase int, t *topology.Shape) string {
	from := make([]int, t.Servers()) // 1 + the source, by destination
	for leaf := range t.Leaves() {
		for _, h := range p.in(phase) {
			src, dst := p.ends(leaf, h)
			if from[dst] > 0 {
				return fmt.Sprintf("%s receives from %s and from %s", t.ServerName(dst), t.ServerName(from[dst]-1), t.ServerName(src))
			}
			from[dst] = src + 1
		}
	}
	panic("scheduler: no offence in the phase")
}

// conflicts counts the messages that are not the first on their link in their phase, and describes
// the first of them. Up-links never conflict: at most w messages leave a leaf, in successive turns.
// So a phase with w messages from each leaf has no conflict downwards either: messages of equal
// turn have the same place in every leaf's list and go equally far.
func (p *pattern) conflicts(t *topology.Live) (count int, first string) {
	live, _ := untouched(t)
	perPhase := p.perPhase()
	for phase, n := range perPhase {
		if n%p.w == 0 {
			continue
		}
		taken := make(map[topology.Link][2]int)
		for leaf := range t.Leaves() {
			for _, h := range p.in(phase) {
				src, dst := p.ends(leaf, h)
				link := topology.Link{Leaf: t.Leaf(dst), Spine: live[p.turn(leaf, h, perPhase)]}
				before, twice := taken[link]
				if !twice {
					taken[link] = [2]int{src, dst}
					continue
				}
				if count++; first == "" {
					first = fmt.Sprintf("phase %d: %s down carries %s to %s and %s to %s", phase, link,
						t.ServerName(before[0]), t.ServerName(before[1]), t.ServerName(src), t.ServerName(dst))
				}
			}
		}
	}
	return count, first
}

// An InvalidError says that a published algorithm gives a wrong result for a tree that it accepts.
type InvalidError struct {
	Schedule string // as on the command line
	Shape    string // the tree, the reduction, and what about them goes wrong
	Offence  string // the first one, with its phase
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("schedule %s is wrong as published for %s: %s", e.Schedule, e.Shape, e.Offence)
}
