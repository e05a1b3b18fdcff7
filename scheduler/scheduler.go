package scheduler

import (
	"slices"

	"evbench/topology"
)

// None stands for "no spine": a message between servers of one leaf, or a
// schedule that leaves the choice to the routing tables.
const None = -1

// A Message is one fragment transfer of a schedule. Top is the top switch of the plane Spine
// between pods of a three-level tree, the lane (topology.Tree.Lane) where cables are parallel,
// else None.
type Message struct{ Phase, Src, Dst, Spine, Top int }

// A slot is when and how an ordered pair of servers meets: phase<<8 | spine,
// with spine 255 for None. One slot per pair keeps 4,096 servers in 64 MB.
type slot uint32

const (
	noSpine  = 0xff
	maxPhase = 1<<24 - 1
	absent   = slot(maxPhase)<<8 | noSpine // the pair never meets
)

func makeSlot(phase, spine int) slot {
	if spine == None {
		spine = noSpine
	}
	return slot(phase)<<8 | slot(spine)
}

func (s slot) phase() int { return int(s >> 8) }

func (s slot) spine() int {
	if k := int(s & 0xff); k != noSpine {
		return k
	}
	return None
}

// A Schedule says for each ordered pair of ranks when they meet. It is
// immutable once returned by a constructor of this package.
type Schedule struct {
	Name   string // as on the command line: "linear-shift", "fors", …
	Ranks  int    // S
	Phases int    // phases that hold at least one message
	Pinned bool   // the schedule chose a spine for every message between leaves
	Moved  int    // messages that a repair moved to another phase

	slots []slot  // [src·Ranks + dst]; the diagonal is not used
	tops  []uint8 // likewise, noSpine for None; nil in two-level trees with single cables
}

func newSchedule(name string, servers int) *Schedule {
	return &Schedule{Name: name, Ranks: servers, slots: make([]slot, servers*servers)}
}

func (s *Schedule) meet(phase func(src, dst int) int) {
	for src := range s.Ranks {
		for dst := range s.Ranks {
			if src != dst {
				s.slots[src*s.Ranks+dst] = makeSlot(phase(src, dst), None)
			}
		}
	}
}

// drop leaves out the messages of pairs of leaves that cannot reach each other, and phases then
// without a message. O(S²) where there are such pairs.
func (s *Schedule) drop(t *topology.Tree, apart [][2]int) {
	for _, p := range apart {
		for a := t.First(p[0]); a < t.First(p[0]+1); a++ {
			for b := t.First(p[1]); b < t.First(p[1]+1); b++ {
				s.slots[a*s.Ranks+b], s.slots[b*s.Ranks+a] = absent, absent
			}
		}
	}
	if len(apart) > 0 {
		s.dropEmpty()
	}
}

// dropEmpty renumbers the phases so that each holds a message. O(S²).
func (s *Schedule) dropEmpty() {
	number := make([]int, s.Phases)
	s.walk(func(_, _ int, x *slot) { number[x.phase()] = 1 })
	next := 0
	for p, used := range number {
		number[p] = next
		next += used
	}
	s.walk(func(_, _ int, x *slot) { *x = makeSlot(number[x.phase()], x.spine()) })
	s.Phases = next
}

func (s *Schedule) walk(f func(src, dst int, x *slot)) {
	for src := range s.Ranks {
		row := s.slots[src*s.Ranks:][:s.Ranks]
		for dst := range row {
			if dst != src && row[dst] != absent {
				f(src, dst, &row[dst])
			}
		}
	}
}

// At returns the phase in which src sends to dst, and its spine, or None; twice None where the pair
// is left out (Meets). src and dst differ.
func (s *Schedule) At(src, dst int) (phase, spine int) {
	x := s.slots[src*s.Ranks+dst]
	if x == absent {
		return None, None
	}
	return x.phase(), x.spine()
}

// Meets reports whether src ever sends to dst. It is false only for pairs left
// out with Options.DropUnreachable, and for src = dst.
func (s *Schedule) Meets(src, dst int) bool {
	return src != dst && s.slots[src*s.Ranks+dst] != absent
}

// Top returns the top switch through which the message from src to dst goes, or the lane where
// cables are parallel, or None: within a pod, and in two-level trees with single cables.
func (s *Schedule) Top(src, dst int) int {
	if s.tops == nil {
		return None
	}
	if k := int(s.tops[src*s.Ranks+dst]); k != noSpine {
		return k
	}
	return None
}

// A Step is what one server does in one phase. To and From are ranks, or Idle.
type Step struct{ To, ToSpine, From, FromSpine int }

// Idle is the To or From of a server that does not send or receive in a phase.
const Idle = -1

// Row returns the steps of one rank, one per phase.
func (s *Schedule) Row(rank int) []Step {
	row := slices.Repeat([]Step{{Idle, None, Idle, None}}, s.Phases)
	for peer := range s.Ranks {
		if peer == rank {
			continue
		}
		if p, k := s.At(rank, peer); p != None {
			row[p].To, row[p].ToSpine = peer, k
		}
		if p, k := s.At(peer, rank); p != None {
			row[p].From, row[p].FromSpine = peer, k
		}
	}
	return row
}
