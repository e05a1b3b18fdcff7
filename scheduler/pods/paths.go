package pods

import (
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
)

// The objectives paths and balanced on three levels, where a path from a leaf to a destination is a
// plane and, between pods, a top switch of it. Where pods and leaves are alike, the rotation of two
// levels runs over planes that no failure touches, and top switch l of a plane reaches leaf l of a
// pod. Otherwise pathChoice gives each leaf and destination one path such that the busiest wire
// carries little, and list scheduling (streams) finds phases.
//
// paths takes the shorter of the two with one path. balanced takes one path, else the two of
// a rotation, within max(S, bound) phases; else it is the schedule of fewest phases.

// fewPaths returns a schedule for the objectives paths and balanced, or nil where fewest phases
// are left. The pairs of f are filled in.
func fewPaths(f *fattree.Tree, o schedules.Options) (*slots.Table, split.Bound) {
	b := split.NewFluid(f).SettlePods(split.Simple(f))
	most := max(f.Busiest(), b.Phases)
	if o.Objective == schedules.FewestPaths {
		most = slots.MaxPhase - 1
	}
	r, planes, tops := rotation(f)
	whole := most + 1
	if planes != nil {
		whole = r.Whole()
	}
	if whole > b.Phases { // else no list is shorter
		if out := onePath(f, b, min(most, whole-1), o); out != nil {
			return out, b
		}
	}
	switch {
	case planes != nil && whole <= most:
		return withTops(f, r.Table(f, whole, true, planes, b, o), tops), b
	case planes != nil && r.Split() <= most:
		return withTops(f, r.Table(f, r.Split(), false, planes, b, o), tops), b
	}
	return nil, b
}

// rotation returns the rotation over the planes on which no leaf has a dead link and enough top
// switches are alive from all pods, with these planes and their top switches. It returns no planes
// where pods or leaves differ.
func rotation(f *fattree.Tree) (r phases.Rotation, planes []int, tops map[int][]int) {
	r, whole, ok := phases.RotationOf(f)
	m := f.Leaves / f.Pods // leaves of a pod
	for l, q := range f.Pod {
		ok = ok && q == l/m
	}
	if !ok || f.Pods*m != f.Leaves {
		return r, nil, nil
	}
	tops = map[int][]int{}
	for _, k := range whole {
		all := f.Shared[f.Between(0, 0, k)]
		for q := range f.Pods {
			all = all.And(f.Shared[f.Between(q, q, k)])
		}
		for t := all.Next(0); t != none; t = all.Next(t + 1) {
			tops[k] = append(tops[k], t)
		}
		if len(tops[k]) >= m || f.Pods == 1 {
			planes = append(planes, k)
		}
	}
	r.W = max(len(planes), 1) // of a single leaf, which needs none
	if f.Leaves == 1 {
		planes = []int{}
	}
	return r, planes, tops
}

// withTops gives the messages between pods of a rotation the top switch of the destination's leaf.
func withTops(f *fattree.Tree, t *slots.Table, tops map[int][]int) *slots.Table {
	t.AddTops()
	leaf, m := f.LeafOf(), f.Leaves/f.Pods
	t.Walk(func(src, dst int, x *slots.Slot) {
		if a, b := leaf[src], leaf[dst]; f.Pod[a] != f.Pod[b] {
			t.Tops[src*t.Ranks+dst] = uint8(tops[x.Spine()][int(b)%m])
		}
	})
	return t
}

// maxStreams bounds the work of a list schedule: leaves times servers times phases.
const maxStreams = 1 << 27

// onePath returns the shortest schedule found with one path for each leaf and
// destination, if it has no more phases than most; else nil.
func onePath(f *fattree.Tree, b split.Bound, most int, o schedules.Options) *slots.Table {
	need := f.Busiest()
	if f.Leaves*f.Servers*need > maxStreams {
		return nil
	}
	c := choosePaths(f, o.Seed)
	if c.busiest() > most {
		return nil
	}
	var best *streams
	for try := range max(1, min(listTries, listWork/(f.Leaves*f.Servers*need))) {
		s := newStreams(c, o.Seed+uint64(try))
		if s.run(most); s.left == 0 {
			best, most = s, s.phases-1
		}
		if most < max(need-1, c.busiest()) {
			break
		}
	}
	if best == nil {
		return nil
	}
	return best.schedule(b, o)
}

// The number of list schedules tried: fewer on large trees.
const (
	listTries = 8
	listWork  = 1 << 24
)
