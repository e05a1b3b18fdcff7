package scheduler

import "slices"

// A fluid is a fractional split: the messages between leaves a and b, each way,
// divided over their common spines in parts x ≥ 0 of any size, the same for both
// directions. It is improved one pair of leaves after the other (block
// descent) on
//
//	Σ over links of  slope/2·load² + 1/2·max(0, load-ceiling)²,
//
// whose minimum has no load above the ceiling, but for a trace, whenever any
// split has none. Otherwise the excess loads y at the minimum prove the ceiling
// too low, as weights of a Bound: two leaves use only the spines on which the sum
// of their excesses is least, so what y proves is
//
//	Σ load·y / Σ y  =  ceiling + Σ y² / Σ y  >  ceiling.
//
// Products that are added are converted to float64 first, which keeps machines
// with a fused multiply-add from rounding differently: a plan made on one kind of
// machine can be made again on another.
type fluid struct {
	*fabric
	ceiling float64
	slope   float64
	load    []float64 // by link
	amount  []float64 // by pair: what is divided
	x       []float64 // by pair, then place in the pair's list of spines
	rest    []rest    // of the pair being filled

	hallKnown bool // the bound considered so far is at least that of hall
}

// The slope makes light links attract load from heavy ones also below the
// ceiling, which leaves room on both for rounding, but pushes some loads above
// it. So it is steep at first, and gentle when the excess has to prove something.
const (
	steep  = 1e-4
	gentle = 1e-6
)

// newFluid divides the messages of each pair evenly over its spines.
func newFluid(f *fabric) *fluid {
	amount := make([]float64, len(f.pairs))
	for i, p := range f.pairs {
		amount[i] = float64(f.messages(p.a, p.b))
	}
	return newFluidOf(f, amount)
}

// newFluidOf divides an amount of each pair evenly over its spines.
func newFluidOf(f *fabric, amount []float64) *fluid {
	w := &fluid{fabric: f, load: make([]float64, len(f.alive)), amount: amount, x: make([]float64, len(f.common)), slope: steep}
	i := 0
	for n, p := range f.pairs {
		even := amount[n] / float64(len(p.spines))
		for _, k := range p.spines {
			w.x[i] = even
			w.load[f.link(p.a, int(k))] += even
			w.load[f.link(p.b, int(k))] += even
			i++
		}
	}
	return w
}

// excess returns by how much the largest load is above the ceiling.
func (w *fluid) excess() float64 { return slices.Max(w.load) - w.ceiling }

// sweep fills every pair once. O(leaves²·spines).
func (w *fluid) sweep() {
	i := 0
	for n, p := range w.pairs {
		w.fill(p, w.amount[n], w.x[i:i+len(p.spines)])
		i += len(p.spines)
	}
}

// A rest is what the other pairs put on the two links of one spine.
type rest struct {
	sum  float64 // of both loads
	near float64 // what the fuller link takes up to the ceiling
	far  float64 // what the emptier link takes
}

// fill divides n of a pair anew, given all others.
func (w *fluid) fill(p pair, n float64, x []float64) {
	la, lb := w.load[w.link(p.a, 0):], w.load[w.link(p.b, 0):]
	w.rest = w.rest[:0]
	for i, k := range p.spines {
		la[k] -= x[i]
		lb[k] -= x[i]
		w.rest = append(w.rest, rest{
			sum:  la[k] + lb[k],
			near: w.ceiling - max(la[k], lb[k]),
			far:  w.ceiling - min(la[k], lb[k]),
		})
	}
	w.level(n, x)
	for i, k := range p.spines {
		la[k] += x[i]
		lb[k] += x[i]
	}
}

// level pours n over the spines (water-filling): the x with sum n whose marginal
// costs slope·(rest + 2x) + (x-near)₊ + (x-far)₊ are equal wherever x > 0. The
// sum is a rising piecewise linear function of that cost; Newton's method solves
// it exactly in a few steps, kept between brackets, as it may cycle without.
func (w *fluid) level(n float64, x []float64) {
	lo, hi := w.rest[0].cost(0, w.slope), w.rest[0].cost(n, w.slope)
	for _, r := range w.rest[1:] {
		lo, hi = min(lo, r.cost(0, w.slope)), max(hi, r.cost(n, w.slope))
	}
	at := newton{lo, hi, lo}
	for range 64 {
		sum, rise := 0.0, 0.0
		for i, r := range w.rest {
			v, d := r.at(at.cost, w.slope)
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

// A newton is a search for the cost at which parts have the sum n, between brackets.
type newton struct{ lo, hi, cost float64 }

// next takes the sum at the cost, with its derivative, and goes on to the next cost. It
// reports whether the sum is near enough to n.
func (s *newton) next(n, sum, rise float64) bool {
	miss := n - sum
	if miss < 1e-9*n && miss > -1e-9*n {
		return true
	}
	if miss > 0 {
		s.lo = s.cost
	} else {
		s.hi = s.cost
	}
	if rise > 0 {
		s.cost += miss / rise
	}
	if !(s.cost > s.lo && s.cost < s.hi) {
		s.cost = s.lo + (s.hi-s.lo)/2
	}
	return false
}

// exact scales x to sum n.
func exact(n float64, x []float64) {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	for i := range x {
		x[i] *= n / sum
	}
}

// cost is the marginal cost of x more on both links.
func (r rest) cost(x, slope float64) float64 {
	return float64(slope*(r.sum+2*x)) + max(0, x-r.near) + max(0, x-r.far)
}

// at is its inverse, at least 0, with its derivative.
func (r rest) at(cost, slope float64) (x, rise float64) {
	c := cost - float64(slope*r.sum)
	x, rise = c/(2*slope), 1/(2*slope)
	if x > r.near {
		x, rise = (c+r.near)/(2*slope+1), 1/(2*slope+1)
	}
	if x > r.far {
		x, rise = (c+r.near+r.far)/(2*slope+2), 1/(2*slope+2)
	}
	if x <= 0 {
		return 0, 0
	}
	return x, rise
}

// weights returns candidates for the weights of a Bound: the excess loads on
// several scales, as small integers hide what has not converged, and the links
// above a height.
func (w *fluid) weights() [][]int64 {
	top := w.excess()
	if top <= 0 {
		return nil
	}
	var out [][]int64
	for _, scale := range []float64{weightScale, 12, 4, 2, 1} {
		out = append(out, w.weigh(func(excess float64) int64 { return int64(float64(excess/top*scale) + 0.5) }))
	}
	for _, height := range []float64{0.1, 0.01} {
		out = append(out, w.weigh(func(excess float64) int64 {
			if excess > height*top {
				return 1
			}
			return 0
		}))
	}
	return out
}

// weigh applies f to the excess load of each link that has one.
func (w *fluid) weigh(f func(excess float64) int64) []int64 {
	y := make([]int64, len(w.load))
	for i, l := range w.load {
		if l > w.ceiling {
			y[i] = f(l - w.ceiling)
		}
	}
	return y
}
