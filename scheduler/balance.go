package scheduler

// balance splits the messages of every pair of leaves over its spines such that the largest link
// load, the number of phases, is least and at least S-1. It returns the best bound that it proves.
// Split and bound were equal in all trees tried. It is not known whether whole numbers always reach
// the bound (3-D transportation is NP-hard).
//
// A descent pushes a fractional split below a ceiling, or proves the ceiling too low and raises it.
// Rounding and repair follow. Where they fail, the ceiling rises without proof. balance has its own
// seed: the number of phases depends on the tree alone.
func (f *fabric) balance() (*split, Bound) {
	f.share()
	b := f.simpleBound()
	w := newFluid(f)
	if f.tree.Roles() {
		w = newFluid(f.directed())
		w.hallKnown = true // by lp
	}
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

// settle sweeps until no load is above the ceiling. It raises the ceiling whenever the loads prove
// it too low, and returns the bound so proven.
func (w *fluid) settle(b Bound, sweeps int) Bound {
	for i := 1; i <= sweeps && w.excess() > tolerance; i++ {
		w.sweep()
		if i%8 != 0 {
			continue
		}
		if w.f.tops == 0 && !w.hallKnown {
			b, w.hallKnown = w.f.hall(b), true
			w.ceiling = max(w.ceiling, float64(b.Phases))
		}
		for _, y := range w.weights() {
			if w.f.dual(y) > b.Phases {
				b = w.f.witness(y)
			}
		}
		w.ceiling = max(w.ceiling, float64(b.Phases))
	}
	return b
}

// settlePods is settle from the ceiling of b on, steep and then gentle.
func (w *fluid) settlePods(b Bound) Bound {
	w.ceiling = max(w.ceiling, float64(b.Phases))
	for _, w.slope = range []float64{steep, gentle} {
		b = w.settle(b, sweeps)
	}
	return b
}
