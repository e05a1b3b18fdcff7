package scheduler

import (
	"slices"

	"evbench/internal/coloring"
)

// A podFluid is a fractional split of the messages of each pair of leaves over
// planes, the same for both directions, made as even as a fluid is, on three kinds
// of links with a capacity in messages per phase:
//
//   - leaf and plane: 1;
//   - pod and plane: the live top switches, where they are fewer than the leaves;
//   - two pods and a plane: the top switches alive from both, where they are fewer
//     than from either.
//
// The share of each top switch is left open; what no such link shows, as when a
// pod has few top switches in common with several others, is left to the search
// that follows, and missing in the bound. Excess loads per capacity, given to
// each cable of a link, are weights of a Bound: the argument is that of fluid.
type podFluid struct {
	*podFabric
	ceiling float64
	slope   float64
	scale   []float64 // 1/capacity of each link; 0 where it has none
	load    []float64 // of each link
	pairs   []podPair
	x       []float64 // by pair, then place in its planes
	rest    []podRest // of the pair being filled
}

// A podPair is two leaves a < b and the planes between them.
type podPair struct {
	a, b   int
	planes []int32
}

// A podRest is the cost of one plane: slope·(base + x·rise), and above each of the
// breakpoints, rising, its rise more for each x.
type podRest struct {
	base, rise float64
	bend       [5]bend
	bends      int
}

type bend struct{ from, rise float64 }

func newPodFluid(f *podFabric) *podFluid {
	w := &podFluid{podFabric: f, slope: steep}
	w.capacities()
	w.load = make([]float64, len(w.scale))
	for a := range f.leaves {
		for b := a + 1; b < f.leaves; b++ {
			if !f.meets(a, b) {
				continue
			}
			p := podPair{a: a, b: b}
			for k := range f.spines {
				if f.usable(a, b, k) {
					p.planes = append(p.planes, int32(k))
				}
			}
			w.pairs = append(w.pairs, p)
			even := float64(f.messages(a, b)) / float64(len(p.planes))
			for _, k := range p.planes {
				w.x = append(w.x, even)
				w.put(p, int(k), even)
			}
		}
	}
	return w
}

// Links are numbered: leaf links, then pods and planes, then two pods and planes
// as in common. The first of a level:
func (f *podFabric) podLinks() int  { return f.leaves * f.spines }
func (f *podFabric) pairLinks() int { return f.podLinks() + f.pods*f.spines }

func (w *podFluid) capacities() {
	w.scale = make([]float64, w.pairLinks()+len(w.common))
	for i := range w.podLinks() {
		w.scale[i] = 1
	}
	for q := range w.pods {
		for k := range w.spines {
			if n := w.live(q, k); n > 0 && n < w.leavesAt(q, k) {
				w.scale[w.podLinks()+q*w.spines+k] = 1 / float64(n)
			}
			for r := range w.pods {
				if n := w.counts[w.between(q, r, k)]; q < r && n > 0 && n < min(w.live(q, k), w.live(r, k)) {
					w.scale[w.pairLinks()+w.between(q, r, k)] = 1 / float64(n)
				}
			}
		}
	}
}

// links returns the links that a message between two leaves uses on a plane, at
// most five.
func (f *podFabric) links(a, b, k int) (out [5]int, n int) {
	out[0], out[1] = f.link(a, k), f.link(b, k)
	q, r := f.pod[a], f.pod[b]
	if q == r {
		return out, 2
	}
	out[2], out[3] = f.podLinks()+q*f.spines+k, f.podLinks()+r*f.spines+k
	out[4] = f.pairLinks() + f.between(min(q, r), max(q, r), k)
	return out, 5
}

func (w *podFluid) put(p podPair, k int, x float64) {
	links, n := w.links(p.a, p.b, k)
	for _, l := range links[:n] {
		w.load[l] += x
	}
}

// excess returns by how much the largest load per capacity is above the ceiling.
func (w *podFluid) excess() float64 {
	most := 0.0
	for l, load := range w.load {
		most = max(most, float64(load*w.scale[l]))
	}
	return most - w.ceiling
}

// settle sweeps until no load is above the ceiling, raising the ceiling, which
// starts at b, whenever the loads prove that none can be. It returns the best
// bound so proven.
func (w *podFluid) settle(b Bound) Bound {
	w.ceiling = max(w.ceiling, float64(b.Phases))
	for _, stage := range []struct {
		slope  float64
		sweeps int
	}{{steep, sweeps}, {gentle, sweeps}} {
		w.slope = stage.slope
		for i := 1; i <= stage.sweeps && w.excess() > tolerance; i++ {
			w.sweep()
			if i%8 != 0 {
				continue
			}
			for _, y := range w.weights() {
				if w.dual(y) > b.Phases {
					b = w.witness(y)
				}
			}
			w.ceiling = max(w.ceiling, float64(b.Phases))
		}
	}
	return b
}

// relax lowers the loads above the leaves further below the ceiling, as far as the
// leaf links stay below it: room in which the search for top switches succeeds.
func (w *podFluid) relax() {
	scale, x, load := w.scale, slices.Clone(w.x), slices.Clone(w.load)
	defer func() { w.scale = scale }()
	for _, margin := range []float64{0.1, 0.05, 0.02, 0.01} {
		w.slope, w.scale = gentle, slices.Clone(scale)
		for l := w.podLinks(); l < len(scale); l++ {
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

// sweep fills every pair once.
func (w *podFluid) sweep() {
	i := 0
	for _, p := range w.pairs {
		w.fill(p, w.x[i:i+len(p.planes)])
		i += len(p.planes)
	}
}

// fill divides the messages of a pair anew, given all others.
func (w *podFluid) fill(p podPair, x []float64) {
	w.rest = w.rest[:0]
	for i, k := range p.planes {
		w.put(p, int(k), -x[i])
		w.rest = append(w.rest, w.remaining(p, int(k)))
	}
	w.level(float64(w.messages(p.a, p.b)), x)
	for i, k := range p.planes {
		w.put(p, int(k), x[i])
	}
}

func (w *podFluid) remaining(p podPair, k int) (r podRest) {
	links, n := w.links(p.a, p.b, k)
	for _, l := range links[:n] {
		s := w.scale[l]
		if s == 0 {
			continue
		}
		r.base += float64(w.load[l] * s)
		r.rise += s
		b := bend{w.ceiling/s - w.load[l], s}
		i := r.bends
		for ; i > 0 && r.bend[i-1].from > b.from; i-- {
			r.bend[i] = r.bend[i-1]
		}
		r.bend[i] = b
		r.bends++
	}
	return r
}

// level pours n over the planes as fluid.level does.
func (w *podFluid) level(n float64, x []float64) {
	lo, hi := w.rest[0].cost(0, w.slope), w.rest[0].cost(n, w.slope)
	for i := range w.rest[1:] {
		r := &w.rest[i+1]
		lo, hi = min(lo, r.cost(0, w.slope)), max(hi, r.cost(n, w.slope))
	}
	at := newton{lo, hi, lo}
	for range 64 {
		sum, rise := 0.0, 0.0
		for i := range w.rest {
			v, d := w.rest[i].at(at.cost, w.slope)
			x[i] = v
			sum += v
			rise += d
		}
		if at.next(n, sum, rise) {
			break
		}
	}
	exact(n, x)
}

// cost is the marginal cost of x more.
func (r *podRest) cost(x, slope float64) float64 {
	c := slope * (r.base + float64(x*r.rise))
	for _, b := range r.bend[:r.bends] {
		c += float64(max(0, x-b.from) * b.rise)
	}
	return c
}

// at is its inverse, at least 0, with its derivative.
func (r *podRest) at(cost, slope float64) (x, rise float64) {
	c, d := cost-float64(slope*r.base), slope*r.rise
	x = c / d
	for _, b := range r.bend[:r.bends] {
		if x <= b.from {
			break
		}
		c, d = c+float64(b.from*b.rise), d+b.rise
		x = c / d
	}
	if x <= 0 {
		return 0, 0
	}
	return x, 1 / d
}

// weights returns candidates for the weights of a Bound, on several scales, and
// the cables above a height.
func (w *podFluid) weights() []podWeights {
	leaf, top := w.cables()
	most := max(slices.Max(leaf), slices.Max(top))
	if most <= 0 {
		return nil
	}
	var out []podWeights
	for _, scale := range []float64{weightScale, 12, 4, 2, 1} {
		round := func(e float64) int64 { return int64(float64(e/most*scale) + 0.5) }
		out = append(out, podWeights{weighed(leaf, round), weighed(top, round)})
	}
	for _, height := range []float64{0.1, 0.01} {
		above := func(e float64) int64 {
			if e > height*most {
				return 1
			}
			return 0
		}
		out = append(out, podWeights{weighed(leaf, above), weighed(top, above)})
	}
	return out
}

// weighed applies f to all.
func weighed(in []float64, f func(float64) int64) []int64 {
	out := make([]int64, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

// cables gives the excess load of each link to its cables. The cables of two pods
// to their common top switches share it.
func (w *podFluid) cables() (leaf, top []float64) {
	over := func(l int) float64 { return max(0, float64(w.load[l]*w.scale[l])-w.ceiling) }
	leaf = make([]float64, w.podLinks())
	for l := range leaf {
		leaf[l] = over(l)
	}
	top = make([]float64, w.pods*w.spines*w.tops)
	give := func(q, k int, tops coloring.ColorSet, e float64) {
		for t := tops.Next(0); e > 0 && t != none; t = tops.Next(t + 1) {
			top[(q*w.spines+k)*w.tops+t] += e
		}
	}
	for q := range w.pods {
		for k := range w.spines {
			give(q, k, w.common[w.between(q, q, k)], over(w.podLinks()+q*w.spines+k))
			for r := q + 1; r < w.pods; r++ {
				e, i := over(w.pairLinks()+w.between(q, r, k)), w.between(q, r, k)
				give(q, k, w.common[i], e/2)
				give(r, k, w.common[i], e/2)
			}
		}
	}
	return leaf, top
}
