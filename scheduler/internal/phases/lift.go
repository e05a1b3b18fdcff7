package phases

import (
	"slices"
	"sync"

	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/schedules"
)

// Lift gives the slots of all blocks to servers. Each ordered pair of leaves a, b has r_a·b_b
// slots, and no phase more than r_a that leave a or b_b that enter b: its readers and builders.
//
//  1. For each destination leaf b, colour the bipartite graph of phases and groups, the slots
//     of a block taken b_b at a time, with b_b colours: the destination servers.
//  2. For each source leaf a, colour the graph of phases and destination servers, which have
//     r_a slots each from a, with r_a colours: the source servers.
//
// Both exist (König): in 1 a phase has at most b_b edges, as many as enter leaf b, and a group has b_b;
// in 2 a phase has at most r_a, as many as leave leaf a. Both permute slots within the memory of one
// leaf. O(S²·log n) in all.
func (t *Blocks) Lift(o schedules.Options) {
	pool := sync.Pool{New: func() any { return &lifter{b: t, f: t.f, seed: o.Seed} }}
	for _, step := range []func(*lifter, int){(*lifter).destinations, (*lifter).sources} {
		parallel.Each(o.Workers, t.f.Leaves, func(_, leaf int) {
			l := pool.Get().(*lifter)
			step(l, leaf)
			pool.Put(l)
		})
	}
}

// A lifter is the working memory of one goroutine.
type lifter struct {
	b      *Blocks
	f      *fattree.Tree
	seed   uint64
	memory coloring.Memory
	right  []int32      // the phase of each edge
	out    []slots.Slot // slots of one leaf, in the new order
}

// color gives the edges from rows of n to phases one of n colours.
func (l *lifter) color(n, leaf int) []int32 {
	return coloring.Rows(n, l.right, l.b.Phases+1, coloring.Options{Seed: l.seed ^ uint64(leaf+1)<<32, Memory: &l.memory})
}

func (l *lifter) destinations(b int) {
	n := l.f.B[b]
	l.right = slices.Grow(l.right[:0], n*(l.f.R[b]+l.f.Heard[b]))
	for a := range l.f.Leaves {
		if l.f.Meets(a, b) {
			for _, s := range l.b.Slots[l.b.Block(a, b):][:n*l.f.R[a]] {
				l.right = append(l.right, int32(s.Phase()))
			}
		}
	}
	color := l.color(n, b)
	if m := l.b.Selves(b); m > 0 && m < n {
		l.selvesBuild(b, color)
	}
	l.out = slices.Grow(l.out[:0], n)[:n]
	for a := range l.f.Leaves {
		if !l.f.Meets(a, b) {
			continue
		}
		for g := range l.f.R[a] {
			group := l.b.Slots[l.b.Block(a, b)+g*n:][:n]
			for i, s := range group {
				l.out[color[i]] = s
			}
			copy(group, l.out)
			color = color[n:]
		}
	}
}

// sources puts the slots of leaf a in their final places: a row of the builders for each source
// server.
func (l *lifter) sources(a int) {
	n := l.f.R[a]
	l.right = slices.Grow(l.right[:0], n*l.b.width)
	for b := range l.f.Leaves {
		if l.f.Meets(a, b) {
			l.column(a, b, func(s slots.Slot) { l.right = append(l.right, int32(s.Phase())) })
		}
	}
	row := l.color(n, l.f.Leaves+a)
	if l.b.Selves(a) > 0 {
		l.selfToSelf(a, row)
	}
	l.out = slices.Grow(l.out[:0], n*l.b.width)[:n*l.b.width]
	for b := range l.f.Leaves {
		if !l.f.Meets(a, b) {
			for i := range n * l.f.B[b] {
				l.out[i/l.f.B[b]*l.b.width+l.f.Builders[b]+i%l.f.B[b]] = slots.Absent
			}
			continue
		}
		for beta := range l.f.B[b] {
			for g := range n {
				l.out[int(row[g])*l.b.width+l.f.Builders[b]+beta] = l.b.Slots[l.b.Block(a, b)+g*l.f.B[b]+beta]
			}
			row = row[n:]
		}
	}
	copy(l.b.Slots[l.f.Readers[a]*l.b.width:], l.out)
}

// column calls f with the slots of a block, those of the first destination server first.
func (l *lifter) column(a, b int, f func(s slots.Slot)) {
	n := l.f.B[b]
	block := l.b.Slots[l.b.Block(a, b):][:l.f.R[a]*n]
	for beta := range n {
		for i := beta; i < len(block); i += n {
			f(block[i])
		}
	}
}

// selfToSelf renames the source servers of leaf a such that each sends to itself in the added
// phase. In that phase the n servers of the leaf that read and build send to each other: a
// permutation. Names of source servers are free, so renaming makes it the identity.
func (l *lifter) selfToSelf(a int, row []int32) {
	n := l.f.R[a]
	name, taken := slices.Repeat([]int32{none}, n), make([]bool, n)
	before := 0
	for b := range a {
		if l.f.Meets(a, b) {
			before += n * l.f.B[b]
		}
	}
	unit, reader := before, l.f.ReaderOf(a)
	l.column(a, a, func(s slots.Slot) {
		if s.Phase() == l.b.Phases {
			i := reader[(unit-before)/n]
			name[row[unit]], taken[i] = i, true
		}
		unit++
	})
	rename(name, taken)
	for i, r := range row {
		row[i] = name[r]
	}
}

// selvesBuild renames the builders of a leaf, of which some only build, such that the builders that
// hear in the added phase also read.
func (l *lifter) selvesBuild(b int, color []int32) {
	var both []int32
	for i, reader := range l.f.ReaderOf(b) {
		if reader != none {
			both = append(both, int32(i))
		}
	}
	name, taken := slices.Repeat([]int32{none}, l.f.B[b]), make([]bool, l.f.B[b])
	for unit, phase := range l.right {
		if c := color[unit]; int(phase) == l.b.Phases {
			name[c], both = both[0], both[1:]
			taken[name[c]] = true
		}
	}
	rename(name, taken)
	for i, c := range color {
		color[i] = name[c]
	}
}

// rename gives unused names to the elements without a name.
func rename(name []int32, taken []bool) {
	next := int32(0)
	for i := range name {
		if name[i] != none {
			continue
		}
		for taken[next] {
			next++
		}
		name[i] = next
		next++
	}
}

// Blocks hold, for every ordered pair of leaves a, b, a = b included, a block of r_a·b_b slots
// (readers of a, builders of b), absent when the two do not meet. Blocks of one source leaf follow
// each other. All blocks fill the array of the schedule; lift works in place.
type Blocks struct {
	f      *fattree.Tree
	Phases int
	width  int // builders
	Slots  []slots.Slot
}

// NewBlocks returns the blocks of a tree in the slots of a schedule, or, where some servers only
// read or only build, apart.
func NewBlocks(f *fattree.Tree, phases int, of []slots.Slot) *Blocks {
	t := &Blocks{f: f, Phases: phases, width: f.Topology.Builders(), Slots: of}
	if f.Topology.Divided() {
		t.Slots = make([]slots.Slot, f.Topology.Readers()*t.width)
	}
	return t
}

// Block returns where the block of leaf a and leaf b begins.
func (t *Blocks) Block(a, b int) int { return t.f.Readers[a]*t.width + t.f.R[a]*t.f.Builders[b] }

// Selves returns how many servers of leaf a send to themselves in an added phase, which needs no
// time and is no phase of the schedule: none, or all that read and build. Elsewhere the normal
// phases hold such messages, which are dropped in the end.
func (t *Blocks) Selves(a int) int {
	if t.f.R[a] > 0 && t.f.B[a]+t.f.Reach[a] > t.Phases || t.f.B[a] > 0 && t.f.R[a]+t.f.Heard[a] > t.Phases {
		return min(t.f.R[a], t.f.B[a])
	}
	return 0
}

// none stands for no spine, server or node.
const none = -1
