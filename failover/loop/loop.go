// Package loop runs the machine of package failover beside a case: it follows the links
// of a network, has plans made, judged and installed, and tells the workers. It decides
// nothing; every decision is the machine's.
package loop

import (
	"context"
	"log/slog"
	"time"

	"evbench/failover"
	"evbench/plan"
	"evbench/topology"
)

// A Network is one whose links can be watched and whose routes can be set. Aid, Install
// and Clean are called one at a time, beside Watch.
type Network interface {
	// Watch sends what the ends of links say until ctx ends. When it returns, nothing of
	// it runs any more.
	Watch(ctx context.Context, events chan<- failover.LinkEvent) error
	// Aid makes the tables lead around the dead links of t, and the paths that the plan
	// in use has pinned. It returns how many routes it has written or deleted.
	Aid(ctx context.Context, t *topology.Tree) (changed int, err error)
	// Install puts the routes of p in place and keeps those that only the plan in use
	// needs, reads back and compares. It can be called again with another plan.
	Install(ctx context.Context, p *plan.Plan) (changed int, err error)
	// Clean leaves the routes of p alone, which is in use, reads back and compares.
	Clean(ctx context.Context, p *plan.Plan) (changed int, err error)
}

// A Planner finds or makes the plan for the dead links of t, and has it judged. A call whose
// ctx has ended may still run when the next begins.
type Planner interface {
	Plan(ctx context.Context, t *topology.Tree) (Made, error)
}

// Made is a plan that has been judged.
type Made struct {
	Plan   *plan.Plan
	Source failover.Source
	Took   time.Duration // finding or computing it
	Judged time.Duration // judging it
}

// Workers build the events. Update has every worker take the plan from the next exchange
// on. It is called one at a time. It returns once the first exchange on the plan is done;
// placed is called before, when every worker has it. The times are since the call.
type Workers interface {
	Update(ctx context.Context, p *plan.Plan, placed func(from uint64)) (failover.Switch, error)
}

// Options of Run.
type Options struct {
	Machine failover.Options
	Plan    *plan.Plan // in use, its routes in place
	Network Network
	Planner Planner // needed where Machine.Replan
	Workers Workers // nil: nobody has to be told
	// Begin is time 0 of the records; the zero time means now.
	Begin time.Time
	// Look reads which links are dead now, beside all else, before the machine ends the run.
	// nil: what was heard of them is all that can be known.
	Look func() ([]topology.Link, error)
	// Stop is called when the machine ends the run.
	Stop func(reason string)
	// Allow is told for how long from now messages may wait for dead links, and which; see
	// failover.Allow. nil is allowed.
	Allow func(d time.Duration, why string)
	// Tell is told each record when it is complete or superseded; nil is allowed.
	Tell func(failover.Record)
	Log  *slog.Logger // nil: nowhere
}
