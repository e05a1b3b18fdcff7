package phases

import (
	"evbench/internal/coloring"
	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
)

// Columns is a schedule without source servers. Towards each destination server, a builder, a leaf
// of n readers has a column of n slots. Its readers may take the slots in any order, if each sends
// once in a column. The columns of a leaf follow each other by builder. The columns of all leaves
// fill the array of the schedule, in which sources turns them into rows. Columns of leaves that do
// not meet hold the slot absent.
type Columns struct {
	F      *fattree.Tree
	Phases int // without the added one
	// DropsSelf says that phase number Phases is an added one, in which every server hears from
	// its own leaf. sources makes that phase, which is then not part of the schedule.
	DropsSelf bool
	Width     int // builders
	Slots     []slots.Slot
	out       *slots.Table
}

// NewColumns returns columns to be filled in.
func NewColumns(f *fattree.Tree, phases int, dropsSelf bool) *Columns {
	out := slots.New(f.Servers, phases)
	b := NewBlocks(f, phases, out.Slots)
	return &Columns{F: f, Phases: phases, DropsSelf: dropsSelf, Width: b.width, Slots: b.Slots, out: out}
}

// Table returns the schedule, with source servers. The columns are then used up.
func (c *Columns) Table(bound split.Bound, o schedules.Options) *slots.Table {
	c.sources(o)
	c.out.Phases = c.Phases
	Finish(c.out, c.F, c.Slots, bound)
	return c.out
}

// Column returns the slots of leaf a towards a destination.
func (c *Columns) Column(a, dst int) []slots.Slot {
	n := c.F.R[a]
	at := c.F.Readers[a]*c.Width + dst*n
	return c.Slots[at : at+n : at+n]
}

// sources chooses the source servers: for each leaf, the bipartite graph of phases and
// destinations, which have n slots each, is coloured with n colours: a leaf sends at most n messages in
// a phase, so no node has more edges (König). O(S²·log n) in all.
func (c *Columns) sources(o schedules.Options) {
	parallel.Each(o.Workers, c.F.Leaves, func(_, a int) { c.rows(a, o.Seed) })
}

// rows makes the rows of leaf a, one for each of its servers, of its columns.
func (c *Columns) rows(a int, seed uint64) {
	n, size := c.F.R[a], c.F.R[a]*c.Width
	mine := c.Slots[c.F.Readers[a]*c.Width:][:size]
	edges := make([]coloring.Edge, 0, size)
	for i, s := range mine {
		if s != slots.Absent {
			edges = append(edges, coloring.Edge{U: int32(i / n), V: int32(s.Phase()), N: 1, First: int32(i)})
		}
	}
	row := make([]int32, size)
	g := coloring.Graph{Left: c.Width, Right: c.Phases + 1, Edges: edges}
	g.Color(n, coloring.Options{Seed: seed ^ uint64(a+1)<<32}, func(unit, color int32) { row[unit] = color })
	name := lists.Range[int32](n)
	for i, s := range mine {
		if s == slots.Absent {
			row[i] = int32(i % n)
		} else if c.DropsSelf && s.Phase() == c.Phases {
			// Names of sources are free: make that permutation the identity.
			name[row[i]] = int32(i/n - c.F.Builders[a])
		}
	}
	out := make([]slots.Slot, size)
	for i, s := range mine {
		out[int(name[row[i]])*c.Width+i/n] = s
	}
	copy(mine, out)
}
