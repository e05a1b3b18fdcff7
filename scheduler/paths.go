package scheduler

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

// A goal is a schedule of few paths in the making.
type goal struct {
	f     *fattree.Tree
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

// pathsFor returns a schedule for the objectives paths and balanced over the spines of a fabric whose
// pairs are filled in, with the best bound proven.
func pathsFor(f *fattree.Tree, o Options) (*slots.Table, Bound, error) {
	if t, spines := phases.Shift(f); t != nil {
		t.DealShift(f.Topology, spines)
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

// newGoal takes the spines of f; s is a split of its messages, perhaps over other spines.
func newGoal(f *fattree.Tree, s *split.Split, bound Bound, o Options) *goal {
	g := &goal{f: f, o: o, bound: bound, need: f.Busiest()}
	g.most = max(g.need, int(s.Ceiling))
	if o.Objective == schedules.FewestPaths {
		g.most *= 2
	}
	return g
}

// fewPaths returns a schedule for the objectives paths and balanced. The ceiling of s is enough
// phases when paths do not matter. For paths it is the shortest found with one spine for each leaf
// and destination; for balanced, the one found with fewest such spines and no more than max(S,
// ceiling) phases. Where the search finds none, it is the usual schedule of FORS.
func fewPaths(s *split.Split, bound Bound, o Options) *slots.Table {
	g := newGoal(s.F, s, bound, o)
	r, spines, alike := phases.RotationOf(s.F)
	start := newSpread(s.F)
	least := start.least(bound, g.need)
	if alike && r.Whole() <= min(least, g.most) {
		return g.rotate(r, r.Whole(), true, spines)
	}
	if alike {
		g.most = min(g.most, r.Whole()) // no use for a longer one
	}
	if out := g.onePath(least, start.step(), start.find); out != nil {
		return out
	}
	switch {
	case alike && r.Whole() <= g.most:
		return g.rotate(r, r.Whole(), true, spines)
	case alike && r.Split() <= g.most:
		return g.rotate(r, r.Split(), false, spines)
	}
	g.most = max(g.need, int(s.Ceiling))
	if out := g.manyPaths(start); out != nil {
		return out
	}
	return phases.Of(s, bound, o)
}

// OnePathBound returns a number of phases that every schedule with one path from each leaf to each
// server needs, and the leaf that proves it, or None. All n readers of a leaf then send through one
// live link to each of the r builders of other leaves, so one link carries ⌈r/links⌉·n messages. b
// bounds schedules with any paths. OnePathBound leaves out the pairs that LowerBound leaves out.
func OnePathBound(t *topology.Tree, b Bound) (phases, leaf int) {
	f := fattree.New(t)
	f.Part()
	phases, leaf = b.Phases, None
	for a, n := range f.R {
		if f.Live[a] > 0 && n*fattree.CeilDiv(f.Reach[a], f.Live[a]) > phases {
			phases, leaf = n*fattree.CeilDiv(f.Reach[a], f.Live[a]), f.Leaf[a]
		}
	}
	return phases, leaf
}

func (g *goal) rotate(r phases.Rotation, phases int, whole bool, spines []int) *slots.Table {
	return r.Table(g.f, phases, whole, spines, g.bound, g.o)
}

// A laid is one spine for each leaf and destination, or few, such that no link carries too much.
type laid interface {
	label(*phases.Columns) (load []int32) // slots without phases, and the loads of links
	down(dst, lane int) int               // the lane down of a message that goes up by one
}

// onePath looks for the shortest schedule with one spine for each leaf and destination. It returns
// nil when it finds none within the phases wanted. find returns such spines for so many phases, or
// nil.
func (g *goal) onePath(least, step int, find func(phases int) laid) *slots.Table {
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
	var best *slots.Table
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
func (g *goal) manyPaths(s *spread) *slots.Table {
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
func (g *goal) time(s laid, most, spines int) *slots.Table {
	if g.f.Servers*g.f.Servers+2*len(g.f.Alive)*most > maxUnits || g.f.Topology.Roles() && g.f.Servers*most > maxUnits/2 {
		return nil
	}
	c := phases.NewColumns(g.f, most, most < g.need)
	t := newTiming(c, s, spines, g.o)
	done := t.untangle(effort*g.f.Servers*g.f.Servers + patience)
	if !done && !g.f.Topology.Roles() {
		return nil
	}
	t.finish()
	if !done {
		t.part()
	}
	return c.Table(g.bound, g.o)
}
