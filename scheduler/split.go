package scheduler

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A split says how many of the messages from each leaf to each other take which
// spine. The two directions of a pair of leaves are independent: forcing them to
// be equal can cost a phase (three leaves with an odd number of messages
// between each two, say).
//
// A node is one side of a leaf: node a < leaves sends, node leaves+b receives.
type split struct {
	*fabric
	x       []int32 // by (from·leaves + to)·spines + spine
	load    []int32 // by node·spines + spine
	ceiling int32
	over    int // Σ of loads above the ceiling
}

// at returns the index of the messages between node i and the leaf of node j on
// spine 0; one of the nodes sends, the other receives.
func (s *split) at(i, j int) int {
	if i > j {
		i, j = j, i
	}
	return (i*s.leaves + j - s.leaves) * s.spines
}

// add changes the messages between two nodes on a spine.
func (s *split) add(i, j, k int, d int32) {
	s.x[s.at(i, j)+k] += d
	s.addLoad(i*s.spines+k, d)
	s.addLoad(j*s.spines+k, d)
}

func (s *split) addLoad(link int, d int32) {
	s.over -= int(max(0, s.load[link]-s.ceiling))
	s.load[link] += d
	s.over += int(max(0, s.load[link]-s.ceiling))
}

// round makes whole numbers of a fluid, each the one below or above. Which are
// raised is decided pair after pair, by what rounding has so far taken from or
// added to the two links (error diffusion): the loads stay close to those of
// the fluid. Another try takes the pairs in another order. O(leaves²·spines·log spines).
func (w *fluid) round(try int) *split {
	s := &split{
		fabric: w.fabric, ceiling: int32(w.ceiling),
		x:    make([]int32, w.leaves*w.leaves*w.spines),
		load: make([]int32, 2*w.leaves*w.spines),
	}
	missing := make([]float64, len(s.load)) // what the links should carry but do not yet
	start := make([]int, len(w.pairs)+1)
	order := make([]int, len(w.pairs))
	for i, p := range w.pairs {
		start[i+1], order[i] = start[i]+len(p.spines), i
	}
	if try > 0 {
		rng := rand.New(rand.NewPCG(uint64(try), 0))
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	for _, i := range order {
		p, x := w.pairs[i], w.x[start[i]:start[i+1]]
		s.roundPair(p.a, s.leaves+p.b, p.spines, x, missing)
		s.roundPair(p.b, s.leaves+p.a, p.spines, x, missing)
	}
	return s
}

// roundPair rounds the messages from one node to another.
func (s *split) roundPair(from, to int, spines []int32, x []float64, missing []float64) {
	left := s.messages(from, to-s.leaves)
	for i, k := range spines {
		low := int(math.Floor(x[i] + 1e-6)) // a whole number may have come out a trace too small
		left -= low
		s.add(from, to, int(k), int32(low))
		missing[from*s.spines+int(k)] += x[i] - float64(low)
		missing[to*s.spines+int(k)] += x[i] - float64(low)
	}
	if left == 0 {
		return
	}
	byNeed := slices.Clone(spines)
	need := func(k int32) float64 { return missing[from*s.spines+int(k)] + missing[to*s.spines+int(k)] }
	slices.SortStableFunc(byNeed, func(k, l int32) int { return cmp.Compare(need(l), need(k)) })
	for i := 0; left > 0; i++ {
		k := int(byNeed[i%len(byNeed)])
		s.add(from, to, k, 1)
		missing[from*s.spines+k]--
		missing[to*s.spines+k]--
		left--
	}
}
