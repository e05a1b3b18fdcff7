package scheduler

import "slices"

// Links are numbered: leaf links, then pods and planes, then two pods and planes
// as in common. The first of a level:
func (f *fabric) podLinks() int  { return f.leaves * f.spines }
func (f *fabric) pairLinks() int { return f.podLinks() + f.pods*f.spines }

func (f *fabric) scales() []float64 {
	if f.tops == 0 {
		scale := slices.Repeat([]float64{1}, len(f.alive))
		for l, n := range f.cables {
			scale[l] = 1 / float64(max(n, 1))
		}
		return scale
	}
	scale := make([]float64, f.pairLinks()+len(f.shared))
	for i := range f.podLinks() {
		scale[i] = 1
	}
	for q := range f.pods {
		for k := range f.spines {
			if n := f.topsOf(q, k); n > 0 && n < f.leavesAt(q, k) {
				scale[f.podLinks()+q*f.spines+k] = 1 / float64(n)
			}
			for r := range f.pods {
				if n := f.counts[f.between(q, r, k)]; q < r && n > 0 && n < min(f.topsOf(q, k), f.topsOf(r, k)) {
					scale[f.pairLinks()+f.between(q, r, k)] = 1 / float64(n)
				}
			}
		}
	}
	return scale
}

// links returns the links that a message between two leaves uses on a plane, at most five.
func (f *fabric) links(a, b, k int) (out [5]int, n int) {
	out[0], out[1] = f.link(a, k), f.link(b, k)
	q, r := f.pod[a], f.pod[b]
	if f.together(q, r) {
		return out, 2
	}
	out[2], out[3] = f.podLinks()+q*f.spines+k, f.podLinks()+r*f.spines+k
	out[4] = f.pairLinks() + f.between(min(q, r), max(q, r), k)
	return out, 5
}

// settlePods is settle from the ceiling of b on, steep and then gentle.
func (w *fluid) settlePods(b Bound) Bound {
	w.ceiling = max(w.ceiling, float64(b.Phases))
	for _, w.slope = range []float64{steep, gentle} {
		b = w.settle(b, sweeps)
	}
	return b
}

// relax lowers the loads above the leaves further below the ceiling, while the leaf links stay
// below it. The search for top switches needs that room.
func (w *fluid) relax() {
	scale, x, load := w.scale, slices.Clone(w.x), slices.Clone(w.load)
	defer func() { w.scale = scale }()
	for _, margin := range []float64{0.1, 0.05, 0.02, 0.01} {
		w.slope, w.scale = gentle, slices.Clone(scale)
		for l := len(w.alive); l < len(scale); l++ {
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
