package survey

import (
	"slices"
	"strings"

	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

// single reports whether a schedule that ignores dead links meets tables with
// one path for each destination: the common case, for which no plan need be
// built, only tables computed and loads counted.
func (c Case) single() bool {
	switch c.Schedule {
	case scheduler.NameLinearShift, scheduler.NameLinearShiftPorts, scheduler.NameXOR, scheduler.NameBandwidthOptimal:
	default:
		return false
	}
	return !slices.Contains([]string{"", routing.ECMP, routing.Spray, routing.Adaptive, routing.Pinned, plan.NoRouting}, c.Routing)
}

// choosy reports whether a schedule exists for some dead sets only, such as the
// closed forms, which need uniform ones: that there is none for the tree as it is
// says nothing about its failures.
func (c Case) choosy() bool {
	return strings.HasPrefix(c.Schedule, "fors-") && slices.Contains(scheduler.Names(), c.Schedule)
}

func (w *whatIf) outcome(t *topology.Tree, c Case) (outcome, error) {
	if c.single() {
		tables, err := plan.Tables(t, c.Routing)
		if err != nil {
			return outcome{}, err
		}
		o := w.orders[c.Schedule]
		d := o.duration(t, w.leaf, tablePaths(tables, w.leaf))
		return outcome{Phases: len(o.start) - 1, Efficiency: efficiency(t, d)}, nil
	}
	p, err := w.build(t, c)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{Phases: p.Phases(), bound: p.Bound.Phases}
	if p.Pinned() {
		out.Efficiency = efficiency(t, newOrder(p.Schedule).duration(t, w.leaf, p.Path))
	} else {
		out.Efficiency = p.Cost(plan.Equal, w.opt.Seed).Synchronised()
	}
	return out, nil
}

// build plans one case. fors is asked with one worker: the sets are what runs in
// parallel.
func (w *whatIf) build(t *topology.Tree, c Case) (*plan.Plan, error) {
	if c != (Case{scheduler.NameFORS, routing.Pinned}) {
		return plan.Build(t, plan.Options{Schedule: c.Schedule, Routing: c.Routing, Seed: w.opt.Seed})
	}
	s, bound, err := scheduler.ByName(c.Schedule, t, scheduler.Options{Seed: w.opt.Seed, Workers: 1})
	if err != nil {
		return nil, err
	}
	return &plan.Plan{Tree: t, Schedule: s, Routing: c.Routing, Bound: bound}, nil
}

func efficiency(t *topology.Tree, duration int) float64 {
	return float64(t.Servers()-1) / float64(duration)
}
