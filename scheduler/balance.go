package scheduler

// balance splits the messages of every pair of leaves over its spines such that
// the largest link load is least, and not below S-1, which costs nothing. It
// returns the split, whose ceiling is the number of phases, and the best lower
// bound proven on the way. The two are equal in all of some 50,000 trees tried;
// whether whole numbers always reach the bound is not known (the general
// problem, 3-D transportation, is NP-hard).
//
// The ceiling starts at what servers and leaves need, and, where that does not
// prove enough at once, sets of leaves (hall). A fractional split is pushed below
// it, or proves it too low, which raises it; then the split is rounded and
// repaired. If that fails, the fraction is looked at more closely,
// and in the end the ceiling is raised without proof.
//
// No seed but its own is used: the number of phases depends on the tree alone.
func (f *fabric) balance() (*split, Bound) {
	f.share()
	b := f.simpleBound()
	w := newFluid(f)
	w.ceiling = float64(b.Phases)
	for b = w.settle(b, sweeps); ; w.ceiling++ {
		for try := range tries {
			if s := w.round(try); s.repair() {
				return s, b
			}
			if try == 0 {
				w.slope = gentle
				b = w.settle(b, 10*sweeps)
			}
		}
	}
}

const (
	sweeps    = 100
	tries     = 6
	tolerance = 0.05 // fractional load above the ceiling that rounding and repair take care of
)

// settle sweeps until no load is above the ceiling, raising the ceiling whenever
// the loads prove that none can be, and returns the bound so proven.
func (w *fluid) settle(b Bound, sweeps int) Bound {
	for i := 1; i <= sweeps && w.excess() > tolerance; i++ {
		w.sweep()
		if i%8 != 0 {
			continue
		}
		if w.tops == 0 && !w.hallKnown {
			b, w.hallKnown = w.hall(b), true
			w.ceiling = max(w.ceiling, float64(b.Phases))
		}
		for _, y := range w.weights() {
			if w.dual(y) > b.Phases {
				b = w.witness(y)
			}
		}
		w.ceiling = max(w.ceiling, float64(b.Phases))
	}
	return b
}
