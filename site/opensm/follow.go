package opensm

import (
	"context"
	"fmt"
	"time"

	"evbench/failover"
	"evbench/failover/loop"
	"evbench/topology"
)

// A Following says which links to follow, and how to plan around dead ones.
type Following struct {
	Policy   failover.Policy
	Hold     time.Duration
	Debounce time.Duration
	About    string // name of the network, for people
	Subnet   *Subnet
	Plans    *loop.Plans
	Out      *Printer
}

// Follow adapts the tables to the links alive now, and then follows the links until ctx ends.
func Follow(ctx context.Context, o Following) error {
	planner := &planner{o.Plans, o.Out.took}
	o.Out.tree = o.Subnet.tree
	o.Out.took(o.About, 0)
	now, err := o.Subnet.Now(ctx)
	if err != nil {
		return err
	}
	made, err := planner.Plan(ctx, now)
	if err != nil {
		return fmt.Errorf("no initial plan: %w", err)
	}
	if _, err := o.Subnet.Install(ctx, made.Plan); err != nil {
		return fmt.Errorf("the initial plan is not in place: %w", err)
	}
	o.Out.took("in place; following the links", 0)
	machine := o.Policy.Options(now, o.Hold)
	machine.Aid = false // OpenSM takes only whole tables: those of the plan arrive as soon
	machine.Debounce, machine.Wait = o.Debounce, true
	_, err = loop.Run(ctx, loop.Options{
		Machine: machine, Plan: made.Plan, Network: o.Subnet, Planner: planner, Begin: time.Now(), Tell: o.Out.record,
	})
	return err
}

type planner struct {
	*loop.Plans
	tell func(what string, took time.Duration)
}

func (p *planner) Plan(ctx context.Context, t *topology.Tree) (loop.Made, error) {
	m, err := p.Plans.Plan(ctx, t)
	if err == nil {
		p.tell(fmt.Sprintf("plan for %s with %d phases, %s", deadText(t.DownNames()), m.Plan.Phases(), m.Source), m.Took)
		p.tell("judged: no offence", m.Judged)
	}
	return m, err
}
