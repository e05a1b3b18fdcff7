package scheduler

import "evbench/scheduler/schedules"

// lowerPlan plans the lower levels of a tree whose top switches always suffice.
func lowerPlan(f *fabric, o schedules.Options) (*slotTable, Bound, error) {
	low := newLower(f.tree)
	low.share()
	t, b, err := phasesFor(low, o)
	if err != nil {
		return nil, b, err
	}
	return t, raise(f, b), nil
}

// raise returns a bound of the lower levels as one of all: what leaves and planes need is needed
// whatever lies above. A set of leaves becomes weights on the links that it shares with the leaf.
func raise(f *fabric, b Bound) Bound {
	if b.Kind == KindHall {
		w := Bound{Phases: b.Phases, Kind: KindLP, Weights: make([]int64, f.tree.Wires())}
		for _, l := range b.Subset {
			for k := range f.spines {
				if f.tree.Alive(b.Leaf, k) && f.tree.Alive(l, k) {
					w.Weights[f.tree.Up(b.Leaf, k)], w.Weights[f.tree.Down(b.Leaf, k)] = 1, 1
				}
			}
		}
		return w
	}
	if b.Kind == KindLP {
		w := make([]int64, f.tree.Wires())
		copy(w, b.Weights) // leaf links have the same numbers
		b.Weights = w
	}
	return b
}
