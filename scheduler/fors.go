package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Options steer the search for a schedule; the zero value works.
type Options struct {
	// Seed chooses among the schedules of equal length.
	Seed uint64
	// Workers is how many goroutines work at once. 0 means GOMAXPROCS. The
	// schedule does not depend on it.
	Workers int
	// Objective is what fors makes least. "" means schedules.FewestPhases.
	Objective schedules.Objective
	// DropUnreachable leaves out messages between leaves that share no live
	// spine, instead of refusing the tree.
	DropUnreachable bool
}

// FORS returns a contention-free schedule with a path for every message between leaves, of
// the fewest phases, for any dead links that leave every pair of servers a path, any servers
// missing and any number of spines. The bound proves how few there can be. An unconnected
// tree is a *topology.UnreachableError, unless Options.DropUnreachable leaves out the pairs
// of servers that cannot reach each other.
//
// Name and aim follow thesis ch. 6, which takes an integer program. FORS follows from König's
// theorem:
//
//  1. Split the n_a·n_b messages of each ordered pair of leaves over their common spines
//     such that the largest link load K is least (balance): max(S-1, K) phases.
//  2. Colour with the phases the bipartite multigraph of links leaf→spine and spine→leaf,
//     one edge for each message (phases).
//  3. Choose the servers of each message by two more edge colourings (lift).
//
// Parallel cables are as many messages of a spine in a phase. deal gives them to cables in the end.
//
// On leaves with equally many servers, and as many cables that no failure touches, linear
// shift needs no more phases and no search. Three levels: forsAbove.
func FORS(t *topology.Tree, o Options) (*Schedule, Bound, error) {
	if err := o.Objective.Check(); err != nil {
		return nil, Bound{}, fmt.Errorf("schedule fors: %w", err)
	}
	if err := o.connected(t); err != nil {
		return nil, Bound{}, err
	}
	f := newFabric(t)
	if err := f.check(); err != nil {
		return nil, Bound{}, fmt.Errorf("schedule fors: %w", err)
	}
	f.share()
	if f.tops > 0 {
		return f.forsAbove(o)
	}
	return f.fors(o)
}

// fors plans with spines. The pairs of f are filled in.
func (f *fabric) fors(o Options) (*Schedule, Bound, error) {
	if s, spines := f.shift(); s != nil {
		if o.Objective == schedules.FewestPaths || o.Objective == schedules.Balanced {
			s.dealShift(f.tree, spines)
		} else {
			s.deal(f.tree)
		}
		return s, f.simpleBound(), nil
	}
	x, bound := f.balance()
	if int(x.ceiling) >= maxPhase {
		return nil, Bound{}, fmt.Errorf("schedule fors: %d phases, more than %d", x.ceiling, maxPhase)
	}
	if o.Objective == schedules.FewestPaths || o.Objective == schedules.Balanced {
		if f.cables != nil {
			return x.inLanes(bound, o), bound, nil
		}
		return x.fewPaths(bound, o), bound, nil
	}
	return x.schedule(bound, o), bound, nil
}

// connected returns an error where some messages are impossible, or where leaving them out leaves
// no message.
func (o Options) connected(t *topology.Tree) error {
	if !o.DropUnreachable {
		return t.Exchanges()
	}
	left := t.Messages()
	for _, p := range t.Severed() {
		left -= t.MessagesBetween(p[0], p[1])
	}
	if left == 0 {
		return errSilent
	}
	return nil
}

var errSilent = errors.New("no two servers can reach each other: there is no message to plan")

// shift returns linear shift with the spines that no failure touches, by destination, and these
// spines; or nil where it would collide. The messages that leave a leaf in a phase go to
// neighbouring ranks, so they take each of n spines and of the n servers of a leaf once.
func (f *fabric) shift() (s *Schedule, spines []int) {
	n := f.n[0]
	if f.tree.Roles() {
		return nil, nil
	}
	for k := range f.spines {
		whole := f.room(k)
		for i := range f.n {
			if whole = min(whole, f.room(f.link(i, k))); !f.alive[f.link(i, k)] {
				whole = 0
			}
		}
		spines = append(spines, slices.Repeat([]int{k}, whole)...)
	}
	if f.servers != n*f.leaves || slices.Max(f.n) > n || f.leaves > 1 && len(spines) < n {
		return nil, nil
	}
	s = LinearShift(f.tree)
	s.Name, s.Pinned = schedules.FORS, true
	for src := range s.Ranks {
		for dst := range s.Ranks {
			if src/n != dst/n {
				p, _ := s.At(src, dst)
				s.slots[src*s.Ranks+dst] = makeSlot(p, spines[dst%n])
			}
		}
	}
	return s, spines[:min(n, len(spines))]
}

func (s *split) schedule(bound Bound, o Options) *Schedule {
	out := newSchedule(schedules.FORS, s.servers)
	out.Phases, out.Pinned = int(s.ceiling), true
	t := &table{split: s, phases: out.Phases, width: s.tree.Builders(), slots: out.slots}
	if s.tree.Roles() {
		t.slots = make([]slot, s.tree.Readers()*t.width)
	}
	t.color(o)
	t.lift(o)
	if s.tree.Roles() {
		out.spread(s.tree, t.slots)
	} else if out.Phases > bound.Phases {
		out.dropEmpty() // above the bound a phase may hold nothing
	}
	out.deal(s.tree)
	return out
}
