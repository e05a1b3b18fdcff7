// Package paths answers: which spines does each leaf use towards each destination, such that they are few
// and the phases hardly more?
package paths

import (
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// InfiniBand encodes the spine in the destination address: how many spines a leaf uses
// towards one destination, its paths, decides the addresses and table entries of a plan
// (thesis 6.7.2, where it is a mixed integer program). The objectives paths and balanced
// choose the spines of each leaf and destination first, and then phases:
//
//  1. Where leaves are alike, a rotation needs no search.
//  2. Otherwise a spread gives each leaf and destination one spine, or parts of a few, such
//     that no link carries more than the phases allow, and a timing searches the phases.
//     Messages of one phase then differ in their destinations, too, which König's theorem
//     does not provide: it may not succeed.

// Plan returns a schedule for the objectives paths and balanced over the spines of a tree whose
// pairs are filled in, with the best bound proven.
func Plan(f *fattree.Tree, o schedules.Options) (*slots.Table, split.Bound, error) {
	if t, spines := phases.Shift(f); t != nil {
		t.ShiftCables(&f.Topology.Live, spines)
		return t, split.Simple(f), nil
	}
	s, bound, err := phases.Balanced(f)
	switch {
	case err != nil:
		return nil, bound, err
	case f.Cables != nil:
		return inLanes(s, bound, o), bound, nil
	}
	return fewPaths(s, bound, o), bound, nil
}

// fewPaths returns a schedule for the objectives paths and balanced. The ceiling of s is enough
// phases when paths do not matter. For paths it is the shortest found with one spine for each leaf
// and destination; for balanced, the one found with fewest such spines and no more than max(S,
// ceiling) phases. Where the search finds none, it is the usual schedule of FORS.
func fewPaths(s *split.Split, bound split.Bound, o schedules.Options) *slots.Table {
	f := s.F
	g, start := newGoal(f, s, bound, o), newSpread(f)
	r, spines, alike := phases.RotationOf(f)
	least := start.least(bound, g.need)
	if alike && r.Whole() <= min(least, g.most) {
		return r.Table(f, true, spines, bound, o)
	}
	if alike {
		g.most = min(g.most, r.Whole()) // no use for a longer one
	}
	if out := g.onePath(least, start.step(), start.find); out != nil {
		return out
	}
	switch {
	case alike && r.Whole() <= g.most:
		return r.Table(f, true, spines, bound, o)
	case alike && r.Split() <= g.most:
		return r.Table(f, false, spines, bound, o)
	}
	g.most = max(g.need, int(s.Ceiling))
	if out := g.manyPaths(start); out != nil {
		return out
	}
	return phases.Of(s, bound, o)
}

// inLanes returns a schedule for the objectives paths and balanced where cables are parallel: with
// one path for each leaf and server, and one cable down to a server from each spine. If none is
// found, each cable counts as a spine: a message goes down by the live cable with the number by which
// it came up. Where that takes more phases than the objective allows, or leaves servers apart,
// inLanes returns the usual schedule of FORS.
func inLanes(s *split.Split, bound split.Bound, o schedules.Options) *slots.Table {
	t := s.F.Topology
	lanes, err := lanesOf(t)
	if err != nil || len(lanes.Severed()) != len(t.Severed()) {
		return phases.Of(s, bound, o)
	}
	f := fattree.New(lanes)
	if f.Check() != nil {
		return phases.Of(s, bound, o)
	}
	f.Share()
	out, down := oneCable(f, s, bound, o)
	if out == nil {
		out, _, err = Plan(f, o)
		if err != nil || o.Objective == schedules.Balanced && out.Phases > max(s.F.Busiest(), int(s.Ceiling)) {
			return phases.Of(s, bound, o)
		}
		down = func(_, lane int) int { return lane }
	}
	p := t.Cables()
	out.Lay(&t.Live, func(dst, lane int) (spine, n, m int) { return lane / p, lane % p, down(dst, lane) % p })
	return out
}

// oneCable returns a schedule over lanes with one path for each leaf and server, and the lane down
// by server and lane up; or nil.
func oneCable(f *fattree.Tree, s *split.Split, bound split.Bound, o schedules.Options) (*slots.Table, func(dst, lane int) int) {
	g := newGoal(f, s, bound, o)
	start := newSpread(f)
	var last *descent
	out := g.onePath(start.least(bound, g.need), start.step(), func(phases int) laid {
		if d := newDescent(start, s.F.Topology.Cables(), phases); d.settle() {
			last = d
			return d
		}
		return nil
	})
	if out == nil {
		return nil, nil
	}
	builder := make([]int, f.Servers)
	for rank, n := 0, 0; rank < len(builder); rank++ {
		if builder[rank] = n; f.Topology.Builds(rank) {
			n++
		}
	}
	return out, func(dst, lane int) int { return last.down(builder[dst], lane) }
}

// lanesOf returns the tree in which the n-th live cables to a spine lead to a spine of their own.
func lanesOf(t *topology.Tree) (*topology.Tree, error) {
	var dead []topology.Link
	for l := range t.Leaves() {
		for k := range t.Spines() {
			for c := t.LiveCables(l, k); c < t.Cables(); c++ {
				dead = append(dead, topology.Link{Leaf: l, Spine: k*t.Cables() + c})
			}
		}
	}
	lanes, err := topology.New(topology.Options{Ports: t.Ports(), Leaves: t.Leaves(), Spines: t.Spines() * t.Cables(), Fill: t.Fill()})
	if err == nil && t.Divided() {
		lanes, err = lanes.WithRoles(t.RoleLists())
	}
	if err != nil {
		return nil, err
	}
	return lanes.Without(dead...)
}

const none = -1 // no spine, leaf or server
