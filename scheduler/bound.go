package scheduler

import (
	"fmt"
	"math"
)

// A Bound is a number of phases that every contention-free schedule needs, with the witness that
// proves it, in integers.
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
type Bound struct {
	Phases int
	Kind   string // "server", "leaf", "hall" or "lp"
	Leaf   int    // of kinds "leaf" and "hall": the leaf
	Subset []int  // of kind "hall": the leaves of the set, rising
	// Weights belong to kind "lp", by topology.Wire of the leaf-spine cables.
	Weights []int64
}

// Kinds of Bound.
const (
	KindServer = "server"
	KindLeaf   = "leaf"
	KindHall   = "hall"
	KindLP     = "lp"
)

// String returns the label of the witness in a plan file: "server", "leaf3",
// "hall3", "pod1", "lp".
func (b Bound) String() string {
	if b.Kind == KindLeaf || b.Kind == KindHall || b.Kind == KindPod {
		return fmt.Sprintf("%s%d", b.Kind, b.Leaf)
	}
	return b.Kind
}

func (f *fabric) simpleBound() Bound {
	b := Bound{Kind: KindServer}
	for i := range f.n {
		most, _ := f.most(i)
		b.Phases = max(b.Phases, most)
	}
	raise := func(out, live int, by Bound) {
		if by.Phases = ceilDiv(out, max(live, 1)); live > 0 && by.Phases > b.Phases {
			b = by
		}
	}
	for i := range f.n {
		raise(max(f.r[i]*f.reach[i], f.b[i]*f.heard[i]), f.live[i], Bound{Kind: KindLeaf, Leaf: f.leaf[i]})
	}
	for q, out := range f.leaving() {
		raise(out, f.upperLinks(q), Bound{Kind: KindPod, Leaf: f.name[q]})
	}
	return b
}

// weightScale is the largest weight of a witness. It keeps the sums of dual far below 2⁶³ on the
// largest tree.
const weightScale = 1 << 16

// dual returns the bound that weights of cables prove, one weight for both directions of each: leaf
// cables by link, then cables of top switches, by (pod·planes + plane)·tops + top. O(leaves²·spines
// + pods²·planes·tops).
func (f *fabric) dual(y []int64) int {
	var load, sum int64
	for i, w := range y {
		if i < len(f.cables) {
			w *= int64(f.cables[i])
		}
		sum += w
	}
	if sum == 0 {
		return 0
	}
	over := f.over(y[len(f.alive):])
	for _, p := range f.pairs {
		least := int64(math.MaxInt64)
		ya, yb, way := y[f.link(p.a, 0):], y[f.link(p.b, 0):], over[f.between(f.pod[p.a], f.pod[p.b], 0):]
		for _, k := range p.spines {
			least = min(least, ya[k]+yb[k]+way[k])
		}
		load += least * int64(f.messages(p.a, p.b))
	}
	return int((load + sum - 1) / sum)
}

func (f *fabric) witness(y []int64) Bound {
	b := Bound{Phases: f.dual(y), Kind: KindLP, Weights: make([]int64, 2*f.tree.AllLinks())}
	if f.tops > 0 {
		b.Weights = make([]int64, f.tree.Wires())
	}
	for i, l := range f.leaf {
		for k := range f.spines {
			for c := range f.tree.Cables() {
				w := y[f.link(i, k)]
				if up := f.tree.UpWire(f.tree.Cable(l, k, c)); !f.tree.CableAlive(l, k, c) {
					continue
				} else if f.both == nil {
					b.Weights[up], b.Weights[up+1] = w, w
				} else if i < f.both.leaves {
					b.Weights[up] = w
				} else {
					b.Weights[up+1] = w
				}
			}
		}
	}
	for i, w := range y[len(f.alive):] {
		q, k := f.name[i/f.tops/f.spines], i/f.tops%f.spines
		b.Weights[f.tree.TopUp(q, k, i%f.tops)], b.Weights[f.tree.TopDown(q, k, i%f.tops)] = w, w
	}
	return b
}

// KindPod is a kind of Bound on three levels; Bound.Leaf is the number of the pod. Weights of
// kind "lp" are then by all wires of the tree.
const KindPod = "pod"

// over returns the least weight of a way over a top switch, by two pods and a
// plane, by the weights of their cables; 0 within a pod.
func (f *fabric) over(y []int64) []int64 {
	out := make([]int64, len(f.shared))
	for q := range f.pods {
		for r := range f.pods {
			for k := range f.spines {
				i := f.between(q, r, k)
				if f.together(q, r) || f.counts[i] == 0 {
					continue
				}
				yq, yr := y[(q*f.spines+k)*f.tops:], y[(r*f.spines+k)*f.tops:]
				out[i] = math.MaxInt64
				for t := f.shared[i].Next(0); t != none; t = f.shared[i].Next(t + 1) {
					out[i] = min(out[i], yq[t]+yr[t])
				}
			}
		}
	}
	return out
}
