package scheduler

import "slices"

// relax lowers the loads above the leaves further below the ceiling, while the leaf links stay
// below it. The search for top switches needs that room.
func (w *fluid) relax() {
	scale, x, load := w.scale, slices.Clone(w.x), slices.Clone(w.load)
	defer func() { w.scale = scale }()
	for _, margin := range []float64{0.1, 0.05, 0.02, 0.01} {
		w.slope, w.scale = gentle, slices.Clone(scale)
		for l := len(w.f.alive); l < len(scale); l++ {
			w.scale[l] *= 1 + margin
		}
		for range relaxSweeps {
			if w.excess() <= tolerance {
				return
			}
			w.sweep()
		}
	}
	copy(w.x, x)
	copy(w.load, load)
}

const relaxSweeps = 20
