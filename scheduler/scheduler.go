package scheduler

import (
	"iter"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// None stands for "no spine": a message between servers of one leaf, or a
// schedule that leaves the choice to the routing tables.
const None = -1

// MaxServers is how many servers a schedule may have.
const MaxServers = fattree.MaxServers

// A Message is one fragment transfer of a schedule. Top is the top switch of the plane Spine
// between pods of a three-level tree, the lane (topology.Tree.Lane) where cables are parallel,
// else None.
type Message struct{ Phase, Src, Dst, Spine, Top int }

// A Schedule says for each ordered pair of ranks when they meet. It is
// immutable once returned by a constructor of this package.
type Schedule struct {
	Name   string // as on the command line: "linear-shift", "fors", …
	Ranks  int    // S
	Phases int    // phases that hold at least one message
	Pinned bool   // the schedule chose a spine for every message between leaves
	Moved  int    // messages that a repair moved to another phase

	table  *slots.Table
	closed *shift // in place of table
}

func newSchedule(name string, table *slots.Table, pinned bool) *Schedule {
	return &Schedule{Name: name, Ranks: table.Ranks, Phases: table.Phases, Pinned: pinned, table: table}
}

// At returns the phase in which src sends to dst, and its spine, or None; twice None where the pair
// is left out (Meets). src and dst differ.
func (s *Schedule) At(src, dst int) (phase, spine int) {
	if s.closed != nil {
		return s.closed.phase(src, dst), s.closed.way(src, dst).Spine
	}
	x := s.table.Slots[src*s.Ranks+dst]
	if x == slots.Absent {
		return None, None
	}
	return x.Phase(), x.Spine()
}

// Meets reports whether src ever sends to dst. It is false only for pairs left
// out with Options.DropUnreachable, and for src = dst.
func (s *Schedule) Meets(src, dst int) bool {
	return src != dst && (s.closed != nil || s.table.Slots[src*s.Ranks+dst] != slots.Absent)
}

// Top returns the top switch through which the message from src to dst goes, or the lane where
// cables are parallel, or None: within a pod, and in two-level trees with single cables.
func (s *Schedule) Top(src, dst int) int {
	if s.closed != nil {
		return s.closed.way(src, dst).Top
	}
	return s.table.Way(uint32(src*s.Ranks + dst)).Top
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

// FromMessages returns the schedule of t that consists of the given messages, ranks and phases from
// 0, in any order. The caller vouches for them: each pair of servers at most once, phases below
// 2²⁴, spines and top switches of t. FromMessages takes their paths if pinned. O(S² + messages).
func FromMessages(name string, t topology.Wires, pinned bool, ms iter.Seq[Message]) *Schedule {
	table := slots.New(t.Servers(), 0)
	table.Blank()
	if t.Paths() > t.Spines() || t.Levels() == 3 {
		table.AddTops()
	}
	for m := range ms {
		path := slots.Way{Spine: None, Top: None}
		if pinned {
			path = slots.Way{Spine: m.Spine, Top: m.Top}
		}
		table.Phases = max(table.Phases, m.Phase+1)
		table.Put(uint32(m.Src*table.Ranks+m.Dst), m.Phase, path)
	}
	return newSchedule(name, table, pinned)
}

// Without returns s without the messages between these pairs of leaves, and without the
// phases that then hold none. O(S²).
func (s *Schedule) Without(t *topology.Shape, apart [][2]int) *Schedule {
	if len(apart) == 0 {
		return s
	}
	table, less := *s.tableOf(), *s
	table.Slots = slices.Clone(table.Slots)
	for _, p := range apart {
		for a := t.First(p[0]); a < t.First(p[0]+1); a++ {
			for b := t.First(p[1]); b < t.First(p[1]+1); b++ {
				table.Slots[a*s.Ranks+b], table.Slots[b*s.Ranks+a] = slots.Absent, slots.Absent
			}
		}
	}
	table.DropEmpty()
	less.Phases, less.table, less.closed = table.Phases, &table, nil
	return &less
}

// Options steer the search for a schedule; the zero value works.
type Options = schedules.Options

// All returns the messages of s by phase and then source, the order of a plan file, without pairs
// that never meet. It needs little memory: it sorts a band of phases at a time.
// O(S²) for each of at most nine bands.
func (s *Schedule) All() iter.Seq[Message] {
	if s.closed != nil {
		return s.closed.all()
	}
	return func(yield func(Message) bool) {
		start := s.table.Starts()
		var buf []meeting
		for low, phases := 0, s.table.Phases; low < phases; {
			high := low + 1
			for high < phases && start[high+1]-start[low] <= max(bandSize, len(s.table.Slots)/8) {
				high++
			}
			buf = s.band(buf, start, low, high)
			for p := low; p < high; p++ {
				for _, m := range buf[start[p]-start[low] : start[p+1]-start[low]] {
					if !yield(Message{p, int(m.src), int(m.dst), slots.Slot(m.spine).Spine(), slots.Slot(m.top).Spine()}) {
						return
					}
				}
			}
			low = high
		}
	}
}

// bandSize is how many messages All sorts at least at once.
const bandSize = 1 << 20

// A meeting is a message without its phase; its place in memory gives the phase.
type meeting struct {
	src, dst   uint16
	spine, top uint8
}

func (s *Schedule) band(buf []meeting, start []int, low, high int) []meeting {
	n := start[high] - start[low]
	buf = slices.Grow(buf[:0], n)[:n]
	next := lists.Tabulate(high-low, func(p int) int { return start[low+p] - start[low] })
	s.table.Walk(func(src, dst int, x *slots.Slot) { // rising src within each phase
		p := x.Phase() - low
		if uint(p) >= uint(len(next)) {
			return
		}
		top := uint8(slots.NoSpine)
		if s.table.Tops != nil {
			top = s.table.Tops[src*s.Ranks+dst]
		}
		buf[next[p]] = meeting{uint16(src), uint16(dst), uint8(*x), top}
		next[p]++
	})
	return buf
}
