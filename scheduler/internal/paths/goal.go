package paths

import (
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
)

// A goal is a schedule of few paths in the making.
type goal struct {
	f     *fattree.Tree
	o     schedules.Options
	bound split.Bound
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

// newGoal takes the spines of f; s is a split of its messages, perhaps over other spines.
func newGoal(f *fattree.Tree, s *split.Split, bound split.Bound, o schedules.Options) *goal {
	g := &goal{f: f, o: o, bound: bound, need: f.Busiest()}
	g.most = max(g.need, int(s.Ceiling))
	if o.Objective == schedules.FewestPaths {
		g.most *= 2
	}
	return g
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
	if g.f.Servers*g.f.Servers+2*len(g.f.Alive)*most > maxUnits || g.f.Topology.Divided() && g.f.Servers*most > maxUnits/2 {
		return nil
	}
	c := phases.NewColumns(g.f, most, most < g.need)
	t := newTiming(c, s, spines, g.o)
	done := t.untangle(effort*g.f.Servers*g.f.Servers + patience)
	if !done && !g.f.Topology.Divided() {
		return nil
	}
	t.finish()
	if !done {
		t.part()
	}
	return c.Table(g.bound, g.o)
}
