package split

import "slices"

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
