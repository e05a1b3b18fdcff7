package scheduler

// lowerPlan plans the lower levels of a tree whose top switches always suffice.
func (f *podFabric) lowerPlan(o Options) (*Schedule, Bound, error) {
	s, b, err := FORS(f.tree.Lower(), o)
	if err != nil {
		return nil, b, err
	}
	return s, f.raise(b), nil
}

// raise returns a bound of the lower levels as one of all: what leaves and planes
// need is needed whatever lies above. A set of leaves becomes weights on the links
// that it shares with the leaf.
func (f *podFabric) raise(b Bound) Bound {
	if b.Kind == KindHall {
		low := f.tree.Lower()
		w := Bound{Phases: b.Phases, Kind: KindLP, Weights: make([]int64, f.tree.Wires())}
		for _, l := range b.Subset {
			for _, k := range low.CommonSpines(b.Leaf, l) {
				w.Weights[low.Up(b.Leaf, k)], w.Weights[low.Down(b.Leaf, k)] = 1, 1
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
