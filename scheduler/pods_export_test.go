package scheduler

import "evbench/topology"

// Raise returns a bound of the lower levels of a tree as one of all levels.
func Raise(t *topology.Tree, b Bound) Bound { return newFabric(t).raise(b) }

// PodNames returns the names of schedules for three levels.
func PodNames() []string { return podNames() }

// MoveTop returns a copy of s in which one message has another place and top switch.
func MoveTop(s *Schedule, src, dst, phase, spine, top int) *Schedule {
	c := Move(s, src, dst, phase, spine)
	c.tops = append([]uint8(nil), s.tops...)
	c.tops[src*s.Ranks+dst] = uint8(top)
	if top == None {
		c.tops[src*s.Ranks+dst] = noSpine
	}
	return c
}
