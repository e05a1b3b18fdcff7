package scheduler

import (
	"errors"
	"fmt"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/paths"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/pods"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

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
// Parallel cables are as many messages of a spine in a phase, which get their cables in the end (slots.GiveCables).
//
// On leaves with equally many servers, and as many cables that no failure touches, linear
// shift needs no more phases and no search; on large whole trees not even a table (shift). Three levels: package pods.
func FORS(t *topology.Tree, o Options) (*Schedule, Bound, error) {
	if err := o.Objective.Check(); err != nil {
		return nil, Bound{}, fmt.Errorf("schedule fors: %w", err)
	}
	if err := connected(t, o); err != nil {
		return nil, Bound{}, err
	}
	if s, b := shifted(t); s != nil {
		return s, b, nil
	}
	f := fattree.New(t)
	if err := f.Check(); err != nil {
		return nil, Bound{}, fmt.Errorf("schedule fors: %w", err)
	}
	f.Share()
	plan := phases.Plan
	if f.Tops > 0 {
		plan = pods.Plan
	} else if o.FewPaths() {
		plan = paths.Plan
	}
	table, bound, err := plan(f, o)
	if err != nil {
		return nil, Bound{}, fmt.Errorf("schedule fors: %w", err)
	}
	return newSchedule(schedules.FORS, table, true), bound, nil
}

// connected returns an error where some messages are impossible, or where leaving them out leaves
// no message.
func connected(t *topology.Tree, o Options) error {
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
