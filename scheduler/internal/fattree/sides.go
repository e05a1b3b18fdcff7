package fattree

import (
	"slices"

	"evbench/topology"
)

// addRoles notes the readers and builders of the next leaf, which is l of the tree.
func (f *Tree) addRoles(l int) {
	t := f.Topology
	if !t.Roles() {
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

// Directed returns a fabric that has each leaf twice: leaf a sends as number a, and receives as
// number leaves + a. Its pairs are a leaf and another for which it has messages.
func (f *Tree) Directed() *Tree {
	idle := make([]int, f.Leaves)
	d := &Tree{
		Topology: f.Topology, Servers: f.Servers, Leaves: 2 * f.Leaves, Spines: f.Spines, Pods: 1, Name: f.Name, Both: f,
		Leaf: slices.Repeat(f.Leaf, 2), Pod: make([]int, 2*f.Leaves), alone: f.alone, Shared: f.Shared, Counts: f.Counts,
		R: slices.Concat(f.R, idle), B: slices.Concat(idle, f.B),
		Alive: slices.Repeat(f.Alive, 2), Cables: slices.Repeat(f.Cables, 2),
		Pairs: []Pair{},
	}
	if f.Cables == nil {
		d.Cables = nil
	}
	for _, p := range f.Pairs {
		for _, q := range [2]Pair{{p.A, p.B + f.Leaves, p.Spines}, {p.B, p.A + f.Leaves, p.Spines}} {
			if d.Messages(q.A, q.B) > 0 {
				d.Pairs = append(d.Pairs, q)
			}
		}
	}
	return d
}

// ReaderOf returns the reader number of each builder of a leaf, none where it only builds.
func (f *Tree) ReaderOf(leaf int) (out []int32) {
	reader := int32(0)
	for rank := f.First[leaf]; rank < f.First[leaf]+f.N[leaf]; rank++ {
		i := int32(none)
		if f.Topology.Reads(rank) {
			i = reader
			reader++
		}
		if f.Topology.Builds(rank) {
			out = append(out, i)
		}
	}
	return out
}

// Doubled returns a fabric without pairs that has each leaf and pod of a tree twice: one sends and
// one receives.
func Doubled(t *topology.Tree) *Tree {
	f := &Tree{Topology: t, Spines: t.Spines(), Leaves: 2 * t.Leaves(), Pods: 2 * t.Pods(), Tops: t.Tops()}
	for q := range f.Pods {
		f.Name = append(f.Name, q%t.Pods())
	}
	for l := range f.Leaves {
		leaf := l % t.Leaves()
		f.Pod = append(f.Pod, t.Pod(leaf)+l/t.Leaves()*t.Pods())
		for k := range f.Spines {
			n := t.Live(leaf, k)
			f.Alive = append(f.Alive, n > 0)
			if t.Cables() > 1 {
				f.Cables = append(f.Cables, n)
			}
		}
	}
	f.countTops()
	f.meetAbove()
	return f
}
