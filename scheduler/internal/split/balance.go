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
		w = newDirected(f)
	}
	w.Ceiling = float64(b.Phases)
	for b = w.settle(b, sweeps); ; w.Ceiling++ {
		for try := range tries {
			if s := w.round(try); s.repair() {
				return s, b
			}
			if try == 0 {
				w.Slope = gentle
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
func (w *Fluid) settle(b Bound, most int) Bound {
	for i := 1; i <= most && w.excess() > tolerance; i++ {
		w.sweep()
		if i%8 != 0 {
			continue
		}
		if w.F.Tops == 0 && !w.hallKnown {
			b, w.hallKnown = Hall(w.F, b), true
			w.Ceiling = max(w.Ceiling, float64(b.Phases))
		}
		for _, y := range w.weights() {
			b = w.better(b, y)
		}
		w.Ceiling = max(w.Ceiling, float64(b.Phases)*w.unit)
	}
	return b
}

// better is the bound that weights prove, or b if that is as good.
func (w *Fluid) better(b Bound, y []int64) Bound {
	if n := w.dual(y); n > b.Phases {
		return Bound{Phases: n, Kind: KindLP, Weights: byWire(w.F, y)}
	}
	return b
}

// SettlePods is settle from the ceiling of b on, steep and then gentle.
func (w *Fluid) SettlePods(b Bound) Bound {
	w.Ceiling = max(w.Ceiling, float64(b.Phases))
	for _, w.Slope = range []float64{steep, gentle} {
		b = w.settle(b, sweeps)
	}
	return b
}

// byteUnits is a bound in units of the fluid, whose slope and tolerance suit messages.
const byteUnits = 1000

// Bytes splits bytes between leaves, by a·leaves + b, over links up and down. It returns the best bound that it proves, not below
// b, and a split near it, in parts of bytes times its unit. Two leaves that have bytes and share no live path are apart.
func Bytes(f *fattree.Tree, between []int64, b Bound) (_ Bound, w *Fluid, apart *[2]int) {
	w = &Fluid{F: f.Directed()}
	for at, n := range between {
		if x := [2]int{at / f.Leaves, at % f.Leaves}; n > 0 {
			if !w.F.Pair(x[0], f.Leaves+x[1]) {
				return b, nil, &x
			}
			w.counts = append(w.counts, n)
		}
	}
	for q, name := range w.F.Name { // what enters or leaves a pod
		ways := f.Spines * f.Tops
		y := make([]int64, len(w.F.Alive)+len(w.F.Name)*ways)
		for i := range ways {
			if f.Topology.TopAlive(name, i/f.Tops, i%f.Tops) {
				y[len(w.F.Alive)+q*ways+i] = 1
			}
		}
		b = w.better(b, y)
	}
	w = newFluid(w.F, w.counts, byteUnits/float64(max(1, b.Phases)))
	w.hallKnown, w.Ceiling = true, float64(b.Phases)*w.unit
	b = w.settle(b, sweeps-1)
	w.Slope = gentle
	return w.settle(b, 2*sweeps+1), w, nil
}

// Shares calls f for each pair of leaves and spine with the bytes that the split puts there, where loads reach the bound.
func (w *Fluid) Shares(b Bound, f func(from, to, spine int, bytes float64)) {
	scale, i := float64(max(1, b.Phases))/max(1, w.Ceiling), 0
	for _, p := range w.F.Pairs {
		for _, k := range p.Spines {
			f(w.F.Leaf[p.A], w.F.Leaf[p.B], int(k), w.X[i]*scale)
			i++
		}
	}
}

// Relax lowers the loads above the leaves further below the ceiling, while the leaf links stay
// below it. The search for top switches needs that room.
func (w *Fluid) Relax() {
	scale, x, load := w.Scale, slices.Clone(w.X), slices.Clone(w.load)
	defer func() { w.Scale = scale }()
	for _, margin := range []float64{0.1, 0.05, 0.02, 0.01} {
		w.Slope, w.Scale = gentle, slices.Clone(scale)
		for l := len(w.F.Alive); l < len(scale); l++ {
			w.Scale[l] *= 1 + margin
		}
		for range relaxSweeps {
			if w.excess() <= tolerance {
				return
			}
			w.sweep()
		}
	}
	copy(w.X, x)
	copy(w.load, load)
}

const relaxSweeps = 20
