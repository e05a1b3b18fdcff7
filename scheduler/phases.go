package scheduler

import (
	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/schedules"
)

// blocks hold, for every ordered pair of leaves a, b, a = b included, a block of r_a·b_b slots
// (readers of a, builders of b), absent when the two do not meet. Blocks of one source leaf follow
// each other. All blocks fill the array of the schedule; lift works in place.
type blocks struct {
	f      *fabric
	phases int
	width  int // builders
	slots  []slot
}

// newBlocks returns the blocks of a fabric in the slots of a schedule, or, where some servers only
// read or only build, apart.
func newBlocks(f *fabric, phases int, slots []slot) *blocks {
	t := &blocks{f: f, phases: phases, width: f.tree.Builders(), slots: slots}
	if f.tree.Roles() {
		t.slots = make([]slot, f.tree.Readers()*t.width)
	}
	return t
}

func (t *blocks) block(a, b int) int { return t.f.readers[a]*t.width + t.f.r[a]*t.f.builders[b] }

// selves returns how many servers of leaf a send to themselves in an added phase, which needs no
// time and is no phase of the schedule: none, or all that read and build. Elsewhere the normal
// phases hold such messages, which are dropped in the end.
func (t *blocks) selves(a int) int {
	if t.f.r[a] > 0 && t.f.b[a]+t.f.reach[a] > t.phases || t.f.b[a] > 0 && t.f.r[a]+t.f.heard[a] > t.phases {
		return min(t.f.r[a], t.f.b[a])
	}
	return 0
}

// color gives every slot its phase and the spine of a split.
//
// The graph has a left node for each live cable leaf→spine, a right node for each live cable
// spine→leaf, to which the messages of a spine are dealt evenly, and an edge for each message that uses both. But a leaf of n servers must also
// send and receive at most n in every phase. So the graph is made K-regular:
//
//   - What the links of a leaf with at most n live ones lack is filled with edges from its
//     up-links to its down-links: messages within the leaf. Servers without a link of their
//     own talk within the leaf all the time.
//   - A leaf with |A| > n live cables gets |A|-n idle nodes on either side, each with K edges
//     to its links.
//
// Where some servers only read or only build, n is the readers on the left and the builders on the
// right. Readers or builders without a link are nodes, too, if no other server of the leaf meets
// them all the time.
//
// A leaf whose servers reach r others has n·(K-r) slots within and needs n², messages to self
// included. K = n+r-1 gives n·(n-1): one added phase holds messages within the leaf, and lift makes
// each server talk to itself in that phase.
func (t *blocks) color(s *split, o schedules.Options) {
	g := newLinkGraph(t, s)
	n := int(g.nodes)
	(&coloring.Graph{Left: n, Right: n, Edges: g.edges}).Color(t.phases,
		coloring.Options{Seed: o.Seed, Workers: parallel.Workers(o.Workers)},
		func(unit, color int32) { t.slots[unit] = t.slots[unit].in(color) })
}
