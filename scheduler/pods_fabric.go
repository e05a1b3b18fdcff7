package scheduler

import (
	"fmt"

	"evbench/internal/coloring"
	"evbench/topology"
)

// A podFabric is the planner's view of a three-level tree: the fabric of leaves
// and planes, and what lies above it. Pods without servers are left out.
type podFabric struct {
	*fabric
	pods int
	tops int
	name []int // number in the tree of each pod
	pod  []int // of each leaf

	alone  []int               // live top switches of a pod, by pod·planes + plane
	common []coloring.ColorSet // live top switches of two pods, by (pod·pods + pod)·planes + plane
	counts []int               // how many
}

func newPodFabric(t *topology.Tree) *podFabric {
	f := &podFabric{fabric: newFabric(t), tops: t.Tops()}
	for _, l := range f.leaf {
		q := t.Pod(l)
		if f.pods == 0 || f.name[f.pods-1] != q {
			f.name = append(f.name, q)
			f.pods++
		}
		f.pod = append(f.pod, f.pods-1)
	}
	f.alone = make([]int, f.pods*f.spines)
	for q, name := range f.name {
		for k := range f.spines {
			for top := range f.tops {
				if t.TopAlive(name, k, top) {
					f.alone[q*f.spines+k]++
				}
			}
		}
	}
	return f
}

// meet fills in what two pods have in common, and takes leaves between which no path
// is alive out of each other's reach. O(pods²·planes·top switches + leaves²·planes).
func (f *podFabric) meet() {
	f.common = make([]coloring.ColorSet, f.pods*f.pods*f.spines)
	f.counts = make([]int, len(f.common))
	for i := range f.common {
		q, r, k := f.name[i/f.spines/f.pods], f.name[i/f.spines%f.pods], i%f.spines
		for t := range f.tops {
			if f.tree.TopAlive(q, k, t) && f.tree.TopAlive(r, k, t) {
				f.common[i].Add(t)
				f.counts[i]++
			}
		}
	}
	f.partBy(func(a, b int) bool {
		for k := range f.spines {
			if f.usable(a, b, k) {
				return true
			}
		}
		return false
	})
}

// between returns the index in common of two pods and a plane.
func (f *podFabric) between(q, r, k int) int { return (q*f.pods+r)*f.spines + k }

// live returns how many top switches of a plane are alive from a pod.
func (f *podFabric) live(q, k int) int { return f.alone[q*f.spines+k] }

// usable reports whether messages between two leaves can go through a plane.
func (f *podFabric) usable(a, b, k int) bool {
	return f.alive[f.link(a, k)] && f.alive[f.link(b, k)] &&
		(f.pod[a] == f.pod[b] || f.counts[f.between(f.pod[a], f.pod[b], k)] > 0)
}

// leavesAt returns how many leaves of a pod have a live link to a plane.
func (f *podFabric) leavesAt(q, k int) int {
	n := 0
	for l, r := range f.pod {
		if r == q && f.alive[f.link(l, k)] {
			n++
		}
	}
	return n
}

// critical reports, for each plane, whether its top switches may be too few or
// lack a common one: elsewhere, whatever the leaves put on the plane in a phase
// goes through, as each of its pods sends and receives at most as many messages
// as there are top switches (König).
func (f *podFabric) critical() []bool {
	out := make([]bool, f.spines)
	for q := range f.pods {
		for k := range f.spines {
			if n := f.leavesAt(q, k); f.pods > 1 && n > 0 && f.live(q, k) < max(n, f.tops) {
				out[k] = true
			}
		}
	}
	return out
}

// maxPodState bounds the memory of a search: phases times links of leaves, some 30
// bytes each.
const maxPodState = 1 << 25

// maxPodPairs bounds that of the table of two pods and a plane, some 40 bytes each.
const maxPodPairs = 1 << 22

// check refuses trees that are too large to plan.
func (f *podFabric) check() error {
	if err := f.fabric.check(); err != nil {
		return err
	}
	if f.pods*f.pods*f.spines > maxPodPairs {
		return fmt.Errorf("%d pods with %d planes are more than can be planned (at most %d pods²·planes)", f.pods, f.spines, maxPodPairs)
	}
	return nil
}
