package scheduler

import (
	"fmt"

	"evbench/scheduler/schedules"
	"evbench/topology"
)

// judge returns an *InvalidError for the first offence of the schedule, or, if
// that is right, for the first link that two messages share.
func (p *pattern) judge(t *topology.Tree) error {
	shape := fmt.Sprintf("%s, f=%d: ", t.Notation(), p.f())
	if phase, wrong := p.offence(); wrong {
		compare := "<="
		if p.w > p.q {
			compare = ">"
		}
		shape += fmt.Sprintf("g = gcd(M0,M1-1) = %d > 1 and w = %d %s q = %d", p.g(), p.w, compare, p.q)
		return &InvalidError{schedules.FORSPublished, shape, fmt.Sprintf("phase %d: %s", phase, p.describe(phase, t))}
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
func (p *pattern) describe(phase int, t *topology.Tree) string {
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
func (p *pattern) conflicts(t *topology.Tree) (count int, first string) {
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
