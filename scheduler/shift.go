package scheduler

import (
	"iter"

	"evbench/scheduler/internal/slots"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// A shift is linear shift without a table of pairs. On a whole tree whose leaves have equally many servers it has a path for
// each message, which depends on the destination alone (thesis 4.2.2): the spine, or plane, of its place on its leaf, and the
// top switch of its leaf's place in its pod. In a phase the destinations of a leaf, or of a pod, stand in a row: no two share
// a place.
type shift struct {
	tree   *topology.Tree
	leaf   []int32 // of each rank
	fill   int     // servers of a leaf
	pinned bool
}

// tableServers is up to how many servers a schedule has a table of pairs, although a closed form would do.
const tableServers = 1 << 12

// shiftOf returns the closed form of linear shift on a tree of so many servers; nil: it has none, or a table will do.
func shiftOf(t *topology.Tree, pinned bool, beyond int) *shift {
	f := &shift{tree: t, fill: t.ServersOn(0), pinned: pinned}
	if t.Servers() <= beyond || t.Servers() > MaxServers || t.Divided() || len(t.Dead()) > 0 || t.Cables()*t.Spines() < f.fill || t.Levels() == 3 && t.Tops() < t.PodLeaves() {
		return nil
	}
	for leaf := range t.Leaves() {
		if t.ServersOn(leaf) != f.fill {
			return nil
		}
		for range f.fill {
			f.leaf = append(f.leaf, int32(leaf))
		}
	}
	return f
}

func (f *shift) schedule(name string) *Schedule {
	n := len(f.leaf)
	return &Schedule{Name: name, Ranks: n, Phases: n - 1, Pinned: f.pinned, closed: f}
}

func (f *shift) phase(src, dst int) int {
	n := len(f.leaf)
	return (dst - src - 1 + n) % n
}

func (f *shift) way(src, dst int) slots.Way {
	a, b := int(f.leaf[src]), int(f.leaf[dst])
	if !f.pinned || a == b {
		return slots.Way{Spine: None, Top: None}
	}
	t, place := f.tree, dst%f.fill
	w := slots.Way{Spine: place % t.Spines(), Top: None}
	switch {
	case t.Cables() > 1:
		w.Top = t.Lane(place/t.Spines(), place/t.Spines())
	case t.Levels() == 3 && t.AcrossPods(a, b):
		w.Top = b % t.PodLeaves()
	}
	return w
}

func (f *shift) all() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		n := len(f.leaf)
		for p := range n - 1 {
			dst := p + 1
			for src := range n {
				if dst == n {
					dst = 0
				}
				w := f.way(src, dst)
				if !yield(Message{p, src, dst, w.Spine, w.Top}) {
					return
				}
				dst++
			}
		}
	}
}

// tableOf returns the table of a schedule, made for a closed form.
func (s *Schedule) tableOf() *slots.Table {
	if s.closed == nil {
		return s.table
	}
	t := slots.Met(s.Ranks, s.Phases, s.closed.phase)
	if s.Pinned {
		t.AddTops()
		t.Walk(func(src, dst int, x *slots.Slot) { t.Put(uint32(src*s.Ranks+dst), x.Phase(), s.closed.way(src, dst)) })
	}
	return t
}

// Whole reports whether s is a closed form whose messages, over such paths, fill no link more than those of the servers: nil for
// its own paths. A path must depend on nothing but the leaf and the destination.
func (s *Schedule) Whole(path func(src, dst int) int) bool {
	if s.closed == nil || path == nil {
		return s.closed != nil && s.Pinned
	}
	f := *s.closed
	f.pinned = true
	for leaf := range f.tree.Leaves() {
		src := f.tree.First(leaf)
		for dst := range f.leaf {
			if w := f.way(src, dst); w.Spine != None && path(src, dst) != f.tree.PathOf(w.Spine, w.Top) {
				return false
			}
		}
	}
	return true
}

// shifted returns FORS of a large tree that is whole, with its bound; nil: it is not.
func shifted(t *topology.Tree) (*Schedule, Bound) {
	f := shiftOf(t, true, tableServers)
	if f == nil {
		return nil, Bound{}
	}
	return f.schedule(schedules.FORS), Bound{Phases: len(f.leaf) - 1, Kind: KindServer}
}
