package scheduler

import (
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// inLanes returns a schedule for the objectives paths and balanced where cables are parallel: with
// one path for each leaf and server, and one cable down to a server from each spine. If none is
// found, each cable counts as a spine: a message goes down by the live cable with the number by which
// it came up. Where that takes more phases than the objective allows, or leaves servers apart,
// inLanes returns the usual schedule of FORS.
func inLanes(s *split, bound Bound, o Options) *slotTable {
	t := s.f.tree
	lanes, err := lanesOf(t)
	if err != nil || len(lanes.Severed()) != len(t.Severed()) {
		return phasesOf(s, bound, o)
	}
	f := newFabric(lanes)
	if f.check() != nil {
		return phasesOf(s, bound, o)
	}
	f.share()
	out, down := oneCable(f, s, bound, o)
	if out == nil {
		out, _, err = pathsFor(f, o)
		if err != nil || o.Objective == schedules.Balanced && out.phases > max(s.f.busiest(), int(s.ceiling)) {
			return phasesOf(s, bound, o)
		}
		down = func(_, lane int) int { return lane }
	}
	p := t.Cables()
	out.lay(t, func(dst, lane int) (spine, n, m int) { return lane / p, lane % p, down(dst, lane) % p })
	return out
}

// oneCable returns a schedule over lanes with one path for each leaf and server, and the lane down
// by server and lane up; or nil.
func oneCable(f *fabric, s *split, bound Bound, o Options) (*slotTable, func(dst, lane int) int) {
	g := newGoal(f, s, bound, o)
	start := newSpread(f)
	var last *descent
	out := g.onePath(start.least(bound, g.need), start.step(), func(phases int) laid {
		if d := newDescent(start, s.f.tree.Cables(), phases); d.settle() {
			last = d
			return d
		}
		return nil
	})
	if out == nil {
		return nil, nil
	}
	builder := make([]int, f.servers)
	for rank, n := 0, 0; rank < len(builder); rank++ {
		if builder[rank] = n; f.tree.Builds(rank) {
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
			for c := t.Live(l, k); c < t.Cables(); c++ {
				dead = append(dead, topology.Link{Leaf: l, Spine: k*t.Cables() + c})
			}
		}
	}
	lanes, err := topology.New(topology.Options{Ports: t.Ports(), Leaves: t.Leaves(), Spines: t.Spines() * t.Cables(), Fill: t.Fill()})
	if err == nil && t.Roles() {
		lanes, err = lanes.WithRoles(t.RoleLists())
	}
	if err != nil {
		return nil, err
	}
	return lanes.Without(dead...)
}
