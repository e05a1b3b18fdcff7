// Package plan puts a fabric, a schedule and routes together: the Plan that
// bench, companion, workers and files share, with its lower bound and the
// efficiency that its link loads predict.
//
// It decides nothing of its own. scheduler orders and pins the messages,
// routing computes next hops; a plan joins the two, counts what they put on
// each wire, and writes itself down. Times are in message times: how long one
// fragment takes on one link. The only I/O is on io.Writer.
package plan

import (
	"fmt"
	"strings"

	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

// NoRouting is the Routing of a plan that is only a schedule: no spines, and
// nothing said about contention.
const NoRouting = "none"

// A Plan is everything that is decided before the network is touched. It is
// immutable.
type Plan struct {
	Tree     *topology.Tree      // with the dead links
	Schedule *scheduler.Schedule // nil for event building without a schedule
	Routing  string              // an engine of routing, routing.Pinned or NoRouting

	// Tables are the routes by destination. With pinned routing they are the
	// spread tables, which carry what the schedule does not: the barrier.
	Tables *routing.Tables

	// Bound is the least number of phases that any contention-free plan has.
	Bound scheduler.Bound

	// Epoch numbers the plans of one run, from 0.
	Epoch uint32
}

// Options say what to build.
type Options struct {
	// Schedule is a name of scheduler.Names; "" plans without a schedule.
	Schedule string
	// Routing is an engine, routing.Pinned or NoRouting. "" means pinned where
	// the schedule chooses spines, else ftree.
	Routing string
	// Seed feeds what is drawn at random on the way to a plan.
	Seed uint64
}

// Build plans for a tree and its dead links. A pair of servers without a common
// live spine is a *topology.UnreachableError.
func Build(t *topology.Tree, o Options) (*Plan, error) {
	if err := t.Connected(); err != nil {
		return nil, err
	}
	p := &Plan{Tree: t, Routing: o.Routing}
	if err := p.schedule(o); err != nil {
		return nil, err
	}
	if p.Routing == "" {
		p.Routing = routing.Ftree
		if p.pinnable() {
			p.Routing = routing.Pinned
		}
	}
	return p, p.route()
}

func (p *Plan) schedule(o Options) (err error) {
	if o.Schedule == "" {
		p.Bound = scheduler.LowerBound(p.Tree)
		return nil
	}
	p.Schedule, p.Bound, err = scheduler.ByName(o.Schedule, p.Tree, scheduler.Options{Seed: o.Seed})
	return err
}

func (p *Plan) pinnable() bool { return p.Schedule != nil && p.Schedule.Pinned }

func (p *Plan) route() (err error) {
	engine := p.Routing
	switch engine {
	case NoRouting:
		return nil
	case routing.Pinned:
		if !p.pinnable() {
			return fmt.Errorf("routing pinned needs a schedule that chooses spines (fors); %q does not: use %s",
				p.ScheduleName(), strings.Join(routing.Engines(), ", "))
		}
		engine = routing.Spread
	}
	if p.Tables, err = routing.Compute(p.Tree, engine); err != nil {
		return fmt.Errorf("%w, %s", err, routing.Pinned)
	}
	return nil
}

// ScheduleName returns the schedule's name, or "none".
func (p *Plan) ScheduleName() string {
	if p.Schedule == nil {
		return "none"
	}
	return p.Schedule.Name
}

// Phases returns the number of phases, or 0 without a schedule.
func (p *Plan) Phases() int {
	if p.Schedule == nil {
		return 0
	}
	return p.Schedule.Phases
}

// Pinned reports whether messages take the paths of the schedule.
func (p *Plan) Pinned() bool { return p.Routing == routing.Pinned }

// Spine returns the spine that the message from src to dst takes, or
// scheduler.None: on one leaf, under ecmp, or without routing.
func (p *Plan) Spine(src, dst int) int {
	if p.Pinned() {
		_, k := p.Schedule.At(src, dst)
		return k
	}
	if p.static() {
		if k, ok := p.Tables.SpineOf(src, dst); ok {
			return k
		}
	}
	return scheduler.None
}

// static reports whether every message between leaves has one known path;
// under ecmp the kernel's hash decides.
func (p *Plan) static() bool { return p.Routing != routing.ECMP && p.Routing != NoRouting }
