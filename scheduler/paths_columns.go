package scheduler

import (
	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/schedules"
)

// columns is a schedule without source servers. Towards each destination server, a builder, a leaf
// of n readers has a column of n slots. Its readers may take the slots in any order, if each sends
// once in a column. The columns of a leaf follow each other by builder. The columns of all leaves
// fill the array of the schedule, in which sources turns them into rows. Columns of leaves that do
// not meet hold the slot absent.
type columns struct {
	f      *fabric
	phases int // without the added one
	// dropsSelf says that phase number `phases` is an added one, in which every server hears from
	// its own leaf. sources makes that phase, which is then not part of the schedule.
	dropsSelf bool
	width     int // builders
	slots     []slot
	out       *slotTable
}

func newColumns(f *fabric, phases int, dropsSelf bool) *columns {
	out := newSlotTable(f.servers, phases)
	b := newBlocks(f, phases, out.slots)
	return &columns{f: f, phases: phases, dropsSelf: dropsSelf, width: b.width, slots: b.slots, out: out}
}

// table returns the schedule, with source servers. The columns are then used up.
func (c *columns) table(bound Bound, o schedules.Options) *slotTable {
	c.sources(o)
	c.out.phases = c.phases
	finish(c.out, c.f, c.slots, bound)
	return c.out
}

func (c *columns) column(a, dst int) []slot {
	n := c.f.r[a]
	at := c.f.readers[a]*c.width + dst*n
	return c.slots[at : at+n : at+n]
}

// sources chooses the source servers: for each leaf, the bipartite graph of phases and
// destinations, which have n slots each, is coloured with n colours (König). O(S²·log n) in all.
func (c *columns) sources(o schedules.Options) {
	parallel.Each(o.Workers, c.f.leaves, func(_, a int) { c.rows(a, o.Seed) })
}

// rows makes the rows of leaf a, one for each of its servers, of its columns.
func (c *columns) rows(a int, seed uint64) {
	n, size := c.f.r[a], c.f.r[a]*c.width
	mine := c.slots[c.f.readers[a]*c.width:][:size]
	edges := make([]coloring.Edge, 0, size)
	for i, s := range mine {
		if s != absent {
			edges = append(edges, coloring.Edge{U: int32(i / n), V: int32(s.phase()), N: 1, First: int32(i)})
		}
	}
	row := make([]int32, size)
	g := coloring.Graph{Left: c.width, Right: c.phases + 1, Edges: edges}
	g.Color(n, coloring.Options{Seed: seed ^ uint64(a+1)<<32}, func(unit, color int32) { row[unit] = color })
	name := make([]int32, n)
	for i := range name {
		name[i] = int32(i)
	}
	for i, s := range mine {
		if s == absent {
			row[i] = int32(i % n)
		} else if c.dropsSelf && s.phase() == c.phases {
			// Names of sources are free: make that permutation the identity.
			name[row[i]] = int32(i/n - c.f.builders[a])
		}
	}
	out := make([]slot, size)
	for i, s := range mine {
		out[int(name[row[i]])*c.width+i/n] = s
	}
	copy(mine, out)
}
