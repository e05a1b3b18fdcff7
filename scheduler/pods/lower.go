package pods

import (
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
)

// lower plans the lower levels of a tree whose top switches always suffice.
func lower(f *fattree.Tree, o schedules.Options) (*slots.Table, split.Bound, error) {
	low := fattree.NewLower(f.Topology)
	low.Share()
	t, b, err := phases.Plan(low, o)
	if err != nil {
		return nil, b, err
	}
	return t, Raise(f, b), nil
}

// Raise returns a bound of the lower levels as one of all: what leaves and planes need is needed
// whatever lies above. A set of leaves becomes weights on the links that it shares with the leaf.
func Raise(f *fattree.Tree, b split.Bound) split.Bound {
	if b.Kind == split.KindHall {
		w := split.Bound{Phases: b.Phases, Kind: split.KindLP, Weights: make([]int64, f.Topology.Wires())}
		for _, l := range b.Subset {
			for k := range f.Spines {
				if f.Topology.Alive(b.Leaf, k) && f.Topology.Alive(l, k) {
					w.Weights[f.Topology.Up(b.Leaf, k)], w.Weights[f.Topology.Down(b.Leaf, k)] = 1, 1
				}
			}
		}
		return w
	}
	if b.Kind == split.KindLP {
		w := make([]int64, f.Topology.Wires())
		copy(w, b.Weights) // leaf links have the same numbers
		b.Weights = w
	}
	return b
}
