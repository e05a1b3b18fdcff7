package scheduler

import "evbench/internal/coloring"

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

// Links are numbered: leaf links, then pods and planes, then two pods and planes
// as in common. The first of a level:
func (f *fabric) podLinks() int { return f.leaves * f.spines }

func (f *fabric) pairLinks() int { return f.podLinks() + f.pods*f.spines }

// links returns the links that a message between two leaves uses on a plane, at most five.
func (f *fabric) links(a, b, k int) (out [5]int, n int) {
	out[0], out[1] = f.link(a, k), f.link(b, k)
	q, r := f.pod[a], f.pod[b]
	if f.together(q, r) {
		return out, 2
	}
	out[2], out[3] = f.podLinks()+q*f.spines+k, f.podLinks()+r*f.spines+k
	out[4] = f.pairLinks() + f.between(min(q, r), max(q, r), k)
	return out, 5
}

func (f *fabric) countTops() {
	f.alone = make([]int, f.pods*f.spines)
	for i := range f.alone {
		for top := range f.tops {
			if f.tree.TopAlive(f.name[i/f.spines], i%f.spines, top) {
				f.alone[i]++
			}
		}
	}
}

// between returns the index in shared of two pods and a plane.
func (f *fabric) between(q, r, k int) int { return (q*f.pods+r)*f.spines + k }

func (f *fabric) topsOf(q, k int) int { return f.alone[q*f.spines+k] }

// meetAbove fills in the top switches that two pods share.
func (f *fabric) meetAbove() {
	f.shared = make([]coloring.ColorSet, f.pods*f.pods*f.spines)
	f.counts = make([]int, len(f.shared))
	for i := range f.shared {
		q, r, k := f.name[i/f.spines/f.pods], f.name[i/f.spines%f.pods], i%f.spines
		for top := range f.tops {
			if f.tree.TopAlive(q, k, top) && f.tree.TopAlive(r, k, top) {
				f.shared[i].Add(top)
				f.counts[i]++
			}
		}
	}
}

// together reports whether two pods are one in the tree.
func (f *fabric) together(q, r int) bool { return f.name[q] == f.name[r] }

func (f *fabric) leavesAt(q, k int) int {
	n := 0
	for l, r := range f.pod {
		if r == q && f.alive[f.link(l, k)] {
			n++
		}
	}
	return n
}

// critical reports, for each plane, whether its top switches may be too few or lack a common one.
// On other planes every phase fits, as each pod sends and receives at most one message for each top
// switch (König).
func (f *fabric) critical() []bool {
	out := make([]bool, f.spines)
	for q := range f.pods {
		for k := range f.spines {
			if n := f.leavesAt(q, k); f.pods > 1 && n > 0 && f.topsOf(q, k) < max(n, f.tops) {
				out[k] = true
			}
		}
	}
	return out
}

func (f *fabric) planeLists() []coloring.ColorSet {
	out := make([]coloring.ColorSet, f.leaves*f.leaves)
	for a := range f.leaves {
		for b := range f.leaves {
			for k := range f.spines {
				if a != b && f.usable(a, b, k) {
					out[a*f.leaves+b].Add(k)
				}
			}
		}
	}
	return out
}
