// Package slots holds when and over which path each ordered pair of ranks meets, in four bytes each, and
// gives parallel cables to paths.
package slots

import (
	"slices"

	"evbench/topology"
)

// A Slot is when and how an ordered pair of servers meets: phase<<8 | spine, with spine 255 for
// none. One slot per pair keeps 4,096 servers in 64 MB.
type Slot uint32

// A pair that never meets has the highest phase.
const (
	NoSpine  = 0xff
	MaxPhase = 1<<24 - 1
	Absent   = Slot(MaxPhase)<<8 | NoSpine // the pair never meets
)

// Make returns a slot; spine may be none, -1.
func Make(phase, spine int) Slot {
	if spine == none {
		spine = NoSpine
	}
	return Slot(phase)<<8 | Slot(spine)
}

// Phase returns when the pair meets.
func (s Slot) Phase() int { return int(s >> 8) }

// Spine returns over which spine, or none, -1.
func (s Slot) Spine() int {
	if k := int(s & 0xff); k != NoSpine {
		return k
	}
	return none
}

// In returns a slot of phase 0 with another phase.
func (s Slot) In(phase int32) Slot { return s | Slot(phase)<<8 }

// A Way is the path of a message between leaves: a spine or, on three levels, a
// plane and, between pods, a top switch of it; else none.
type Way struct{ Spine, Top int }

// A Table holds the slots of all pairs of ranks.
type Table struct {
	Ranks  int
	Phases int
	Slots  []Slot  // [src·ranks + dst]; the diagonal is not used
	Tops   []uint8 // likewise, NoSpine for none; nil in two-level trees with single cables
}

// New returns a table in which all pairs meet in phase 0 over spine 0.
func New(ranks, phases int) *Table {
	return &Table{Ranks: ranks, Phases: phases, Slots: make([]Slot, ranks*ranks)}
}

// Met returns a table in which all pairs meet, without spines.
func Met(ranks, phases int, phase func(src, dst int) int) *Table {
	t := New(ranks, phases)
	for src := range ranks {
		for dst := range ranks {
			if src != dst {
				t.Slots[src*ranks+dst] = Make(phase(src, dst), none)
			}
		}
	}
	return t
}

// Unpinned returns the phases of t, without paths.
func (t *Table) Unpinned() *Table {
	out := New(t.Ranks, t.Phases)
	for i, x := range t.Slots {
		out.Slots[i] = x | NoSpine
	}
	return out
}

// Blank makes all pairs absent.
func (t *Table) Blank() {
	for i := range t.Slots {
		t.Slots[i] = Absent
	}
}

// AddTops makes room for a top switch, or lane, of each pair.
func (t *Table) AddTops() { t.Tops = slices.Repeat([]uint8{NoSpine}, len(t.Slots)) }

// Way returns the path of a message, by its place in the slots.
func (t *Table) Way(m uint32) Way {
	w := Way{t.Slots[m].Spine(), none}
	if t.Tops != nil && t.Tops[m] != NoSpine {
		w.Top = int(t.Tops[m])
	}
	return w
}

// Put gives a message, by its place in the slots, phase and path.
func (t *Table) Put(m uint32, phase int, w Way) {
	t.Slots[m] = Make(phase, w.Spine)
	if t.Tops != nil {
		t.Tops[m] = uint8(w.Top) // none is NoSpine
	}
}

// DropEmpty renumbers the phases so that each holds a message. O(S²).
func (t *Table) DropEmpty() {
	number := make([]int, t.Phases)
	t.Walk(func(_, _ int, x *Slot) { number[x.Phase()] = 1 })
	next := 0
	for p, used := range number {
		number[p] = next
		next += used
	}
	t.Walk(func(_, _ int, x *Slot) { *x = Make(number[x.Phase()], x.Spine()) })
	t.Phases = next
}

// Spread gives the slots of readers and builders, a row for each reader, to their servers. Messages of
// a server to itself are left out, and then phases without a message.
func (t *Table) Spread(tree *topology.Roles, rows []Slot) {
	t.Blank()
	at := 0
	for src := range t.Ranks {
		for dst := range t.Ranks {
			if !tree.Reads(src) || !tree.Builds(dst) {
				continue
			}
			if src != dst {
				t.Slots[src*t.Ranks+dst] = rows[at]
			}
			at++
		}
	}
	t.DropEmpty()
}

// Walk calls f with the slots of all pairs that meet, by src and then dst.
func (t *Table) Walk(f func(src, dst int, x *Slot)) {
	for src := range t.Ranks {
		row := t.Slots[src*t.Ranks:][:t.Ranks]
		for dst := range row {
			if dst != src && row[dst] != Absent {
				f(src, dst, &row[dst])
			}
		}
	}
}

// Starts returns the number of messages before each phase, then the number of all messages.
func (t *Table) Starts() []int {
	start := make([]int, t.Phases+1)
	t.Walk(func(_, _ int, x *Slot) { start[x.Phase()+1]++ })
	for p := range t.Phases {
		start[p+1] += start[p]
	}
	return start
}

// ByPhase returns the messages, as indices of slots, sorted by phase and then
// source; those of phase p are order[start[p]:start[p+1]].
func (t *Table) ByPhase() (start []int, order []int32) {
	start = t.Starts()
	next, order := slices.Clone(start), make([]int32, start[t.Phases])
	t.Walk(func(src, dst int, x *Slot) {
		order[next[x.Phase()]] = int32(src*t.Ranks + dst)
		next[x.Phase()]++
	})
	return start, order
}

// none stands for no spine or top switch.
const none = -1
