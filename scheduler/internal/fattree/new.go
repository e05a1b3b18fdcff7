package fattree

import (
	"slices"

	"evbench/internal/coloring"
	"evbench/topology"
)

// New returns a tree without Pairs, Shared and Counts, which Part and Share fill in.
func New(t *topology.Tree) *Tree {
	f := NewLower(t)
	if t.Levels() == 2 {
		return f
	}
	f.Tops, f.Pods, f.Name = t.Tops(), 0, nil
	for i, l := range f.Leaf {
		if q := t.Pod(l); f.Pods == 0 || f.Name[f.Pods-1] != q {
			f.Name = append(f.Name, q)
			f.Pods++
		}
		f.Pod[i] = f.Pods - 1
	}
	f.countTops()
	return f
}

// NewLower returns a tree of three levels without the top switches.
func NewLower(t *topology.Tree) *Tree {
	f := &Tree{Topology: t, Servers: t.Servers(), Spines: t.Spines(), Pods: 1, Name: []int{0}, alone: make([]int, t.Spines())}
	for l := range t.Leaves() {
		if t.ServersOn(l) == 0 {
			continue
		}
		f.Leaf = append(f.Leaf, l)
		f.N = append(f.N, t.ServersOn(l))
		f.First = append(f.First, t.First(l))
		f.Reach = append(f.Reach, f.Servers-t.ServersOn(l))
		f.addRoles(l)
		f.Live = append(f.Live, 0)
		for k := range f.Spines {
			n := t.LiveCables(l, k)
			f.Alive = append(f.Alive, n > 0)
			f.Live[f.Leaves] += n
			if t.Cables() > 1 {
				f.Cables = append(f.Cables, n)
			}
		}
		f.Leaves++
	}
	f.Pod = make([]int, f.Leaves)
	if !t.Divided() {
		f.R, f.B, f.Readers, f.Builders, f.Heard = f.N, f.N, f.First, f.First, f.Reach
	}
	return f
}

// Part fills in the top switches that two pods share, and the leaves that no live path joins.
// O(leaves²·spines + pods²·spines·tops), but O(leaves²) where most are connected; once.
func (f *Tree) Part() {
	if f.apart != nil {
		return
	}
	f.meetAbove()
	f.apart = make([]bool, f.Leaves*f.Leaves)
	for a := range f.Leaves {
		for b := range a {
			if !f.joined(a, b) {
				f.apart[a*f.Leaves+b], f.apart[b*f.Leaves+a] = true, true
				f.Reach[a] -= f.B[b]
				f.Reach[b] -= f.B[a]
				if f.Topology.Divided() {
					f.Heard[a] -= f.R[b]
					f.Heard[b] -= f.R[a]
				}
			}
		}
	}
}

func (f *Tree) joined(a, b int) bool {
	for k := range f.Spines {
		if f.Usable(a, b, k) {
			return true
		}
	}
	return false
}

// Usable reports whether a message between two leaves may take a spine: on three levels a plane on
// which their pods share a live top switch.
func (f *Tree) Usable(a, b, k int) bool {
	return f.Alive[f.Link(a, k)] && f.Alive[f.Link(b, k)] &&
		(f.Together(f.Pod[a], f.Pod[b]) || f.Counts[f.Between(f.Pod[a], f.Pod[b], k)] > 0)
}

// Share fills in the pairs. O(leaves²·spines), once.
func (f *Tree) Share() {
	if f.Pairs != nil {
		return
	}
	f.Part()
	f.Pairs = make([]Pair, 0, f.Leaves*(f.Leaves-1)/2)
	for a := range f.Leaves {
		for b := a + 1; b < f.Leaves; b++ {
			if f.Meets(a, b) {
				f.Pair(a, b)
			}
		}
	}
}

// Pair adds a pair of leaves, and reports whether they share a spine.
func (f *Tree) Pair(a, b int) bool {
	start := len(f.Common)
	for k := range f.Spines {
		if f.Usable(a, b, k) {
			f.Common = append(f.Common, int32(k))
		}
	}
	f.Pairs = append(f.Pairs, Pair{a, b, f.Common[start:len(f.Common):len(f.Common)]})
	return start < len(f.Common)
}

// addRoles notes the readers and builders of the next leaf, which is l of the tree.
func (f *Tree) addRoles(l int) {
	t := f.Topology
	if !t.Divided() {
		return
	}
	readers, builders := 0, 0
	if i := f.Leaves - 1; i >= 0 {
		readers, builders = f.Readers[i]+f.R[i], f.Builders[i]+f.B[i]
	}
	f.Readers, f.Builders = append(f.Readers, readers), append(f.Builders, builders)
	f.R, f.B = append(f.R, t.ReadersOn(l)), append(f.B, t.BuildersOn(l))
	f.Reach[f.Leaves] = t.Builders() - t.BuildersOn(l)
	f.Heard = append(f.Heard, t.Readers()-t.ReadersOn(l))
}

// Directed returns a tree without pairs that has each leaf and pod twice: leaf a sends as number a, and receives as number
// leaves + a.
func (f *Tree) Directed() *Tree {
	idle := make([]int, f.Leaves)
	d := &Tree{
		Topology: f.Topology, Servers: f.Servers, Leaves: 2 * f.Leaves, Spines: f.Spines, Pods: 2 * f.Pods, Tops: f.Tops, Both: f,
		Name: slices.Repeat(f.Name, 2), Leaf: slices.Repeat(f.Leaf, 2), alone: slices.Repeat(f.alone, 2), Alive: slices.Repeat(f.Alive, 2),
		R: slices.Concat(f.R, idle), B: slices.Concat(idle, f.B), Pairs: []Pair{},
	}
	if f.Cables != nil {
		d.Cables = slices.Repeat(f.Cables, 2)
	}
	for _, way := range [2]int{0, f.Pods} {
		for _, q := range f.Pod {
			d.Pod = append(d.Pod, way+q)
		}
	}
	d.meetAbove()
	return d
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

// PlaneLists returns the planes that messages between two leaves may take, by a·leaves + b.
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
