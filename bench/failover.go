package bench

import (
	"context"
	"fmt"
	"time"

	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/routing"
	"evbench/scenario"
	"evbench/scheduler"
	"evbench/topology"
)

// policyOf returns the policy of a case for dead links. Without one, its own engine re-routes its
// tables, and nothing else happens.
func policyOf(c scenario.Case) failover.Policy {
	if c.Failover == nil {
		return ""
	}
	return failover.Policy(c.Failover.Policy)
}

func replans(c scenario.Case) bool {
	switch policyOf(c) {
	case failover.Unsync, failover.FORS, failover.FORSHold, failover.Reorder:
		return true
	}
	return false
}

func repairs(m Planned) string {
	switch policyOf(m.Case) {
	case "":
		return m.Plan.Routing
	case failover.Reorder: // of switches that choose by a hash; other networks have tables of their own
		return routing.ECMP
	case failover.Spread, failover.Unsync:
		return routing.Spread
	}
	return routing.MinHop
}

func machineOf(m Planned, timeout time.Duration) failover.Options {
	policy := policyOf(m.Case)
	if policy == "" {
		return failover.MinHop.Options(m.Plan.Tree, 0) // tables, by any engine
	}
	o := policy.Options(m.Plan.Tree, m.Failover.Hold)
	if m.Failover.Debounce > 0 {
		o.Debounce = m.Failover.Debounce
	}
	o.Wait = m.Failover.OnDisconnect == scenario.Wait
	o.Limit = timeout
	if policy == failover.None {
		o.Limit = max(o.Limit, longestOutage(m.Timed, m.Duration))
	}
	return o
}

type follower struct {
	loop.Options
	line *timeline
}

// newFollower prepares everything that would take time when a link fails. end ends the case.
func (r *runner) newFollower(ctx context.Context, m *measured, line *timeline, end func(error)) (*follower, error) {
	net, err := r.network(m)
	if err != nil {
		return nil, err
	}
	if _, err := net.Install(ctx, m.Plan); err != nil {
		return nil, fmt.Errorf("case %q: install: %w", m.Name, err)
	}
	f := &follower{line: line, Options: loop.Options{
		Machine: machineOf(m.Planned, r.s.Timeout), Plan: m.Plan, Network: net, Log: r.o.Log,
		Look: r.f.Dead,
		Stop: func(reason string) { end(fmt.Errorf("case %q: %s", m.Name, reason)) },
		Allow: func(d time.Duration, why string) {
			line.waits = why
			r.ctl.Allow(d)
		},
		Tell: func(x failover.Record) {
			line.tell(FailedOver{failoverOf(m, line, x)})
		},
	}}
	if replans(m.Case) {
		var there bool
		if f.Planner, there = net.(loop.Planner); !there { // else its tables are those of others
			f.Planner = newPlanner(r.s, m.Planned)
		}
		f.Workers = &changer{ctl: r.ctl, epoch: m.Plan.Epoch, line: line, s: r.s, c: m.Case, orderer: m.parts.Ordered}
	}
	return f, nil
}

// run follows the links until ctx ends, and stores the records in the timeline.
func (f *follower) run(ctx context.Context) (err error) {
	f.Begin = f.line.start
	f.line.records, err = loop.Run(ctx, f.Options)
	return err
}

// newPlanner returns the planner of a case, which has the case's own plan already.
func newPlanner(s *scenario.Scenario, m Planned) *loop.Plans {
	p := &loop.Plans{Build: func(t *topology.Tree) (*plan.Plan, error) { return m.PlanFor(s, t) }}
	p.Keep(m.Plan)
	return p
}

// A changer sends the workers of a case another plan, one row for each.
type changer struct {
	ctl     *controller.Controller
	epoch   uint32 // of the plan sent last
	line    *timeline
	s       *scenario.Scenario
	c       scenario.Case
	orderer Orderer    // of an ordered case
	held    *plan.Plan // at hand as change; nil: none
	next    controller.PlanChange
}

// Hold implements loop.Workers.
func (c *changer) Hold(p *plan.Plan) {
	if c.held = p; p == nil {
		c.ctl.Hold(nil)
		return
	}
	next := c.change(p)
	c.next = next
	c.ctl.Hold(&next) // which keeps it
}

// Update implements loop.Workers. A plan without a schedule builds events without phases.
func (c *changer) Update(ctx context.Context, p *plan.Plan, placed func(from uint64)) (failover.Switch, error) {
	if c.held != p {
		c.next = c.change(p)
	}
	c.held = nil
	took, err := c.ctl.Update(ctx, c.next, placed)
	if err == nil {
		c.line.plan = p
		c.line.tell(Replanned{p})
	}
	return took, err
}

func (c *changer) change(p *plan.Plan) controller.PlanChange {
	c.epoch++
	change := controller.PlanChange{Epoch: c.epoch, Mode: modes.Sync}
	switch {
	case c.c.Mode == modes.Ordered:
		change.Mode, change.Windows = modes.Ordered, c.orderer.Windows(c.s, c.c, p.Tree, nil)
	case p.Schedule == nil:
		change.Mode = modes.Unsync
	default:
		change.Rows = rows(p)
	}
	return change
}

// asyncCredits is how many events a server has in flight when a policy has given up the phases: the
// default of an unsynchronised case.
const asyncCredits = 2

// rows returns the steps of each rank; none without a schedule.
func rows(p *plan.Plan) [][]wire.Step {
	if p.Schedule == nil && p.Ports() == nil {
		return nil
	}
	return lists.Tabulate(p.Tree.Servers(), func(rank int) []wire.Step {
		return lists.Map(p.Row(rank), func(s scheduler.Step) wire.Step { return wire.Step(s) })
	})
}

// standby lists the paths that each rank opens beforehand: every plan for any live links uses only
// these. If they are too many, a plan's paths are opened when it needs them, and the error says so.
// nil if no plan pins paths. In an ordered case every window counts as a plan.
func standby(m Planned, mayOpen func(servers, connections int) error) ([][]wire.Path, error) {
	if !replans(m.Case) && m.Mode != modes.Ordered || !m.Plan.Pinned() || m.Plan.OnePath {
		return nil, nil
	}
	t := m.Plan.Tree
	out, most := make([][]wire.Path, t.Servers()), 0
	for a := range t.Servers() {
		for b := range t.To(a) {
			if t.Leaf(a) == t.Leaf(b) {
				continue
			}
			for _, k := range t.LivePaths(t.Leaf(a), t.Leaf(b)) {
				out[a] = append(out[a], wire.Path{Peer: b, Spine: k})
			}
		}
		most = max(most, len(out[a]))
	}
	err := mayOpen(t.Servers(), 2*most)
	switch {
	case err == nil:
		return out, nil
	case m.Mode == modes.Ordered:
		err = fmt.Errorf("case %q: each window may use every path, and all have to be open: %w", m.Name, err)
	}
	return nil, err
}

// MayOpen reports why the workers of a fabric (fabric.Launcher.MayOpen) cannot open connections
// that the cases of a run require: the paths of ordered cases. Other cases open theirs when a plan
// needs them.
func MayOpen(cases []Planned, mayOpen func(servers, connections int) error) error {
	for _, c := range cases {
		if _, err := standby(c, mayOpen); err != nil && c.Mode == modes.Ordered {
			return err
		}
	}
	return nil
}
