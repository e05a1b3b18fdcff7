package fattree

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

// UpperLinks returns how many live links a pod has to top switches.
func (f *Tree) UpperLinks(q int) int {
	live := 0
	for k := range f.Spines {
		live += f.TopsOf(q, k)
	}
	return live
}

// PodLinks returns the first number of a pod and plane, where links are numbered by level: leaf and
// spine, then pod and plane, then two pods and a plane, as in Shared.
func (f *Tree) PodLinks() int { return f.Leaves * f.Spines }

// PairLinks returns the first number of two pods and a plane.
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

// Between returns the index in Shared of two pods and a plane.
func (f *Tree) Between(q, r, k int) int { return (q*f.Pods+r)*f.Spines + k }

// TopsOf returns how many top switches of a plane a pod reaches.
func (f *Tree) TopsOf(q, k int) int { return f.alone[q*f.Spines+k] }

// Together reports whether two pods are one in the tree.
func (f *Tree) Together(q, r int) bool { return f.Name[q] == f.Name[r] }

// LeavesAt returns how many leaves of a pod have a live link to a plane.
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
// On other planes every phase fits: a phase is a bipartite graph of pods, each of which sends at most
// one message for each of its leaves and receives as many, and by König's theorem that many top switches
// colour it.
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
