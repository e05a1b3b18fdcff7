package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/failover/loop"
	"evbench/plan"
	"evbench/scheduler"
	"evbench/topology"
)

// A followPlanner makes the plans of routes follow, and tells what it does.
type followPlanner struct {
	loop.Plans
	tell func(what string, took time.Duration)
}

func newFollowPlanner(c *cli.Context, t *topology.Tree, out *followPrinter) (*followPlanner, error) {
	objective := scheduler.Objective(c.String("objective"))
	known := []scheduler.Objective{"", scheduler.FewestPhases, scheduler.FewestPaths, scheduler.Balanced}
	if !slices.Contains(known, objective) {
		return nil, usagef("--objective %q: must be phases, paths or balanced", objective)
	}
	p := &followPlanner{tell: out.took}
	p.Build = func(t *topology.Tree) (*plan.Plan, error) {
		return plan.Build(t, plan.Options{Schedule: scheduler.NameFORS, Objective: objective, Seed: 1}) // as evbench plan
	}
	if dir := c.String("store"); dir != "" {
		var err error
		if p.Stored, err = loop.OpenStore(os.DirFS(dir), t); err != nil {
			return nil, usagef("--store %s: %w", dir, err)
		}
	}
	return p, nil
}

// Plan implements loop.Planner.
func (p *followPlanner) Plan(ctx context.Context, t *topology.Tree) (loop.Made, error) {
	m, err := p.Plans.Plan(ctx, t)
	if err == nil {
		p.tell(fmt.Sprintf("plan for %s with %d phases, %s", deadText(t.DownNames()), m.Plan.Phases(), m.Source), m.Took)
		p.tell("judged: no offence", m.Judged)
	}
	return m, err
}
