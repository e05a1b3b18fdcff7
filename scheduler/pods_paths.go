package scheduler

import (
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

// fewPathsAbove returns a schedule for the objectives paths and balanced, or nil where fewest phases
// are left. The pairs of f are filled in.
func fewPathsAbove(f *fabric, o schedules.Options) (*slotTable, Bound) {
	b := newFluid(f).settlePods(f.simpleBound())
	most := max(f.busiest(), b.Phases)
	if o.Objective == schedules.FewestPaths {
		most = maxPhase - 1
	}
	r, planes, tops := podRotation(f)
	whole := most + 1
	if planes != nil {
		whole = r.whole()
	}
	if whole > b.Phases { // else no list is shorter
		if out := onePathAbove(f, b, min(most, whole-1), o); out != nil {
			return out, b
		}
	}
	switch {
	case planes != nil && whole <= most:
		return withTops(f, r.table(f, whole, true, planes, b, o), tops), b
	case planes != nil && r.split() <= most:
		return withTops(f, r.table(f, r.split(), false, planes, b, o), tops), b
	}
	return nil, b
}

// podRotation returns the rotation over the planes on which no leaf has a dead link and enough top
// switches are alive from all pods, with these planes and their top switches. It returns no planes
// where pods or leaves differ.
func podRotation(f *fabric) (r rotation, planes []int, tops map[int][]int) {
	r, whole, ok := f.rotation()
	m := f.leaves / f.pods // leaves of a pod
	for l, q := range f.pod {
		ok = ok && q == l/m
	}
	if !ok || f.pods*m != f.leaves {
		return r, nil, nil
	}
	tops = map[int][]int{}
	for _, k := range whole {
		all := f.shared[f.between(0, 0, k)]
		for q := range f.pods {
			all = all.And(f.shared[f.between(q, q, k)])
		}
		for t := all.Next(0); t != none; t = all.Next(t + 1) {
			tops[k] = append(tops[k], t)
		}
		if len(tops[k]) >= m || f.pods == 1 {
			planes = append(planes, k)
		}
	}
	r.w = max(len(planes), 1) // of a single leaf, which needs none
	if f.leaves == 1 {
		planes = []int{}
	}
	return r, planes, tops
}

// withTops gives the messages between pods of a rotation the top switch of the destination's leaf.
func withTops(f *fabric, t *slotTable, tops map[int][]int) *slotTable {
	t.addTops()
	leaf, m := f.leafOf(), f.leaves/f.pods
	t.walk(func(src, dst int, x *slot) {
		if a, b := leaf[src], leaf[dst]; f.pod[a] != f.pod[b] {
			t.tops[src*t.ranks+dst] = uint8(tops[x.spine()][int(b)%m])
		}
	})
	return t
}

// maxStreams bounds the work of a list schedule: leaves times servers times phases.
const maxStreams = 1 << 27

// onePathAbove returns the shortest schedule found with one path for each leaf and
// destination, if it has no more phases than most; else nil.
func onePathAbove(f *fabric, b Bound, most int, o schedules.Options) *slotTable {
	need := f.busiest()
	if f.leaves*f.servers*need > maxStreams {
		return nil
	}
	c := choosePaths(f, o.Seed)
	if c.busiest() > most {
		return nil
	}
	var best *streams
	for try := range max(1, min(listTries, listWork/(f.leaves*f.servers*need))) {
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
