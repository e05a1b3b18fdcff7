package split

import (
	"cmp"
	"math"
	"math/rand/v2"

	"evbench/scheduler/internal/fattree"
)

// round makes whole numbers of a fluid, each the one below or above. It goes pair after pair and
// raises a number by what rounding has so far taken from or added to its two links (error
// diffusion), so the loads stay close to the fluid. Another try takes the pairs in another order.
// O(leaves²·spines·log spines).
func (w *Fluid) round(try int) *Split {
	s := New(cmp.Or(w.F.Both, w.F), int(w.Ceiling))
	var random *rand.Rand
	if try > 0 {
		random = rand.New(rand.NewPCG(uint64(try), 0))
	}
	w.Rounded(random, &Rounding{
		Missing: make([]float64, len(s.Load)),
		Add:     func(a, b, k int, d int32) { s.Add(a, s.F.Leaves+b, k, d) },
		Links: func(a, b, k int) ([5]int, int) {
			return [5]int{a*s.F.Spines + k, (s.F.Leaves+b)*s.F.Spines + k}, 2
		},
	})
	return s
}

// A Rounding makes whole numbers of a fluid, link by link.
type Rounding struct {
	Missing []float64 // what links should carry but do not yet
	Scale   []float64 // 1/capacity by link/2; nil: all are 1
	Add     func(a, b, k int, d int32)
	Links   func(a, b, k int) ([5]int, int) // of a message from leaf a to leaf b
	byNeed  []spineNeed                     // memory of pair
}

type spineNeed struct {
	k    int32
	need float64
}

// Rounded gives r the whole numbers of all pairs of leaves, in both directions, in random order or, with
// nil, that of the pairs.
func (w *Fluid) Rounded(random *rand.Rand, r *Rounding) {
	start, order := make([]int, len(w.F.Pairs)+1), make([]int, len(w.F.Pairs))
	for i, p := range w.F.Pairs {
		start[i+1], order[i] = start[i]+len(p.Spines), i
	}
	if random != nil {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	for _, i := range order {
		p, x, n := w.F.Pairs[i], w.X[start[i]:start[i+1]], w.F.Messages(w.F.Pairs[i].A, w.F.Pairs[i].B)
		if w.F.Both != nil {
			p.B -= w.F.Both.Leaves
			r.pair(p, n, x)
			continue
		}
		r.pair(p, n, x)
		p.A, p.B = p.B, p.A
		r.pair(p, n, x)
	}
}

func (r *Rounding) note(p fattree.Pair, k int32, d float64) {
	links, n := r.Links(p.A, p.B, int(k))
	for _, l := range links[:n] {
		r.Missing[l] += d
	}
}

func (r *Rounding) need(p fattree.Pair, k int32) float64 {
	links, n := r.Links(p.A, p.B, int(k))
	sum := 0.0
	for _, l := range links[:n] {
		if r.Scale == nil {
			sum += r.Missing[l]
		} else {
			sum += float64(r.Missing[l] * r.Scale[l/2])
		}
	}
	return sum
}

// pair rounds the messages from one leaf to another; left is their number.
func (r *Rounding) pair(p fattree.Pair, left int, x []float64) {
	for i, k := range p.Spines {
		low := int(math.Floor(x[i] + 1e-6)) // a whole number may have come out a trace too small
		left -= low
		r.Add(p.A, p.B, int(k), int32(low))
		r.note(p, k, x[i]-float64(low))
	}
	if left == 0 {
		return
	}
	byNeed := r.byNeed[:0] // stable: most spines need as much as another
	for _, k := range p.Spines {
		at, x := len(byNeed), spineNeed{k, r.need(p, k)}
		byNeed = append(byNeed, x)
		for ; at > 0 && byNeed[at-1].need < x.need; at-- {
			byNeed[at] = byNeed[at-1]
		}
		byNeed[at] = x
	}
	r.byNeed = byNeed
	for i := range left {
		k := byNeed[i%len(byNeed)].k
		r.Add(p.A, p.B, int(k), 1)
		r.note(p, k, -1)
	}
}
