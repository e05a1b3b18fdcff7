package scheduler

import (
	"fmt"
	"slices"

	"evbench/scheduler/schedules"
	"evbench/topology"
)

// deal gives each message of a phase a cable where cables are parallel. The messages of a leaf on a
// spine take the live cables in order, upwards and downwards. There are enough: no phase of s has
// more messages of a link than live cables. O(S²).
func (s *Schedule) deal(t *topology.Tree) {
	if t.Cables() == 1 {
		return
	}
	s.tops = slices.Repeat([]uint8{noSpine}, len(s.slots))
	start, order := s.byPhase()
	leaf, used := t.LeafOfRanks(), make([]int, 2*t.Leaves()*t.Spines())
	next := func(side, leaf, spine int) int {
		at := &used[(side*t.Leaves()+leaf)*t.Spines()+spine]
		for !t.CableAlive(leaf, spine, *at) {
			*at++
		}
		*at++
		return *at - 1
	}
	for p := range s.Phases {
		clear(used)
		for _, i := range order[start[p]:start[p+1]] {
			if k := s.slots[i].spine(); k != None {
				up := next(0, leaf[int(i)/s.Ranks], k)
				s.tops[i] = uint8(t.Lane(up, next(1, leaf[int(i)%s.Ranks], k)))
			}
		}
	}
}

// dealShift is deal for linear shift with few paths: spines are those of the servers of a leaf, and
// those of the same spine take its live cables in order. So tables with one entry for a server hold
// the paths. O(S²).
func (s *Schedule) dealShift(t *topology.Tree, spines []int) {
	if t.Cables() == 1 {
		return
	}
	s.tops = slices.Repeat([]uint8{noSpine}, len(s.slots))
	leaf, number := t.LeafOfRanks(), make([]int, len(spines))
	for i, k := range spines {
		for _, before := range spines[:i] {
			if before == k {
				number[i]++
			}
		}
	}
	s.walk(func(src, dst int, x *slot) {
		if k := x.spine(); k != None {
			n := number[dst%len(spines)]
			s.tops[src*s.Ranks+dst] = uint8(t.Lane(nth(t, leaf[src], k, n), nth(t, leaf[dst], k, n)))
		}
	})
}

// inLanes returns a schedule for the objectives paths and balanced where cables are parallel: with
// one path for each leaf and server, and one cable down to a server from each spine. If none is
// found, each cable counts as a spine: a message goes down by the live cable with the number by which
// it came up. Where that takes more phases than the objective allows, or leaves servers apart,
// inLanes returns the usual schedule of FORS.
func (s *split) inLanes(bound Bound, o Options) *Schedule {
	t := s.tree
	lanes, err := lanesOf(t)
	if err != nil || len(lanes.Severed()) != len(t.Severed()) {
		return s.schedule(bound, o)
	}
	if out, down := s.oneCable(lanes, bound, o); out != nil {
		return out.overCables(t, down)
	}
	out, _, err := FORS(lanes, o)
	if err != nil || o.Objective == schedules.Balanced && out.Phases > max(s.busiest(), int(s.ceiling)) {
		return s.schedule(bound, o)
	}
	return out.overCables(t, func(_, lane int) int { return lane })
}

// oneCable returns a schedule over lanes with one path for each leaf and server, and the lane down
// by server and lane up; or nil.
func (s *split) oneCable(lanes *topology.Tree, bound Bound, o Options) (*Schedule, func(dst, lane int) int) {
	f := newFabric(lanes)
	if f.check() != nil {
		return nil, nil
	}
	f.share()
	g := &goal{fabric: f, o: o, bound: bound, need: f.busiest()}
	g.most = max(g.need, int(s.ceiling))
	if o.Objective == schedules.FewestPaths {
		g.most *= 2
	}
	start := newSpread(f)
	var last *descent
	out := g.onePath(start.least(bound, g.need), start.step(), func(phases int) laid {
		if d := newDescent(start, s.tree.Cables(), phases); d.settle() {
			last = d
			return d
		}
		return nil
	})
	if out == nil {
		return nil, nil
	}
	builder := make([]int, lanes.Servers())
	for rank, n := 0, 0; rank < len(builder); rank++ {
		if builder[rank] = n; lanes.Builds(rank) {
			n++
		}
	}
	return out, func(dst, lane int) int { return last.down(builder[dst], lane) }
}

// overCables gives the messages of a schedule over lanes their cables.
func (s *Schedule) overCables(t *topology.Tree, down func(dst, lane int) int) *Schedule {
	s.tops = slices.Repeat([]uint8{noSpine}, len(s.slots))
	leaf, p := t.LeafOfRanks(), t.Cables()
	s.walk(func(src, dst int, x *slot) {
		if k := x.spine(); k != None {
			spine := k / p
			*x = makeSlot(x.phase(), spine)
			s.tops[src*s.Ranks+dst] = uint8(t.Lane(nth(t, leaf[src], spine, k%p), nth(t, leaf[dst], spine, down(dst, k)%p)))
		}
	})
	return s
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

// nth returns the n-th live cable between a leaf and a spine.
func nth(t *topology.Tree, leaf, spine, n int) int {
	for c := range t.Cables() {
		if t.CableAlive(leaf, spine, c) {
			if n--; n < 0 {
				return c
			}
		}
	}
	panic(fmt.Sprintf("scheduler: %s has fewer live cables", topology.Link{Leaf: leaf, Spine: spine}))
}
