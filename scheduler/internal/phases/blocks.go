package phases

import (
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
)

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
	if f.Topology.Roles() {
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
