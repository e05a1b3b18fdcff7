package scheduler

import (
	"fmt"
	"runtime"

	"evbench/topology"
)

// Options steer the search for a schedule; the zero value works.
type Options struct {
	// Seed chooses among the schedules of equal length.
	Seed uint64
	// Workers is how many goroutines work at once. 0 means GOMAXPROCS. The
	// schedule does not depend on it.
	Workers int
	// Objective is what fors makes least. "" means FewestPhases.
	Objective Objective
	// DropUnreachable leaves out messages between leaves that share no live
	// spine, instead of refusing the tree.
	DropUnreachable bool
}

// An Objective is what a schedule is to have least of.
type Objective string

// The objectives of fors.
const (
	FewestPhases Objective = "phases"   // phases, whatever the paths
	FewestPaths  Objective = "paths"    // spines that one leaf uses towards one destination, then phases
	Balanced     Objective = "balanced" // such spines, with at most max(S, ⌈L*⌉) phases
)

func (o Options) workers() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// FORS returns a contention-free schedule with a spine for every message between
// leaves, of the fewest phases, for any dead links that leave every pair of
// servers a common spine, any servers missing and any number of spines. The
// bound proves how few there can be; where the schedule has one more, the
// difference is a gap that nobody has closed. An unconnected tree is a
// *topology.UnreachableError.
//
// The name and the aim are those of thesis ch. 6; the construction is not. The
// thesis finds phases by a closed form and paths by an integer program, for
// full leaves. Here everything follows from König's theorem, in three steps:
//
//  1. Split the n_a·n_b messages of each ordered pair of leaves over their
//     common spines such that the largest link load K is least (balance).
//  2. Colour with K colours, the phases, the bipartite multigraph of links
//     leaf→spine and spine→leaf, one edge for each message (phases).
//  3. So far a message has leaves, a phase and a spine. Choose its servers by two
//     more edge colourings (lift).
//
// Step 1 decides the number of phases: K = max(S-1, largest link load). The
// others always succeed.
func FORS(t *topology.Tree, o Options) (*Schedule, Bound, error) {
	if err := t.Connected(); err != nil {
		return nil, Bound{}, err
	}
	f := newFabric(t)
	if err := f.check(); err != nil {
		return nil, Bound{}, fmt.Errorf("schedule fors: %w", err)
	}
	x, bound := f.balance()
	if int(x.ceiling) >= maxPhase {
		return nil, Bound{}, fmt.Errorf("schedule fors: %d phases, more than %d", x.ceiling, maxPhase)
	}
	return x.schedule(bound, o), bound, nil
}

// schedule takes steps 2 and 3.
func (s *split) schedule(bound Bound, o Options) *Schedule {
	out := newSchedule("fors", s.tree)
	out.Phases, out.Pinned = int(s.ceiling), true
	t := &table{split: s, phases: out.Phases, slots: out.slots}
	t.color(o)
	t.lift(o)
	if out.Phases > bound.Phases {
		out.dropEmpty() // above the bound a phase may hold nothing
	}
	return out
}
