package scheduler

import "math"

// KindPod is a kind of Bound on three levels: the n servers of a pod have n·(S-n)
// messages for other pods, which go through the live links between the pod and
// top switches. Bound.Leaf is the number of the pod. Weights of kind "lp" are
// then by topology.Wire of the topology.Pods; the path between two pods has two
// wires more.
const KindPod = "pod"

// simpleBound returns the best of the server bound, the leaf and the pod bounds.
func (f *podFabric) simpleBound() Bound {
	b := f.fabric.simpleBound()
	for q, out := range f.leaving() {
		if live := f.upper(q); live > 0 && ceilDiv(out, live) > b.Phases {
			b = Bound{Phases: ceilDiv(out, live), Kind: KindPod, Leaf: f.name[q]}
		}
	}
	return b
}

// leaving returns how many messages leave each pod.
func (f *podFabric) leaving() []int {
	out := make([]int, f.pods)
	for a, q := range f.pod {
		out[q] += f.n[a] * f.reach[a]
		for b, r := range f.pod {
			if a != b && q == r && (f.apart == nil || f.meets(a, b)) {
				out[q] -= f.messages(a, b)
			}
		}
	}
	return out
}

// upper returns how many links of a pod to top switches are alive.
func (f *podFabric) upper(q int) int {
	live := 0
	for k := range f.spines {
		live += f.live(q, k)
	}
	return live
}

// dual returns what the weights of cables prove, one for both directions of each.
// O(leaves²·planes + pods²·planes·tops).
func (f *podFabric) dual(y []int64) int {
	var load, sum int64
	for _, w := range y {
		sum += w
	}
	if sum == 0 {
		return 0
	}
	over := f.over(y[f.podLinks():])
	for _, p := range f.pairs {
		least := int64(math.MaxInt64)
		at := f.between(f.pod[p.a], f.pod[p.b], 0)
		for _, k := range p.spines {
			least = min(least, y[f.link(p.a, int(k))]+y[f.link(p.b, int(k))]+over[at+int(k)])
		}
		load += least * int64(f.messages(p.a, p.b))
	}
	return int((load + sum - 1) / sum)
}

// over returns the least weight of a way over a top switch, by two pods and a
// plane, by the weights of their cables; 0 within a pod.
func (f *podFabric) over(y []int64) []int64 {
	out := make([]int64, len(f.common))
	for q := range f.pods {
		for r := range f.pods {
			for k := range f.spines {
				i := f.between(q, r, k)
				if q == r || f.counts[i] == 0 {
					continue
				}
				yq, yr := y[(q*f.spines+k)*f.tops:], y[(r*f.spines+k)*f.tops:]
				out[i] = math.MaxInt64
				for t := f.common[i].Next(0); t != none; t = f.common[i].Next(t + 1) {
					out[i] = min(out[i], yq[t]+yr[t])
				}
			}
		}
	}
	return out
}

// witness returns the bound that y proves.
func (f *podFabric) witness(y []int64) Bound {
	b := Bound{Phases: f.dual(y), Kind: KindLP, Weights: make([]int64, f.tree.Wires())}
	for i, l := range f.leaf {
		for k := range f.spines {
			w := y[f.link(i, k)]
			b.Weights[f.tree.Up(l, k)], b.Weights[f.tree.Down(l, k)] = w, w
		}
	}
	for q, name := range f.name {
		for k := range f.spines {
			for t := range f.tops {
				w := y[f.podLinks()+(q*f.spines+k)*f.tops+t]
				b.Weights[f.tree.TopUp(name, k, t)], b.Weights[f.tree.TopDown(name, k, t)] = w, w
			}
		}
	}
	return b
}

// lowerPlan plans the lower levels of a tree whose top switches always suffice.
func (f *podFabric) lowerPlan(o Options) (*Schedule, Bound, error) {
	low := newFabric(f.tree)
	low.share()
	s, b, err := low.fors(o)
	if err != nil {
		return nil, b, err
	}
	return s, f.raise(b), nil
}

// raise returns a bound of the lower levels as one of all: what leaves and planes
// need is needed whatever lies above. A set of leaves becomes weights on the links
// that it shares with the leaf.
func (f *podFabric) raise(b Bound) Bound {
	if b.Kind == KindHall {
		w := Bound{Phases: b.Phases, Kind: KindLP, Weights: make([]int64, f.tree.Wires())}
		for _, l := range b.Subset {
			for k := range f.spines {
				if f.tree.Alive(b.Leaf, k) && f.tree.Alive(l, k) {
					w.Weights[f.tree.Up(b.Leaf, k)], w.Weights[f.tree.Down(b.Leaf, k)] = 1, 1
				}
			}
		}
		return w
	}
	if b.Kind == KindLP {
		w := make([]int64, f.tree.Wires())
		copy(w, b.Weights) // leaf links have the same numbers
		b.Weights = w
	}
	return b
}
