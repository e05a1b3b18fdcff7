package scheduler

import (
	"slices"

	"evbench/topology"
)

// Looser returns the schedule of a tree with more phases than it needs, as when
// no split of whole numbers is found at the bound.
func Looser(t *topology.Tree, extra int32, o Options) *Schedule {
	s, b := newFabric(t).balance()
	s.ceiling += extra
	return s.schedule(b, o)
}

// Gap returns by how many phases the split found exceeds the bound proven.
func Gap(t *topology.Tree) int {
	s, b := newFabric(t).balance()
	return int(s.ceiling) - b.Phases
}

// Hall returns the best hall bound above a floor, or none.
func Hall(t *topology.Tree, floor int) Bound {
	f := newFabric(t)
	f.share()
	return f.hall(Bound{Phases: floor})
}

// Move returns a copy of s in which one message has another place.
func Move(s *Schedule, src, dst, phase, spine int) *Schedule {
	c := *s
	c.slots = slices.Clone(s.slots)
	c.slots[src*s.Ranks+dst] = makeSlot(phase, spine)
	return &c
}
