package scheduler

import (
	"slices"

	"evbench/topology"
)

// addRoles notes the readers and builders of the next leaf, which is l of the tree.
func (f *fabric) addRoles(l int) {
	t := f.tree
	if !t.Roles() {
		return
	}
	readers, builders := 0, 0
	if i := f.leaves - 1; i >= 0 {
		readers, builders = f.readers[i]+f.r[i], f.builders[i]+f.b[i]
	}
	f.readers, f.builders = append(f.readers, readers), append(f.builders, builders)
	f.r, f.b = append(f.r, t.ReadersOn(l)), append(f.b, t.BuildersOn(l))
	f.reach[f.leaves] = t.Builders() - t.BuildersOn(l)
	f.heard = append(f.heard, t.Readers()-t.ReadersOn(l))
}

// directed returns a fabric that has each leaf twice: leaf a sends as number a, and receives as
// number leaves + a. Its pairs are a leaf and another for which it has messages.
func (f *fabric) directed() *fabric {
	idle := make([]int, f.leaves)
	d := &fabric{
		tree: f.tree, servers: f.servers, leaves: 2 * f.leaves, spines: f.spines, pods: 1, name: f.name, both: f,
		leaf: slices.Repeat(f.leaf, 2), pod: make([]int, 2*f.leaves), alone: f.alone, shared: f.shared, counts: f.counts,
		r: slices.Concat(f.r, idle), b: slices.Concat(idle, f.b),
		alive: slices.Repeat(f.alive, 2), cables: slices.Repeat(f.cables, 2),
		pairs: []pair{},
	}
	if f.cables == nil {
		d.cables = nil
	}
	for _, p := range f.pairs {
		for _, q := range [2]pair{{p.a, p.b + f.leaves, p.spines}, {p.b, p.a + f.leaves, p.spines}} {
			if d.messages(q.a, q.b) > 0 {
				d.pairs = append(d.pairs, q)
			}
		}
	}
	return d
}

// readerOf returns the reader number of each builder of a leaf, none where it only builds.
func (f *fabric) readerOf(leaf int) (out []int32) {
	reader := int32(0)
	for rank := f.first[leaf]; rank < f.first[leaf]+f.n[leaf]; rank++ {
		i := int32(none)
		if f.tree.Reads(rank) {
			i = reader
			reader++
		}
		if f.tree.Builds(rank) {
			out = append(out, i)
		}
	}
	return out
}

// doubled returns a fabric without pairs that has each leaf and pod of a tree twice: one sends and
// one receives.
func doubled(t *topology.Tree) *fabric {
	f := &fabric{tree: t, spines: t.Spines(), leaves: 2 * t.Leaves(), pods: 2 * t.Pods(), tops: t.Tops()}
	for q := range f.pods {
		f.name = append(f.name, q%t.Pods())
	}
	for l := range f.leaves {
		leaf := l % t.Leaves()
		f.pod = append(f.pod, t.Pod(leaf)+l/t.Leaves()*t.Pods())
		for k := range f.spines {
			n := t.Live(leaf, k)
			f.alive = append(f.alive, n > 0)
			if t.Cables() > 1 {
				f.cables = append(f.cables, n)
			}
		}
	}
	f.countTops()
	f.meetAbove()
	return f
}
