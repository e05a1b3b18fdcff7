package scheduler

import (
	"slices"

	"evbench/topology"
)

// A slot is when and how an ordered pair of servers meets: phase<<8 | spine, with spine 255 for
// none. One slot per pair keeps 4,096 servers in 64 MB.
type slot uint32

const (
	noSpine  = 0xff
	maxPhase = 1<<24 - 1
	absent   = slot(maxPhase)<<8 | noSpine // the pair never meets
)

func makeSlot(phase, spine int) slot {
	if spine == none {
		spine = noSpine
	}
	return slot(phase)<<8 | slot(spine)
}

func (s slot) phase() int { return int(s >> 8) }

func (s slot) spine() int {
	if k := int(s & 0xff); k != noSpine {
		return k
	}
	return none
}

// in returns a slot of phase 0 with another phase.
func (s slot) in(phase int32) slot { return s | slot(phase)<<8 }

// A way is the path of a message between leaves: a spine or, on three levels, a
// plane and, between pods, a top switch of it; else none.
type way struct{ spine, top int }

// A slotTable holds the slots of all pairs of ranks.
type slotTable struct {
	ranks  int
	phases int
	slots  []slot  // [src·ranks + dst]; the diagonal is not used
	tops   []uint8 // likewise, noSpine for none; nil in two-level trees with single cables
}

func newSlotTable(ranks, phases int) *slotTable {
	return &slotTable{ranks: ranks, phases: phases, slots: make([]slot, ranks*ranks)}
}

// met returns a table in which all pairs meet, without spines.
func met(ranks, phases int, phase func(src, dst int) int) *slotTable {
	t := newSlotTable(ranks, phases)
	for src := range ranks {
		for dst := range ranks {
			if src != dst {
				t.slots[src*ranks+dst] = makeSlot(phase(src, dst), none)
			}
		}
	}
	return t
}

// shifted returns linear shift: in phase p rank s sends to rank (s+p+1) mod ranks.
func shifted(ranks int) *slotTable {
	return met(ranks, ranks-1, func(src, dst int) int { return (dst - src - 1 + ranks) % ranks })
}

// unpinned returns the phases of t, without paths.
func (t *slotTable) unpinned() *slotTable {
	out := newSlotTable(t.ranks, t.phases)
	for i, x := range t.slots {
		out.slots[i] = x | noSpine
	}
	return out
}

// blank makes all pairs absent.
func (t *slotTable) blank() {
	for i := range t.slots {
		t.slots[i] = absent
	}
}

// addTops makes room for a top switch, or lane, of each pair.
func (t *slotTable) addTops() { t.tops = slices.Repeat([]uint8{noSpine}, len(t.slots)) }

// way returns the path of a message, by its place in the slots.
func (t *slotTable) way(m uint32) way {
	w := way{t.slots[m].spine(), none}
	if t.tops != nil && t.tops[m] != noSpine {
		w.top = int(t.tops[m])
	}
	return w
}

// put gives a message, by its place in the slots, phase and path.
func (t *slotTable) put(m uint32, phase int, w way) {
	t.slots[m] = makeSlot(phase, w.spine)
	if t.tops != nil {
		t.tops[m] = uint8(w.top) // none is noSpine
	}
}

// drop leaves out the messages of pairs of leaves that cannot reach each other, and phases then
// without a message. O(S²) where there are such pairs.
func (t *slotTable) drop(tree *topology.Tree, apart [][2]int) {
	for _, p := range apart {
		for a := tree.First(p[0]); a < tree.First(p[0]+1); a++ {
			for b := tree.First(p[1]); b < tree.First(p[1]+1); b++ {
				t.slots[a*t.ranks+b], t.slots[b*t.ranks+a] = absent, absent
			}
		}
	}
	if len(apart) > 0 {
		t.dropEmpty()
	}
}

// dropEmpty renumbers the phases so that each holds a message. O(S²).
func (t *slotTable) dropEmpty() {
	number := make([]int, t.phases)
	t.walk(func(_, _ int, x *slot) { number[x.phase()] = 1 })
	next := 0
	for p, used := range number {
		number[p] = next
		next += used
	}
	t.walk(func(_, _ int, x *slot) { *x = makeSlot(number[x.phase()], x.spine()) })
	t.phases = next
}

// spread gives the slots of readers and builders, a row for each reader, to their servers. Messages of
// a server to itself are left out, and then phases without a message.
func (t *slotTable) spread(tree *topology.Tree, rows []slot) {
	t.blank()
	at := 0
	for src := range t.ranks {
		for dst := range t.ranks {
			if !tree.Reads(src) || !tree.Builds(dst) {
				continue
			}
			if src != dst {
				t.slots[src*t.ranks+dst] = rows[at]
			}
			at++
		}
	}
	t.dropEmpty()
}

// walk calls f with the slots of all pairs that meet, by src and then dst.
func (t *slotTable) walk(f func(src, dst int, x *slot)) {
	for src := range t.ranks {
		row := t.slots[src*t.ranks:][:t.ranks]
		for dst := range row {
			if dst != src && row[dst] != absent {
				f(src, dst, &row[dst])
			}
		}
	}
}

// starts returns the number of messages before each phase, then the number of all messages.
func (t *slotTable) starts() []int {
	start := make([]int, t.phases+1)
	t.walk(func(_, _ int, x *slot) { start[x.phase()+1]++ })
	for p := range t.phases {
		start[p+1] += start[p]
	}
	return start
}

// byPhase returns the messages, as indices of slots, sorted by phase and then
// source; those of phase p are order[start[p]:start[p+1]].
func (t *slotTable) byPhase() (start []int, order []int32) {
	start = t.starts()
	next, order := slices.Clone(start), make([]int32, start[t.phases])
	t.walk(func(src, dst int, x *slot) {
		order[next[x.phase()]] = int32(src*t.ranks + dst)
		next[x.phase()]++
	})
	return start, order
}
