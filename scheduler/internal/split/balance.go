package split

import (
	"slices"

	"evbench/scheduler/internal/fattree"
)

// Balance splits the messages of every pair of leaves over its spines such that the largest link
// load, the number of phases, is least and at least S-1. It returns the best bound that it proves.
// Split and bound were equal in all trees tried. It is not known whether whole numbers always reach
// the bound (3-D transportation is NP-hard).
//
// A descent pushes a fractional split below a ceiling, or proves the ceiling too low and raises it.
// Rounding and repair follow. Where they fail, the ceiling rises without proof. Balance has its own
// seed: the number of phases depends on the tree alone.
func Balance(f *fattree.Tree) (*Split, Bound) {
	f.Share()
	b := Simple(f)
	w := NewFluid(f)
	if f.Topology.Divided() {
		w = NewFluid(f.Directed())
		w.hallKnown = true // by lp
	}
	w.Ceiling = float64(b.Phases)
	for b = w.settle(b, Sweeps); ; w.Ceiling++ {
		for try := range tries {
			if s := w.round(try); s.repair() {
				return s, b
			}
			if try == 0 {
				w.Slope = Gentle
				b = w.settle(b, 10*Sweeps)
			}
		}
	}
}

const (
	Sweeps    = 100
	tries     = 6
	Tolerance = 0.05 // fractional load above the ceiling that rounding and repair take care of
)

// settle sweeps until no load is above the ceiling. It raises the ceiling whenever the loads prove
// it too low, and returns the bound so proven.
func (w *Fluid) settle(b Bound, sweeps int) Bound {
	for i := 1; i <= sweeps && w.Excess() > Tolerance; i++ {
		w.Sweep()
		if i%8 != 0 {
			continue
		}
		if w.F.Tops == 0 && !w.hallKnown {
			b, w.hallKnown = Hall(w.F, b), true
			w.Ceiling = max(w.Ceiling, float64(b.Phases))
		}
		for _, y := range w.Weights() {
			if dual(w.F, y) > b.Phases {
				b = witness(w.F, y)
			}
		}
		w.Ceiling = max(w.Ceiling, float64(b.Phases))
	}
	return b
}

// SettlePods is settle from the ceiling of b on, steep and then gentle.
func (w *Fluid) SettlePods(b Bound) Bound {
	w.Ceiling = max(w.Ceiling, float64(b.Phases))
	for _, w.Slope = range []float64{steep, Gentle} {
		b = w.settle(b, Sweeps)
	}
	return b
}

// Relax lowers the loads above the leaves further below the ceiling, while the leaf links stay
// below it. The search for top switches needs that room.
func (w *Fluid) Relax() {
	scale, x, load := w.Scale, slices.Clone(w.X), slices.Clone(w.load)
	defer func() { w.Scale = scale }()
	for _, margin := range []float64{0.1, 0.05, 0.02, 0.01} {
		w.Slope, w.Scale = Gentle, slices.Clone(scale)
		for l := len(w.F.Alive); l < len(scale); l++ {
			w.Scale[l] *= 1 + margin
		}
		for range relaxSweeps {
			if w.Excess() <= Tolerance {
				return
			}
			w.Sweep()
		}
	}
	copy(w.X, x)
	copy(w.load, load)
}

const relaxSweeps = 20
