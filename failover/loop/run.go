package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/failover"
	"evbench/plan"
	"evbench/topology"
)

// Run follows the network until ctx ends and returns a record of every change. Nothing
// that it started runs any more then. The error is nil unless the watching itself failed.
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

// A runner is the machine with what it works on. Only the goroutine of run touches the
// machine and what is here; what others have done comes back through answers.
type runner struct {
	Options
	machine *failover.Machine
	tree    *topology.Tree // without dead links
	links   chan failover.LinkEvent
	answers chan answer

	made     answerPlan         // the last plan that was made
	inUse    *plan.Plan         // by the workers
	planning context.CancelFunc // of the plan that is being made
	told     int                // records that have been told
}

// An answer is what came of an action. Some bring a plan.
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
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := o.Machine.Tree
	return &runner{
		Options: o, machine: failover.New(o.Machine), tree: t.Healthy(), inUse: o.Plan, planning: func() {},
		// Room for both ends of every link, so that what comes together is found together.
		links: make(chan failover.LinkEvent, 2*t.AllLinks()), answers: make(chan answer),
	}
}

// run tells the machine what happens, and does what it asks for, until ctx ends.
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
		ends = append(ends, failover.End{Link: e.Link, Leaf: e.Leaf, Up: e.Up, Reread: e.Reread})
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
		if e.Err == nil && e.ID >= r.made.id { // not of a plan that was given up
			r.made = answerPlan{e.ID, a.plan}
		}
	case failover.Updated:
		if e.Err == nil {
			r.inUse = a.plan
		}
	}
}

// act begins what the machine asks for; the answer comes through r.answers.
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
	} else if apart, ok := errors.AsType[*topology.UnreachableError](err); ok {
		e.Disjoint = apart.Error()
	}
	e.Err = err
	return answer{e, made.Plan}
}

// update has the workers take a plan. Once all have it only the end of the case can keep
// them from its first exchange.
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
		reply(answer{event: failover.Updated{ID: id, Err: fmt.Errorf("plan update: %w", err)}})
	}
}

// tell passes on the records that will not change any more, in their order.
func (r *runner) tell() {
	records := r.machine.Records()
	for ; r.told < len(records) && (records[r.told].Done || records[r.told].Superseded); r.told++ {
		x := records[r.told]
		r.Log.Info("fail-over", "id", x.ID, "down", topology.LinkNames(x.Down), "up", topology.LinkNames(x.Up), "in_use", x.Switch.FirstNew > 0)
		if r.Tell != nil {
			r.Tell(x)
		}
	}
}
