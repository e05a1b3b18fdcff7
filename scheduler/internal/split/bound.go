package split

import (
	"fmt"
	"math"
	"math/bits"

	"evbench/scheduler/internal/fattree"
	"evbench/topology"
)

// A Bound is a number of phases that every contention-free schedule needs, or of byte times where messages have sizes, with the
// witness that proves it, in integers.
//
//   - server: a server has S-1 messages to send, one in a phase; where some only read or only build, the
//     most that one sends, or receives.
//   - leaf, pod: what its n servers have for others, n·(S-n) messages, goes through its live
//     cables upwards, one per cable and phase (thesis 5.4.1), or downwards. Pairs left out do not count.
//   - hall: the n servers of a leaf have n·m messages for the m servers of a set of leaves;
//     they go through the leaf's links to spines that it shares with a leaf of the set.
//   - lp: weights y ≥ 0 on the directed links. Those from leaf a to leaf b put at least
//     n_a·n_b·min over live paths of the weights on it on the links, and a phase carries at
//     most Σy: the dual of "split the messages such that the largest link load is least".
//   - send, receive: the bytes that a server sends, or receives.
//   - up, down: the bytes that a leaf sends to other leaves, or receives from them, over its live links.
type Bound struct {
	Phases int // or byte times
	Kind   string
	At     int   // of kinds leaf, hall, up and down the leaf, of pod the pod, of send and receive the rank of the server
	Subset []int // of kind hall: the leaves of the set, rising
	// Weights belong to kind lp, by topology.Wire: of the cables between leaves and spines, on three
	// levels of all.
	Weights []int64
}

// Kinds of Bound.
const (
	KindServer = "server"
	KindLeaf   = "leaf"
	KindPod    = "pod"
	KindHall   = "hall"
	KindLP     = "lp"

	KindSend    = "send"
	KindReceive = "receive"
	KindUp      = "up"
	KindDown    = "down"
)

// String returns the label of the witness in a plan file: "server", "leaf3",
// "hall3", "pod1", "lp".
func (b Bound) String() string {
	if b.Kind == KindLeaf || b.Kind == KindHall || b.Kind == KindPod {
		return fmt.Sprintf("%s%d", b.Kind, b.At)
	}
	return b.Kind
}

// Simple returns the bound of servers, leaves and pods, without a look at spines.
func Simple(f *fattree.Tree) Bound {
	b := Bound{Kind: KindServer}
	for i := range f.N {
		most, _ := f.MostMessages(i)
		b.Phases = max(b.Phases, most)
	}
	raise := func(out, live int, by Bound) {
		if by.Phases = fattree.CeilDiv(out, max(live, 1)); live > 0 && by.Phases > b.Phases {
			b = by
		}
	}
	for i := range f.N {
		raise(max(f.R[i]*f.Reach[i], f.B[i]*f.Heard[i]), f.Live[i], Bound{Kind: KindLeaf, At: f.Leaf[i]})
	}
	for q, out := range f.Leaving() {
		raise(out, f.UpperLinks(q), Bound{Kind: KindPod, At: f.Name[q]})
	}
	return b
}

// weightScale is the largest weight of a witness. It keeps the sums of dual far below 2⁶³ on the
// largest tree.
const weightScale = 1 << 16

// dual returns the bound that weights of cables prove, one weight for both directions of each, by weak
// duality: a message weighs at least as much as the lightest of its paths, a phase at most as much as all
// cables. Weights are of leaf cables by link, then cables of top switches, by (pod·planes + plane)·tops +
// top. O(leaves²·spines + pods²·planes·tops).
func (w *Fluid) dual(y []int64) int {
	f := w.F
	var hi, lo, carry, sum uint64
	for i, v := range y {
		if i < len(f.Cables) {
			v *= int64(f.Cables[i])
		}
		sum += uint64(v)
	}
	if sum == 0 {
		return 0
	}
	above := over(f, y[len(f.Alive):])
	for i, p := range f.Pairs {
		least := int64(math.MaxInt64)
		ya, yb, way := y[f.Link(p.A, 0):], y[f.Link(p.B, 0):], above[f.Between(f.Pod[p.A], f.Pod[p.B], 0):]
		for _, k := range p.Spines {
			least = min(least, ya[k]+yb[k]+way[k])
		}
		h, l := bits.Mul64(uint64(least), uint64(w.counts[i]))
		lo, carry = bits.Add64(lo, l, 0)
		hi += h + carry
	}
	lo, carry = bits.Add64(lo, sum-1, 0)
	n, _ := bits.Div64(hi+carry, lo, sum) // below 2⁶⁴: least is at most the sum
	return int(n)
}

// byWire are the weights of cables by wire of the tree.
func byWire(f *fattree.Tree, y []int64) []int64 {
	t := f.Topology
	out := make([]int64, 2*t.AllLinks())
	if f.Tops > 0 {
		out = make([]int64, t.AllWires())
	}
	set := func(up topology.Wire, receives bool, w int64) {
		if f.Both == nil || !receives {
			out[up] = w
		}
		if f.Both == nil || receives {
			out[up+1] = w
		}
	}
	for i, l := range f.Leaf {
		for k := range f.Spines {
			for c := range t.Cables() {
				if t.CableAlive(l, k, c) {
					set(t.UpWire(t.Cable(l, k, c)), i >= f.Leaves/2, y[f.Link(i, k)])
				}
			}
		}
	}
	for i, w := range y[len(f.Alive):] {
		q, k := i/f.Tops/f.Spines, i/f.Tops%f.Spines
		set(t.TopUp(f.Name[q], k, i%f.Tops), q >= f.Pods/2, w)
	}
	return out
}

// over returns the least weight of a way over a top switch, by two pods and a
// plane, by the weights of their cables; 0 within a pod.
func over(f *fattree.Tree, y []int64) []int64 {
	out := make([]int64, len(f.Shared))
	for q := range f.Pods {
		for r := range f.Pods {
			for k := range f.Spines {
				i := f.Between(q, r, k)
				if f.Together(q, r) || f.Counts[i] == 0 {
					continue
				}
				yq, yr := y[(q*f.Spines+k)*f.Tops:], y[(r*f.Spines+k)*f.Tops:]
				out[i] = math.MaxInt64
				for t := f.Shared[i].Next(0); t != none; t = f.Shared[i].Next(t + 1) {
					out[i] = min(out[i], yq[t]+yr[t])
				}
			}
		}
	}
	return out
}
