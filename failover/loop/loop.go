// Package loop runs the machine of package failover in parallel with a case: it follows the links
// of a network, has plans made, judged and installed, and updates the workers. The machine takes
// every decision.
package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"evbench/failover"
	"evbench/plan"
	"evbench/topology"
)

// A Network has links that can be watched and routes that can be set. Aid, Install and Clean are
// called one at a time, in parallel with Watch.
type Network interface {
	// Watch sends the reports of link ends until ctx ends. When it returns, its goroutines have
	// ended.
	Watch(ctx context.Context, events chan<- failover.LinkEvent) error
	// Aid changes the tables to avoid the dead links of t, and so for the paths that the plan in
	// use has pinned. It returns how many routes it has written or deleted.
	Aid(ctx context.Context, t *topology.Tree) (changed int, err error)
	// Install puts the routes of p in place and keeps those that only the plan in use needs, reads
	// back and compares. It may be called again with another plan.
	Install(ctx context.Context, p *plan.Plan) (changed int, err error)
	// Clean removes all routes but those of p, which is in use, reads back and compares.
	Clean(ctx context.Context, p *plan.Plan) (changed int, err error)
}

// A Doubter is a Network that cannot tell at all times which tables it has. Doubt says when it could not; "": it
// always could. Watch has ended.
type Doubter interface{ Doubt() string }

// A Planner finds or makes the judged plan for the dead links of t. A call whose ctx has ended may
// still run when the next begins.
type Planner interface {
	Plan(ctx context.Context, t *topology.Tree) (Made, error)
}

// Made is a judged plan.
type Made struct {
	Plan   *plan.Plan
	Source failover.Source
	Took   time.Duration // to find or compute it
	Judged time.Duration // to judge it
}

// Workers build the events. Calls come one at a time.
//
// Hold keeps them from beginning an exchange and brings them a plan whose routes are not in place yet; with nil they
// go on as before. It does not wait for them.
//
// Update makes every worker adopt the plan from the next exchange on. It returns once the first exchange on the plan is
// done; before that it calls placed, when every worker has the plan. The times are since the call.
type Workers interface {
	Hold(p *plan.Plan)
	Update(ctx context.Context, p *plan.Plan, placed func(from uint64)) (failover.Switch, error)
}

// Options of Run.
type Options struct {
	Machine failover.Options
	Plan    *plan.Plan // in use, its routes in place
	Network Network
	Planner Planner // needed where Machine.Replan
	Workers Workers // nil: no workers to update
	// Begin is time 0 of the records; the zero time means now.
	Begin time.Time
	// Look reads which links are dead now, in parallel with everything else, before the machine
	// ends the run. nil: only their reports are known.
	Look func() ([]topology.Link, error)
	// Stop is called when the machine ends the run.
	Stop func(reason string)
	// Allow gets how long from now messages may wait for dead links, and for which; see
	// failover.Allow. nil is allowed.
	Allow func(d time.Duration, why string)
	// Tell gets each record when it is complete or superseded; nil is allowed.
	Tell func(failover.Record)
	Log  *slog.Logger // nil: nowhere
}

// Plans is the Planner of one case, or of one network. It returns a plan it has kept, or computes
// and judges one. A flapping link brings back the same dead links. Several goroutines may use it at
// once: an abandoned planning runs to its end, in parallel with the next.
type Plans struct {
	// Build computes a plan. Calls for different dead links may overlap.
	Build func(t *topology.Tree) (*plan.Plan, error)

	making singleflight.Group // by key: flapping links ask for the same plan again and again

	mu    sync.Mutex // guards made and order
	made  map[string]*plan.Plan
	order []string // of made, oldest first
}

// most bounds the plans that a planner keeps; those of 64 servers take 100 KB each.
const most = 64

// Keep stores a judged plan for later.
func (p *Plans) Keep(q *plan.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made = map[string]*plan.Plan{}
	}
	if p.made[key(&q.Tree.Live)] != nil {
		return
	}
	if len(p.order) >= most { // order[0] is the initial plan
		delete(p.made, p.order[1])
		p.order = slices.Delete(p.order, 1, 2)
	}
	p.made[key(&q.Tree.Live)] = q
	p.order = append(p.order, key(&q.Tree.Live))
}

func (p *Plans) kept(t *topology.Live) *plan.Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made[key(t)]
}

func key(t *topology.Live) string { return fmt.Sprint(t.Dead()) }

// Plan implements Planner. Its error is a failover.Disconnected where no plan is possible.
func (p *Plans) Plan(ctx context.Context, t *topology.Tree) (Made, error) {
	if err := ctx.Err(); err != nil {
		return Made{}, err
	}
	if err := t.Connected(); err != nil {
		return Made{}, err
	}
	made, err, _ := p.making.Do(key(&t.Live), func() (any, error) { return p.make(t) })
	if err != nil {
		return Made{}, err
	}
	return made.(Made), nil
}

// make finds a plan, or computes, judges and keeps it.
func (p *Plans) make(t *topology.Tree) (Made, error) {
	began := time.Now()
	if q := p.kept(&t.Live); q != nil {
		return Made{Plan: q, Source: failover.Kept, Took: time.Since(began)}, nil
	}
	q, err := p.Build(t)
	took := time.Since(began)
	if err == nil {
		err = q.Judge()
	}
	if err != nil {
		return Made{}, err
	}
	p.Keep(q)
	return Made{Plan: q, Source: failover.Computed, Took: took, Judged: time.Since(began) - took}, nil
}

// Run follows the network until ctx ends and returns a record of every change. All its goroutines
// have ended then. The error is nil unless the watching itself failed.
func Run(ctx context.Context, o Options) ([]failover.Record, error) {
	r := newRunner(o)
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() error { return o.Network.Watch(inner, r.links) })
	g.Go(func() error { return r.run(inner) })
	err := g.Wait()
	if ctx.Err() != nil {
		err = nil
	}
	return r.machine.Records(), err
}

// A runner is the machine with its surroundings. Only the goroutine of run touches the machine and
// these fields; results of other goroutines arrive through answers.
type runner struct {
	Options
	machine *failover.Machine
	tree    *topology.Tree // without dead links
	links   chan failover.LinkEvent
	answers chan answer

	made     answerPlan         // the last plan made
	inUse    *plan.Plan         // of the workers
	planning context.CancelFunc // of the plan being made
	told     int                // number of records told
}

// An answer is the result of an action. Some have a plan.
type answer struct {
	event failover.Event
	plan  *plan.Plan
}

// An answerPlan is a plan by the ID of the action that asked for it.
type answerPlan struct {
	id   int
	plan *plan.Plan
}

func newRunner(o Options) *runner {
	if o.Begin.IsZero() {
		o.Begin = time.Now()
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	t := o.Machine.Tree
	return &runner{
		Options: o, machine: failover.New(o.Machine), tree: t.Healthy(), inUse: o.Plan, planning: func() {},
		// Room for both ends of every link, so that simultaneous events are read together.
		links: make(chan failover.LinkEvent, 2*t.AllLinks()), answers: make(chan answer),
	}
}

// run passes events to the machine, and executes its actions, until ctx ends.
func (r *runner) run(ctx context.Context) error {
	g, inner := errgroup.WithContext(ctx)
	defer g.Wait() //nolint:errcheck // the actions answer, they do not fail
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	for {
		r.tell()
		if at, ok := r.machine.Wake(); ok {
			wake.Reset(time.Until(r.Begin.Add(at)))
		} else {
			wake.Stop()
		}
		var acts []failover.Action
		select {
		case e := <-r.links:
			acts = r.take(e)
		case a := <-r.answers:
			r.keep(a)
			acts = r.machine.Handle(r.now(), a.event)
		case <-wake.C:
			acts = r.machine.Handle(r.now(), failover.Tick{})
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, a := range acts {
			r.act(inner, g, a)
		}
	}
}

func (r *runner) now() time.Duration { return time.Since(r.Begin) }

func (r *runner) take(e failover.LinkEvent) []failover.Action {
	at := e.Seen
	var ends []failover.Event
	for {
		if e.Moved {
			ends = append(ends, failover.Moved{})
		} else {
			ends = append(ends, failover.End{Link: e.Link, Leaf: e.Leaf, Up: e.Up, Reread: e.Reread})
		}
		select {
		case e = <-r.links:
			if e.Seen.Before(at) {
				at = e.Seen
			}
		default:
			return r.machine.Handle(max(0, at.Sub(r.Begin)), ends...)
		}
	}
}

func (r *runner) keep(a answer) {
	switch e := a.event.(type) {
	case failover.Planned:
		if e.Err == nil && e.ID >= r.made.id { // not of an abandoned planning
			r.made = answerPlan{e.ID, a.plan}
		}
	case failover.Updated:
		if e.Err == nil {
			r.inUse = a.plan
		}
	}
}

// act starts an action of the machine; the answer arrives through r.answers.
func (r *runner) act(ctx context.Context, g *errgroup.Group, a failover.Action) {
	begin := func(do func(ctx context.Context, reply func(answer))) {
		reply := func(a answer) {
			select {
			case r.answers <- a:
			case <-ctx.Done():
			}
		}
		g.Go(func() error { do(ctx, reply); return nil })
	}
	switch a := a.(type) {
	case failover.Aid:
		begin(func(ctx context.Context, reply func(answer)) { reply(answer{event: r.aid(ctx, a)}) })
	case failover.MakePlan:
		r.planning()
		planning, cancel := context.WithCancel(ctx)
		r.planning = cancel
		begin(func(_ context.Context, reply func(answer)) {
			defer cancel()
			reply(r.makePlan(planning, a))
		})
	case failover.Install:
		p := r.made.plan
		begin(func(ctx context.Context, reply func(answer)) {
			n, err := r.Network.Install(ctx, p)
			reply(answer{event: failover.Installed{ID: a.ID, Changed: n, Err: err}})
		})
	case failover.Hold:
		r.hold(a)
	case failover.Update:
		p := r.made.plan
		begin(func(ctx context.Context, reply func(answer)) { r.update(ctx, a.ID, p, reply) })
	case failover.Clean:
		p := r.inUse
		begin(func(ctx context.Context, reply func(answer)) {
			n, err := r.Network.Clean(ctx, p)
			reply(answer{event: failover.Cleaned{ID: a.ID, Changed: n, Err: err}})
		})
	case failover.Look:
		begin(func(_ context.Context, reply func(answer)) { reply(answer{event: r.look()}) })
	case failover.Allow:
		if a.Why != "" {
			r.Log.Info("fail-over: messages wait for links", "why", a.Why, "at_most", a.For)
		} else {
			r.Log.Info("fail-over: links are back")
		}
		if r.Allow != nil {
			r.Allow(a.For, a.Why)
		}
	case failover.Stop:
		r.Log.Error("fail-over: nothing more can be done", "reason", a.Reason)
		if r.Stop != nil {
			r.Stop(a.Reason)
		}
	}
}

// hold has the workers wait for the plan that was made; without an ID they wait for none.
func (r *runner) hold(a failover.Hold) {
	switch {
	case r.Workers == nil:
	case a.ID == 0:
		r.Workers.Hold(nil)
	default:
		r.Workers.Hold(r.made.plan)
	}
}

func (r *runner) look() failover.Looked {
	if r.Look == nil {
		return failover.Looked{Err: errors.ErrUnsupported}
	}
	dead, err := r.Look()
	return failover.Looked{Dead: dead, Err: err}
}

func (r *runner) aid(ctx context.Context, a failover.Aid) failover.Aided {
	t, err := r.tree.Without(a.Dead...)
	n := 0
	if err == nil {
		n, err = r.Network.Aid(ctx, t)
	}
	return failover.Aided{ID: a.ID, Changed: n, Err: err}
}

func (r *runner) makePlan(ctx context.Context, a failover.MakePlan) answer {
	e := failover.Planned{ID: a.ID}
	t, err := r.tree.Without(a.Dead...)
	var made Made
	if err == nil {
		made, err = r.Planner.Plan(ctx, t)
	}
	if err == nil {
		e.Source, e.Plan, e.Verify = made.Source, made.Took, made.Judged
		e.Phases, e.Hash = made.Plan.Phases(), made.Plan.Hash()
	} else if apart, ok := errors.AsType[failover.Disconnected](err); ok {
		e.Disjoint = apart.Error()
	}
	e.Err = err
	return answer{e, made.Plan}
}

// update sends the workers a plan. Once all have it, only the end of the case can prevent its first
// exchange.
func (r *runner) update(ctx context.Context, id int, p *plan.Plan, reply func(answer)) {
	placed := false
	place := func(from uint64) {
		placed = true
		reply(answer{failover.Updated{ID: id, From: from}, p})
	}
	if r.Workers == nil {
		place(0)
		now := r.now()
		reply(answer{event: failover.Switched{ID: id, Switch: failover.Switch{LastOld: now, FirstNew: now}}})
		return
	}
	called := r.now()
	s, err := r.Workers.Update(ctx, p, place)
	switch {
	case err == nil:
		reply(answer{event: failover.Switched{ID: id, Switch: s.Add(called)}})
	case placed:
		reply(answer{event: failover.WorkerLost{Reason: err.Error()}})
	default:
		reply(answer{event: failover.Updated{ID: id, Err: err}})
	}
}

// tell passes on the final records, in their order.
func (r *runner) tell() {
	records := r.machine.Records()
	for ; r.told < len(records) && (records[r.told].Done || records[r.told].Superseded); r.told++ {
		x := records[r.told]
		r.Log.Info("fail-over", "id", x.ID, "down", r.tree.LinkNames(x.Down), "up", r.tree.LinkNames(x.Up), "in_use", x.Switch.FirstNew > 0)
		if r.Tell != nil {
			r.Tell(x)
		}
	}
}
