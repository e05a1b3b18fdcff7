package scheduler

import (
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

// A goal is a schedule of few paths in the making.
type goal struct {
	*fabric
	o     Options
	bound Bound
	need  int // messages of the busiest server, the one to itself included
	most  int // phases of the longest schedule wanted
}

// Limits of the search.
const (
	patient  = 16      // loads tried one by one, before steps grow
	maxTries = 6       // phases tried for one spread
	maxParts = 8       // see spread.parts
	effort   = 60      // units looked at, for each pair of servers, in one search of a timing
	patience = 50_000  // and for all of them together
	maxUnits = 1 << 27 // of a timing, of 20 bytes each
)

// fewPaths returns a schedule for the objectives paths and balanced. The ceiling of s is enough
// phases when paths do not matter. For paths it is the shortest found with one spine for each leaf
// and destination; for balanced, the one found with fewest such spines and no more than max(S,
// ceiling) phases. Where the search finds none, it is the usual schedule of FORS.
func (s *split) fewPaths(bound Bound, o Options) *Schedule {
	g := &goal{fabric: s.fabric, o: o, bound: bound, need: s.busiest()}
	g.most = max(g.need, int(s.ceiling))
	if o.Objective == schedules.FewestPaths {
		g.most *= 2
	}
	r, spines, alike := s.rotation()
	start := newSpread(s.fabric)
	least := start.least(bound, g.need)
	if alike && r.whole() <= min(least, g.most) {
		return g.rotate(r, r.whole(), true, spines)
	}
	if alike {
		g.most = min(g.most, r.whole()) // no use for a longer one
	}
	if out := g.onePath(least, start.step(), start.find); out != nil {
		return out
	}
	switch {
	case alike && r.whole() <= g.most:
		return g.rotate(r, r.whole(), true, spines)
	case alike && r.split() <= g.most:
		return g.rotate(r, r.split(), false, spines)
	}
	g.most = max(g.need, int(s.ceiling))
	if out := g.manyPaths(start); out != nil {
		return out
	}
	return s.schedule(bound, o)
}

// OnePathBound returns a number of phases that every schedule with one path from each leaf to each
// server needs, and the leaf that proves it, or None. All n readers of a leaf then send through one
// live link to each of the r builders of other leaves, so one link carries ⌈r/links⌉·n messages. b
// bounds schedules with any paths. OnePathBound leaves out the pairs that LowerBound leaves out.
func OnePathBound(t *topology.Tree, b Bound) (phases, leaf int) {
	f := newFabric(t)
	f.part()
	phases, leaf = b.Phases, None
	for a, n := range f.r {
		if f.live[a] > 0 && n*ceilDiv(f.reach[a], f.live[a]) > phases {
			phases, leaf = n*ceilDiv(f.reach[a], f.live[a]), f.leaf[a]
		}
	}
	return phases, leaf
}

// busiest returns the most messages of a server, the one to itself included: S, unless pairs of
// leaves are left out.
func (f *fabric) busiest() int {
	most := 0
	for a := range f.leaves {
		_, self := f.most(a)
		most = max(most, self)
	}
	return most
}

func (g *goal) rotate(r rotation, phases int, whole bool, spines []int) *Schedule {
	out, c := g.start(phases)
	c.rotate(r, r.timetable(phases, whole, spines, g.o))
	return g.end(out, c)
}

// A laid is one spine for each leaf and destination, or few, such that no link carries too much.
type laid interface {
	label(*columns) (load []int32) // slots without phases, and the loads of links
}

// onePath looks for the shortest schedule with one spine for each leaf and destination. It returns
// nil when it finds none within the phases wanted. find returns such spines for so many phases, or
// nil.
func (g *goal) onePath(least, step int, find func(phases int) laid) *Schedule {
	var s laid
	for load, try := least, 1; s == nil; load, try = load+step, try+1 {
		if load > g.most {
			return nil
		}
		if s = find(load); s != nil {
			least = load
		}
		if try > patient {
			step *= 2
		}
	}
	var best *Schedule
	for try, phases := 0, least; try < maxTries && phases <= g.most && (best == nil || phases < best.Phases); try, phases = try+1, phases+1+try*try {
		if out := g.time(s, phases, 1); out != nil && (best == nil || out.Phases < best.Phases) {
			best = out
		}
	}
	if best != nil && best.Phases > g.most {
		return nil
	}
	return best
}

// manyPaths looks for a schedule in which few messages leave the spine that a spread with one for
// each leaf and destination gave them.
func (g *goal) manyPaths(s *spread) *Schedule {
	for parts := 2; parts <= maxParts; parts++ {
		p := s.clone()
		if !p.portions(g.most, parts) {
			continue
		}
		if out := g.time(p, g.most, parts); out != nil && out.Phases <= g.most {
			return out
		}
	}
	return nil
}

// time makes the schedule of a spread, or nil. A leaf uses at most spines spines for a destination.
// Where some servers only read or only build, it is a longer schedule instead of nil.
func (g *goal) time(s laid, phases, spines int) *Schedule {
	if g.servers*g.servers+2*len(g.alive)*phases > maxUnits || g.tree.Roles() && g.servers*phases > maxUnits/2 {
		return nil
	}
	out, c := g.start(phases)
	t := newTiming(c, s.label(c), spines, g.o)
	done := t.untangle(effort*g.servers*g.servers + patience)
	if !done && !g.tree.Roles() {
		return nil
	}
	t.finish()
	if !done {
		out.Phases = t.part()
	}
	return g.end(out, c)
}

func (g *goal) start(phases int) (*Schedule, *columns) {
	out := newSchedule(schedules.FORS, g.servers)
	out.Phases, out.Pinned = phases, true
	c := &columns{fabric: g.fabric, phases: phases, dropsSelf: phases < g.need, width: g.tree.Builders(), slots: out.slots}
	if g.tree.Roles() {
		c.slots = make([]slot, g.tree.Readers()*c.width)
	}
	return out, c
}

func (g *goal) end(out *Schedule, c *columns) *Schedule {
	c.sources(g.o)
	if g.tree.Roles() {
		out.spread(g.tree, c.slots)
	} else if out.Phases > g.bound.Phases {
		out.dropEmpty()
	}
	return out
}
