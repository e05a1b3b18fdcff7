package split

import (
	"slices"

	"evbench/internal/coloring"
	"evbench/internal/lists"
	"evbench/scheduler/internal/fattree"
)

// A Fluid is a fractional split: the messages between leaves a and b, each way, divided over
// their common spines in parts x ≥ 0, the same for both directions. It is improved one pair
// of leaves after the other (block descent) on
//
//	Σ over links of  slope/2·load² + 1/2·max(0, load-ceiling)²,
//
// whose minimum has no load above the ceiling, but for a trace, whenever any split has none. It is
// convex and smooth, and each step is its minimum over one pair, so the descent goes there. Otherwise
// the excess loads y at the minimum prove the ceiling too low, as weights of a Bound: y is the
// gradient, but for the slope, so each pair has its messages only on paths that weigh least, and
// Σ n·min y over pairs is Σ load·y, for Σ load·y / Σ y = ceiling + Σ y² / Σ y phases. Products that
// are added are converted to float64 first, so that all machines round alike.
//
// Links have a capacity in messages per phase. The capacity of leaf and spine is the live cables
// between them, or 1 on three levels, where spines are planes. That of pod and plane is the live
// top switches, where these are fewer than the leaves; that of two pods and a plane the top
// switches alive from both, where these are fewer than from either. Loads are per capacity. The
// bound leaves out limits that no such link shows; the later search meets them.
type Fluid struct {
	F       *fattree.Tree
	Ceiling float64
	Slope   float64
	Scale   []float64 // 1/capacity of each link; 0 where it has none
	load    []float64 // by link
	counts  []int64   // by pair: messages, or bytes
	unit    float64   // what one of them counts in loads and ceiling
	amount  []float64 // by pair: what is divided
	X       []float64 // by pair, then place in the pair's list of spines
	rest    []rest    // of the pair being filled

	hallKnown bool // the bound considered so far is at least that of Hall
}

// The slope makes light links attract load from heavy ones also below the ceiling. That leaves room
// on both for rounding, but pushes some loads above the ceiling. So the slope is steep at first,
// and gentle when the excess has to prove something.
const (
	steep  = 1e-4
	gentle = 1e-6
)

// NewFluid divides the messages of all pairs evenly.
func NewFluid(f *fattree.Tree) *Fluid {
	f.Share()
	return newFluid(f, lists.Map(f.Pairs, func(p fattree.Pair) int64 { return int64(f.Messages(p.A, p.B)) }), 1)
}

// newDirected divides the messages of each direction by themselves.
func newDirected(f *fattree.Tree) *Fluid {
	d := f.Directed()
	for _, p := range f.Pairs {
		for _, q := range [2]fattree.Pair{{A: p.A, B: p.B + f.Leaves, Spines: p.Spines}, {A: p.B, B: p.A + f.Leaves, Spines: p.Spines}} {
			if d.Messages(q.A, q.B) > 0 {
				d.Pairs = append(d.Pairs, q)
			}
		}
	}
	w := NewFluid(d)
	w.hallKnown = true // by lp
	return w
}

// newFluid divides a count for each pair evenly, times unit.
func newFluid(f *fattree.Tree, counts []int64, unit float64) *Fluid {
	scale := scales(f)
	w := &Fluid{F: f, Scale: scale, load: make([]float64, len(scale)), counts: counts, unit: unit, X: make([]float64, 0, len(f.Common)), Slope: steep}
	w.amount = lists.Map(counts, func(n int64) float64 { return float64(n) * unit })
	for n := range f.Pairs {
		p := &f.Pairs[n]
		even := w.amount[n] / float64(len(p.Spines))
		for _, k := range p.Spines {
			w.X = append(w.X, even)
			w.put(p, k, even)
		}
	}
	return w
}

func (w *Fluid) put(p *fattree.Pair, k int32, x float64) {
	if !w.plain() {
		links, n := w.F.Links(p.A, p.B, int(k))
		for _, l := range links[:n] {
			w.load[l] += x
		}
		return
	}
	w.load[p.A*w.F.Spines+int(k)] += x
	w.load[p.B*w.F.Spines+int(k)] += x
}

func (w *Fluid) excess() float64 {
	most := 0.0
	for l, load := range w.load {
		most = max(most, float64(load*w.Scale[l]))
	}
	return most - w.Ceiling
}

// sweep fills every pair once. O(leaves²·spines).
func (w *Fluid) sweep() {
	i := 0
	for n, p := range w.F.Pairs {
		w.fill(&p, w.amount[n], w.X[i:i+len(p.Spines)])
		i += len(p.Spines)
	}
}

// A rest is the cost of one spine, given what the other pairs put on its links: slope·(base +
// x·rise), and above each of the bends, rising, its rise more for each x.
type rest struct {
	base, rise float64
	bend       [5]bend
	bends      int
}

// A bend has the rise of the cost behind it, too.
type bend struct{ from, rise, behind float64 }

func (w *Fluid) fill(p *fattree.Pair, n float64, x []float64) {
	w.rest = slices.Grow(w.rest[:0], len(x))[:len(x)]
	for i, k := range p.Spines {
		w.put(p, k, -x[i])
		if w.plain() {
			w.remain(&w.rest[i], p, int(k))
		} else {
			w.remainOf(&w.rest[i], p, int(k))
		}
	}
	w.level(n, x)
	for i, k := range p.Spines {
		w.put(p, k, x[i])
	}
}

// plain reports whether a message uses two links of capacity 1, which is quicker to compute.
func (w *Fluid) plain() bool { return w.F.Tops == 0 && w.F.Cables == nil }

func (w *Fluid) remain(r *rest, p *fattree.Pair, k int) {
	a, b := w.load[w.F.Link(p.A, k)], w.load[w.F.Link(p.B, k)]
	r.base, r.rise, r.bends = a+b, 2, 2
	r.bend[0] = bend{w.Ceiling - max(a, b), 1, 2*w.Slope + 1}
	r.bend[1] = bend{w.Ceiling - min(a, b), 1, 2*w.Slope + 2}
}

// remainOf is remain for links of all kinds.
func (w *Fluid) remainOf(r *rest, p *fattree.Pair, k int) {
	*r = rest{}
	links, n := w.F.Links(p.A, p.B, k)
	for _, l := range links[:n] {
		s := w.Scale[l]
		if s == 0 {
			continue
		}
		r.base += float64(w.load[l] * s)
		r.rise += s
		b := bend{from: w.Ceiling/s - w.load[l], rise: s}
		i := r.bends
		for ; i > 0 && r.bend[i-1].from > b.from; i-- {
			r.bend[i] = r.bend[i-1]
		}
		r.bend[i] = b
		r.bends++
	}
	behind := float64(w.Slope * r.rise)
	for i := range r.bends {
		behind += r.bend[i].rise
		r.bend[i].behind = behind
	}
}

// level pours n over the spines (water-filling): the x with sum n whose marginal costs are equal
// wherever x > 0. The sum is a rising piecewise linear function of that cost; Newton's method
// solves it exactly in a few steps, kept between brackets, as it may cycle without.
func (w *Fluid) level(n float64, x []float64) {
	lo, hi := w.rest[0].cost(0, w.Slope), w.rest[0].cost(n, w.Slope)
	for i := range w.rest[1:] {
		r := &w.rest[i+1]
		lo, hi = min(lo, r.cost(0, w.Slope)), max(hi, r.cost(n, w.Slope))
	}
	at := newton{lo, hi, lo}
	for range 64 {
		sum, rise := 0.0, 0.0
		for i := range w.rest {
			v, d := w.rest[i].at(at.cost, w.Slope)
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

func exact(n float64, x []float64) {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	for i := range x {
		x[i] *= n / sum
	}
}

// cost returns the marginal cost of x more.
func (r *rest) cost(x, slope float64) float64 {
	c := slope * (r.base + float64(x*r.rise))
	for _, b := range r.bend[:r.bends] {
		c += float64(max(0, x-b.from) * b.rise)
	}
	return c
}

// at inverts cost: it returns x ≥ 0 and its derivative.
func (r *rest) at(cost, slope float64) (x, rise float64) {
	c, d := cost-float64(slope*r.base), slope*r.rise
	x = c / d
	for i := range r.bends {
		b := &r.bend[i]
		if x <= b.from {
			break
		}
		c, d = c+float64(b.from*b.rise), b.behind
		x = c / d
	}
	if x <= 0 {
		return 0, 0
	}
	return x, 1 / d
}

// weights returns candidates for the weights of a Bound, by link, equal for its cables: the excess
// loads on several scales, as small integers hide noise, and the cables above a height.
func (w *Fluid) weights() [][]int64 {
	excess := w.excesses()
	top := slices.Max(excess)
	if top <= 0 {
		return nil
	}
	var out [][]int64
	weigh := func(f func(excess float64) int64) {
		y := lists.Map(excess, f)
		out = append(out, y)
	}
	for _, scale := range []float64{weightScale, 12, 4, 2, 1} {
		weigh(func(e float64) int64 { return int64(float64(e/top*scale) + 0.5) })
	}
	for _, height := range []float64{0.1, 0.01} {
		weigh(func(e float64) int64 {
			if e > height*top {
				return 1
			}
			return 0
		})
	}
	return out
}

// excesses spreads the excess load of each link over its cables: leaf cables by link, then cables
// of top switches, by (pod·planes + plane)·tops + top. The cables of two pods to their common top
// switches share the excess.
func (w *Fluid) excesses() []float64 {
	over := func(l int) float64 { return max(0, float64(w.load[l]*w.Scale[l])-w.Ceiling) }
	out := lists.Tabulate(len(w.F.Alive), over)
	f := w.F
	if f.Tops == 0 {
		return out
	}
	out = append(out, make([]float64, f.Pods*f.Spines*f.Tops)...)
	give := func(q, k int, tops coloring.ColorSet, e float64) {
		for t := tops.Next(0); e > 0 && t != none; t = tops.Next(t + 1) {
			out[len(w.F.Alive)+(q*f.Spines+k)*f.Tops+t] += e
		}
	}
	for q := range f.Pods {
		for k := range f.Spines {
			give(q, k, f.Shared[f.Between(q, q, k)], over(f.PodLinks()+q*f.Spines+k))
			for r := q + 1; r < f.Pods; r++ {
				e, i := over(f.PairLinks()+f.Between(q, r, k)), f.Between(q, r, k)
				give(q, k, f.Shared[i], e/2)
				give(r, k, f.Shared[i], e/2)
			}
		}
	}
	return out
}

// scales returns 1/capacity of each link, 0 where it has none.
func scales(f *fattree.Tree) []float64 {
	if f.Tops == 0 {
		scale := slices.Repeat([]float64{1}, len(f.Alive))
		for l, n := range f.Cables {
			scale[l] = 1 / float64(max(n, 1))
		}
		return scale
	}
	scale := make([]float64, f.PairLinks()+len(f.Shared))
	for i := range f.PodLinks() {
		scale[i] = 1
	}
	for q := range f.Pods {
		for k := range f.Spines {
			if n := f.TopsOf(q, k); n > 0 && n < f.LeavesAt(q, k) {
				scale[f.PodLinks()+q*f.Spines+k] = 1 / float64(n)
			}
			for r := range f.Pods {
				if n := f.Counts[f.Between(q, r, k)]; q < r && n > 0 && n < min(f.TopsOf(q, k), f.TopsOf(r, k)) {
					scale[f.PairLinks()+f.Between(q, r, k)] = 1 / float64(n)
				}
			}
		}
	}
	return scale
}
