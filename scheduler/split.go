package scheduler

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A split says how many messages from each leaf to each other take each spine. The two directions
// of a pair of leaves are independent: equal directions can cost a phase (for example three leaves
// with an odd number of messages between each two).
//
// A node is one side of a leaf: node a < leaves sends, node leaves+b receives.
type split struct {
	f       *fabric
	x       []int32 // by (from·leaves + to)·spines + spine
	load    []int32 // by node·spines + spine
	ceiling int32   // of each cable
	over    int     // Σ of loads above what links take
}

// most returns how many messages a link takes.
func (s *split) most(link int) int32 {
	if s.f.cables == nil {
		return s.ceiling
	}
	return s.ceiling * int32(s.f.cables[link%len(s.f.cables)])
}

// at returns the index of the messages between node i and the leaf of node j on spine 0. One of the
// nodes sends, the other receives.
func (s *split) at(i, j int) int {
	if i > j {
		i, j = j, i
	}
	return (i*s.f.leaves + j - s.f.leaves) * s.f.spines
}

func (s *split) add(i, j, k int, d int32) {
	s.x[s.at(i, j)+k] += d
	s.addLoad(i*s.f.spines+k, d)
	s.addLoad(j*s.f.spines+k, d)
}

func (s *split) addLoad(link int, d int32) {
	most := s.most(link)
	s.over -= int(max(0, s.load[link]-most))
	s.load[link] += d
	s.over += int(max(0, s.load[link]-most))
}

// round makes whole numbers of a fluid, each the one below or above. It goes pair after pair and
// raises a number by what rounding has so far taken from or added to its two links (error
// diffusion), so the loads stay close to the fluid. Another try takes the pairs in another order.
// O(leaves²·spines·log spines).
func (w *fluid) round(try int) *split {
	f := cmp.Or(w.f.both, w.f)
	s := &split{
		f: f, ceiling: int32(w.ceiling),
		x:    make([]int32, f.leaves*f.leaves*f.spines),
		load: make([]int32, 2*f.leaves*f.spines),
	}
	var random *rand.Rand
	if try > 0 {
		random = rand.New(rand.NewPCG(uint64(try), 0))
	}
	w.rounded(random, &rounding{
		missing: make([]float64, len(s.load)),
		add:     func(a, b, k int, d int32) { s.add(a, s.f.leaves+b, k, d) },
		links: func(a, b, k int) ([5]int, int) {
			return [5]int{a*s.f.spines + k, (s.f.leaves+b)*s.f.spines + k}, 2
		},
	})
	return s
}

type rounding struct {
	missing []float64 // what links should carry but do not yet
	scale   []float64 // 1/capacity by link/2; nil: all are 1
	add     func(a, b, k int, d int32)
	links   func(a, b, k int) ([5]int, int) // of a message from leaf a to leaf b
}

func (w *fluid) rounded(random *rand.Rand, r *rounding) {
	start, order := make([]int, len(w.f.pairs)+1), make([]int, len(w.f.pairs))
	for i, p := range w.f.pairs {
		start[i+1], order[i] = start[i]+len(p.spines), i
	}
	if random != nil {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	for _, i := range order {
		p, x, n := w.f.pairs[i], w.x[start[i]:start[i+1]], w.f.messages(w.f.pairs[i].a, w.f.pairs[i].b)
		if w.f.both != nil {
			p.b -= w.f.both.leaves
			r.pair(p, n, x)
			continue
		}
		r.pair(p, n, x)
		p.a, p.b = p.b, p.a
		r.pair(p, n, x)
	}
}

func (r *rounding) note(p pair, k int32, d float64) {
	links, n := r.links(p.a, p.b, int(k))
	for _, l := range links[:n] {
		r.missing[l] += d
	}
}

func (r *rounding) need(p pair, k int32) float64 {
	links, n := r.links(p.a, p.b, int(k))
	sum := 0.0
	for _, l := range links[:n] {
		if r.scale == nil {
			sum += r.missing[l]
		} else {
			sum += float64(r.missing[l] * r.scale[l/2])
		}
	}
	return sum
}

// pair rounds the messages from one leaf to another; left is their number.
func (r *rounding) pair(p pair, left int, x []float64) {
	for i, k := range p.spines {
		low := int(math.Floor(x[i] + 1e-6)) // a whole number may have come out a trace too small
		left -= low
		r.add(p.a, p.b, int(k), int32(low))
		r.note(p, k, x[i]-float64(low))
	}
	if left == 0 {
		return
	}
	byNeed := slices.Clone(p.spines)
	slices.SortStableFunc(byNeed, func(k, l int32) int { return cmp.Compare(r.need(p, l), r.need(p, k)) })
	for i := 0; left > 0; i++ {
		k := byNeed[i%len(byNeed)]
		r.add(p.a, p.b, int(k), 1)
		r.note(p, k, -1)
		left--
	}
}
