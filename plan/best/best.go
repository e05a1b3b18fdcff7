// Package best answers: which of the planners has the shortest plan of an exchange?
//
// A tree is planned by package plan; where cables are slower than others, also without those that cost more than they carry
// (order.Around), and with messages that share long phases (order.Share). Beside it stand other planners, such as that of
// orders over given tables, which are asked where the plan of the tree is not proven to be the shortest.
package best

import (
	"cmp"
	"fmt"
	"math"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/plan/promise"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/order"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// A Plan is the plan of a tree, and what no plan takes less than.
type Plan struct {
	*plan.Plan
	Promise promise.Promise // without slow cables its Takes is not counted
}

// Of is the promise of the plan, by its cost.
func (p *Plan) Of(cost plan.Cost) promise.Promise {
	if p.Promise.Slow.Any() {
		return p.Promise
	}
	out := promise.Promise{Kind: promise.Any, Takes: cost.Duration, Least: float64(p.Bound.Phases)}
	if out.Least > 0 {
		out.By, out.Why = p.Proof(), []string{"bound proven by " + p.Proof()}
	}
	return out
}

// A tree that lacks one of so many links of those that it was taken for, as an AB fat tree does, is hardly a
// tree: a plan for that takes a minute, and none is made where another planner is within far of the bound of the network.
const (
	hardly = 8
	far    = 1.25
)

// Hardly reports whether a network is hardly the tree that it was taken for.
func Hardly(t *topology.Live, r topology.Rates) bool {
	return r.Least > 0 && len(t.Dead())*hardly >= t.AllLinks()
}

// Best returns the shortest plan that is found: that of the tree or, where one of other planners takes less time, also that one's, by
// its name. over plans by a name, and returns how long that takes in message times; the others are asked where the plan of the tree is not
// proven to be the shortest. Without a tree, or a plan of it, p is nil.
func Best[O any](t *topology.Tree, o plan.Options, r topology.Rates, others []string, over func(string) (O, float64, error)) (p *Plan, other O, by string, err error) {
	shorter := func(than float64) (failed error) {
		for _, name := range others {
			x, time, err := over(name)
			if failed = cmp.Or(failed, err); err == nil && time < than*(1-1e-9) {
				other, by, than = x, name, time
			}
		}
		return failed
	}
	if t == nil {
		if err = shorter(math.Inf(1)); by != "" {
			err = nil
		}
		return nil, other, by, err
	}
	if Hardly(&t.Live, r) {
		if _ = shorter(far * r.Least); by != "" { // others may know no such exchange
			return nil, other, by, nil
		}
	}
	if p, err = Tree(t, o, r); err == nil && p.Promise.Slow.Any() && !p.Promise.Attained() && p.Promise.Takes > 0 {
		_ = shorter(p.Promise.Takes)
	}
	return p, other, by, err
}

// A tree plans for a tree with slow cables, and remembers the bound of the first plan, which uses all of them.
type tree struct {
	o     plan.Options
	r     topology.Rates
	least float64
	by    string
	why   []string
}

// Tree is plan.Build for a tree with slow links and hosts: of the plans that use slow links and those
// that take them for dead it returns the one that takes less time. A plan that does not choose paths
// uses them.
func Tree(t *topology.Tree, o plan.Options, r topology.Rates) (*Plan, error) {
	b := &tree{o: o, r: r}
	made, about, err := order.Around(t, r.Slow, b.build)
	if err != nil {
		return nil, err
	}
	if !b.slow() && !r.Faster {
		return &Plan{Plan: made}, nil
	}
	p := &Plan{Plan: made, Promise: promise.Promise{Kind: promise.Any, Least: b.least, By: b.by, Why: b.why}}
	if about.Time > 0 {
		about.Uses = order.Over(made.Schedule, t.Wires, about.Uses)
	}
	p.Promise.Slow = promise.SlowOf(&t.Live, r, about.Uses, about.Avoids, about.Other, "message times")
	if r.Faster && r.Least > 0 {
		p.Promise.Slow.Tree, p.Promise.Slow.Faster, p.Promise.Least = b.least, false, r.Least*(1-1e-9)
		if !b.slow() {
			p.Promise.Least = math.Ceil(p.Promise.Least)
		}
		p.Promise.By, p.Promise.Why = scheduler.KindLP, []string{"no routes load the fullest cable less, by its rate"}
	}
	p.Promise.Takes = made.Cost(plan.Equal, o.Seed).Duration
	if made.Schedule != nil {
		if b := order.OfHosts(made.Schedule, t, r.Hosts).Bound(); b.Steps >= p.Promise.Least {
			p.Promise.Least = b.Steps
			p.Promise.By, p.Promise.Why = hostProof(&t.Live, r.Hosts, b)
		}
	}
	return p, nil
}

// Of is Tree where all cables and hosts are alike, whatever schedule the options name.
func Of(t *topology.Tree, o plan.Options) (*plan.Plan, error) {
	o.Schedule = schedules.FORS
	p, err := Tree(t, o, topology.Rates{})
	if err != nil {
		return nil, err
	}
	return p.Plan, nil
}

// slow reports whether a cable is slower than others.
func (b *tree) slow() bool { return len(b.r.Hosts)+len(b.r.Slow) > 0 }

// build plans for the tree without some slow links, and returns the time that the plan takes; 0: it is not known, or there is one
// such plan.
func (b *tree) build(t *topology.Tree) (*plan.Plan, float64, error) {
	p, err := plan.Build(t, b.o)
	if err != nil {
		return p, 0, err
	}
	p.Rates = topology.Rates{Hosts: b.r.Hosts, Slow: lists.Filter(b.r.Slow, func(x topology.SlowLink) bool { return t.LinkAlive(x.Link) })}
	if b.least == 0 {
		b.least, b.by, b.why = whole(p, b.slow()), p.Proof(), []string{"bound proven by " + p.Proof()}
	}
	if !p.Pinned() {
		return p, 0, nil
	}
	if b.o.Schedule == schedules.FORS && (b.slow() || p.Gap() > 0) {
		if q := share(p); q != p {
			if b.slow() {
				q.Bound = scheduler.Bound{} // which is of phases without shared links
			}
			p, err = q, q.Judge()
		}
	}
	if b.o.Schedule == schedules.FORS && !b.slow() {
		return p, 0, err
	}
	return p, p.Cost(plan.Equal, 0).Duration, err
}

// share is the plan with messages that share phases, or the plan itself. Where paths are to be few, none has more than before:
// then they stay as they are.
func share(p *plan.Plan) *plan.Plan {
	for _, kept := range []bool{false, true} {
		if p.OnePath && !kept { // tables hold them
			continue
		}
		s := order.Share(p.Schedule, p.Tree, p.Rates, kept)
		if s == p.Schedule {
			return p
		}
		q := *p
		q.Schedule, q.Whole = s, false
		if q.Paths = routing.CountPaths(p.Tree, q.AllPaths()); p.Objective == schedules.FewestPhases || q.Paths.Most <= p.Paths.Most {
			return &q
		}
	}
	return p
}

// whole is the bound of a plan, in message times, which a plan attains whose phases have lengths: such a plan needs no
// whole number for what links carry.
func whole(p *plan.Plan, lengths bool) float64 {
	b, t := p.Bound, p.Tree
	if !lengths || b.Kind == scheduler.KindServer {
		return float64(b.Phases)
	}
	if b.Kind == scheduler.KindLeaf {
		links := 0
		for id := range t.LowerLinks() {
			if l := t.LinkOf(id); l.Leaf == b.At && t.LinkAlive(l) {
				links++
			}
		}
		out, in := t.Crossing(b.At)
		return float64(max(out, in)) / float64(max(1, links))
	}
	return float64(b.Phases - 1)
}

// hostProof says which host needs as long as a bound that hosts alone prove.
func hostProof(t *topology.Live, slow []topology.SlowHost, b order.Bound) (by string, why []string) {
	rank := b.Host % t.Servers()
	by, alone := scheduler.KindServer, float64(b.HostLoad)
	what := fmt.Sprintf("%s has %d messages to send or to receive", t.HostName(rank), b.HostLoad)
	for _, h := range slow {
		if h.Rank == rank {
			by, what, alone = t.HostName(rank), what+fmt.Sprintf(" over a cable of %s of the link rate", show.Percent(h.Share)), alone/h.Share
		}
	}
	if why = []string{what}; b.Steps > alone*(1+1e-9) {
		why = append(why, "other hosts have more messages for slow hosts, or in phases without them")
	}
	return by, why
}
