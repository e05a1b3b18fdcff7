package fattree

import (
	"evbench/internal/coloring"
)

// Leaving returns how many messages leave each pod, or enter it where those are more.
func (f *Tree) Leaving() []int {
	out, in := make([]int, f.Pods), make([]int, f.Pods)
	for a, q := range f.Pod {
		out[q] += f.R[a] * f.Reach[a]
		in[q] += f.B[a] * f.Heard[a]
		for b, r := range f.Pod {
			if a != b && q == r && (f.apart == nil || f.Meets(a, b)) {
				out[q] -= f.Messages(a, b)
				in[q] -= f.Messages(b, a)
			}
		}
	}
	for q := range out {
		out[q] = max(out[q], in[q])
	}
	return out
}

func (f *Tree) UpperLinks(q int) int {
	live := 0
	for k := range f.Spines {
		live += f.TopsOf(q, k)
	}
	return live
}

// Links are numbered: leaf links, then pods and planes, then two pods and planes
// as in common. The first of a level:
func (f *Tree) PodLinks() int { return f.Leaves * f.Spines }

func (f *Tree) PairLinks() int { return f.PodLinks() + f.Pods*f.Spines }

// Links returns the links that a message between two leaves uses on a plane, at most five.
func (f *Tree) Links(a, b, k int) (out [5]int, n int) {
	out[0], out[1] = f.Link(a, k), f.Link(b, k)
	q, r := f.Pod[a], f.Pod[b]
	if f.Together(q, r) {
		return out, 2
	}
	out[2], out[3] = f.PodLinks()+q*f.Spines+k, f.PodLinks()+r*f.Spines+k
	out[4] = f.PairLinks() + f.Between(min(q, r), max(q, r), k)
	return out, 5
}

func (f *Tree) countTops() {
	f.alone = make([]int, f.Pods*f.Spines)
	for i := range f.alone {
		for top := range f.Tops {
			if f.Topology.TopAlive(f.Name[i/f.Spines], i%f.Spines, top) {
				f.alone[i]++
			}
		}
	}
}

// Between returns the index in shared of two pods and a plane.
func (f *Tree) Between(q, r, k int) int { return (q*f.Pods+r)*f.Spines + k }

func (f *Tree) TopsOf(q, k int) int { return f.alone[q*f.Spines+k] }

// meetAbove fills in the top switches that two pods share.
func (f *Tree) meetAbove() {
	f.Shared = make([]coloring.ColorSet, f.Pods*f.Pods*f.Spines)
	f.Counts = make([]int, len(f.Shared))
	for i := range f.Shared {
		q, r, k := f.Name[i/f.Spines/f.Pods], f.Name[i/f.Spines%f.Pods], i%f.Spines
		for top := range f.Tops {
			if f.Topology.TopAlive(q, k, top) && f.Topology.TopAlive(r, k, top) {
				f.Shared[i].Add(top)
				f.Counts[i]++
			}
		}
	}
}

// Together reports whether two pods are one in the tree.
func (f *Tree) Together(q, r int) bool { return f.Name[q] == f.Name[r] }

func (f *Tree) LeavesAt(q, k int) int {
	n := 0
	for l, r := range f.Pod {
		if r == q && f.Alive[f.Link(l, k)] {
			n++
		}
	}
	return n
}

// Critical reports, for each plane, whether its top switches may be too few or lack a common one.
// On other planes every phase fits, as each pod sends and receives at most one message for each top
// switch (König).
func (f *Tree) Critical() []bool {
	out := make([]bool, f.Spines)
	for q := range f.Pods {
		for k := range f.Spines {
			if n := f.LeavesAt(q, k); f.Pods > 1 && n > 0 && f.TopsOf(q, k) < max(n, f.Tops) {
				out[k] = true
			}
		}
	}
	return out
}

func (f *Tree) PlaneLists() []coloring.ColorSet {
	out := make([]coloring.ColorSet, f.Leaves*f.Leaves)
	for a := range f.Leaves {
		for b := range f.Leaves {
			for k := range f.Spines {
				if a != b && f.Usable(a, b, k) {
					out[a*f.Leaves+b].Add(k)
				}
			}
		}
	}
	return out
}
