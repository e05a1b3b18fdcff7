package opensm

import (
	"context"
	"fmt"
	"time"

	"evbench/failover"
	"evbench/failover/loop"
	"evbench/topology"
)

// A Following says which links to follow, and how to plan around those that are dead.
type Following struct {
	Policy   failover.Policy
	Hold     time.Duration
	Debounce time.Duration
	About    string // the network, for people
	Subnet   *Subnet
	Plans    *loop.Plans
	Out      *Printer
}

// Follow brings the tables to what is alive now, and then follows the links until ctx ends.
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
		return fmt.Errorf("no plan to begin with: %w", err)
	}
	if _, err := o.Subnet.Install(ctx, made.Plan); err != nil {
		return fmt.Errorf("the plan to begin with is not in place: %w", err)
	}
	o.Out.took("in place; following the links", 0)
	machine := o.Policy.Options(now, o.Hold)
	machine.Aid = false // OpenSM can only be given whole tables: those of the plan come as soon
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
