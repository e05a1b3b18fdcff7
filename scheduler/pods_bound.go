package scheduler

import "math"

// KindPod is a kind of Bound on three levels; Bound.Leaf is the number of the pod. Weights of
// kind "lp" are then by all wires of the tree.
const KindPod = "pod"

// leaving returns how many messages leave each pod, or enter it where those are more.
func (f *fabric) leaving() []int {
	out, in := make([]int, f.pods), make([]int, f.pods)
	for a, q := range f.pod {
		out[q] += f.r[a] * f.reach[a]
		in[q] += f.b[a] * f.heard[a]
		for b, r := range f.pod {
			if a != b && q == r && (f.apart == nil || f.meets(a, b)) {
				out[q] -= f.messages(a, b)
				in[q] -= f.messages(b, a)
			}
		}
	}
	for q := range out {
		out[q] = max(out[q], in[q])
	}
	return out
}

func (f *fabric) upperLinks(q int) int {
	live := 0
	for k := range f.spines {
		live += f.topsOf(q, k)
	}
	return live
}

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

// lowerPlan plans the lower levels of a tree whose top switches always suffice.
func (f *fabric) lowerPlan(o Options) (*Schedule, Bound, error) {
	low := newLower(f.tree)
	low.share()
	s, b, err := low.fors(o)
	if err != nil {
		return nil, b, err
	}
	return s, f.raise(b), nil
}

// raise returns a bound of the lower levels as one of all: what leaves and planes need is needed
// whatever lies above. A set of leaves becomes weights on the links that it shares with the leaf.
func (f *fabric) raise(b Bound) Bound {
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
