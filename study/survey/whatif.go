package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"evbench/internal/parallel"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

// MaxK is how many things may die at once in WhatIf.
const MaxK = 3

// A Case is a schedule with its routing, both by name.
type Case struct {
	Schedule string `json:"schedule"`
	Routing  string `json:"routing"`
}

func (c Case) String() string { return c.Schedule + " × " + c.Routing }

// DefaultCases are linear-shift over the single-path tables of one path per
// destination, and fors on its own paths.
func DefaultCases() []Case { return Cases(nil, nil) }

// Cases joins schedules and routings. No schedules are linear-shift and fors; without
// routings each has its own.
func Cases(schedules, routings []string) (out []Case) {
	if len(schedules) == 0 {
		schedules = []string{scheduler.NameLinearShift, scheduler.NameFORS}
	}
	for _, s := range schedules {
		own := routings
		switch {
		case len(own) > 0:
		case strings.HasPrefix(s, scheduler.NameFORS), strings.HasPrefix(s, scheduler.RepairPrefix):
			own = []string{routing.Pinned}
		default:
			own = []string{routing.Ftree, routing.MinHop, routing.Spread}
		}
		for _, r := range own {
			out = append(out, Case{s, r})
		}
	}
	return out
}

// WhatIfOptions say what to plan.
type WhatIfOptions struct {
	// K is how many links, or switches other than leaves, die at once, 1..MaxK.
	K int
	// Sample is how many sets of each group are planned, drawn by Seed. 0 means
	// all.
	Sample int
	// Seed draws the sample and feeds the plans.
	Seed uint64
	// Cases are what to plan for each set. nil means DefaultCases.
	Cases []Case
	// Workers is how many sets are planned at once. 0 means GOMAXPROCS. The
	// numbers do not depend on it.
	Workers int
	// Progress, when set, is told after each set how many are done; calls do not
	// overlap.
	Progress func(done, total int)
}

// A WhatIfReport is what every failure of one size costs.
type WhatIfReport struct {
	tree       *topology.Tree
	k          int
	sample     int // 0: all sets
	seed       uint64
	base       []outcome // by case: t itself, without further failures; zero where a choosy schedule has none
	Groups     []GroupReport
	Incomplete bool // it was stopped; the numbers are those of the sets done
}

// A GroupReport is one group's part.
type GroupReport struct {
	Group  string `json:"group"` // of Groups
	Sets   int64  `json:"sets"`
	Chosen int    `json:"chosen"` // to be planned
	Done   int    `json:"done"`
	// Unreachable are of those done the sets that leave two leaves with servers without a live
	// path. They are in no other number. First is the first of them.
	Unreachable int          `json:"unreachable"`
	First       []string     `json:"first_unreachable,omitempty"`
	Cases       []CaseReport `json:"cases"`
}

type outcome struct {
	Phases     int     `json:"phases"`
	bound      int     // of a plan without contention; 0 where it was not asked for
	Efficiency float64 `json:"predicted_efficiency"`
}

// WhatIf plans every case for every set of k dead links, and for every set of k
// dead spines (of three levels, middle and top switches), of t, beyond what is dead there already. When ctx ends it returns
// what is done, marked incomplete.
func WhatIf(ctx context.Context, t *topology.Tree, o WhatIfOptions) (*WhatIfReport, error) {
	if _, err := CountSets(t, o); err != nil {
		return nil, err
	}
	if o.Cases == nil {
		o.Cases = DefaultCases()
	}
	if err := t.Connected(); err != nil {
		return nil, err
	}
	r := &WhatIfReport{tree: t, k: o.K, sample: o.Sample, seed: o.Seed}
	w := &whatIf{tree: t, opt: o, leaf: t.LeafOfRanks(), orders: map[string]*order{}}
	if err := w.prepare(r); err != nil {
		return nil, err
	}
	groups := Groups(t, o.K)
	for i := range groups {
		w.add(&groups[i])
	}
	err := w.all(ctx, w.plan)
	if err != nil && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
		return nil, err
	}
	r.Incomplete = err != nil
	for i := range groups {
		r.Groups = append(r.Groups, w.summary(&groups[i], r.base))
	}
	return r, nil
}

type whatIf struct {
	tree   *topology.Tree
	opt    WhatIfOptions
	leaf   []int
	orders map[string]*order // of schedules that ignore dead links, by name
	jobs   []job

	mu    sync.Mutex // guards what follows, what has come of jobs, and calls of Progress
	done  int
	ended bool // what comes now comes too late
}

// A job is a set; without results once it is done, it leaves servers unreachable.
type job struct {
	group   *Group
	number  int64
	done    bool
	results []result // by case
}

type result struct {
	outcome
	refused error // where there is no plan
}

func (w *whatIf) add(g *Group) {
	for _, i := range g.sample(w.opt.Sample, w.opt.Seed) {
		w.jobs = append(w.jobs, job{group: g, number: i})
	}
}

// prepare plans t itself: what cannot be planned there is wrong use, unless the
// schedule is choosy.
func (w *whatIf) prepare(r *WhatIfReport) error {
	for _, c := range w.opt.Cases {
		if c.single() {
			p, err := plan.Build(w.tree, plan.Options{Schedule: c.Schedule, Routing: plan.NoRouting, Seed: w.opt.Seed})
			if err != nil {
				return err
			}
			w.orders[c.Schedule] = newOrder(p.Schedule)
		}
		out, err := w.outcome(w.tree, c)
		if err != nil && !c.choosy() {
			return fmt.Errorf("%s: %w", c, err)
		}
		r.base = append(r.base, out)
	}
	return nil
}

// all has plan do the sets. When ctx ends those under way are left behind: some take
// seconds.
func (w *whatIf) all(ctx context.Context, plan func(*job) error) error {
	done := make(chan error, 1)
	go func() {
		done <- parallel.Try(w.opt.Workers, len(w.jobs), func(i int) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return plan(&w.jobs[i])
		})
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	return err
}

func (w *whatIf) plan(j *job) error {
	_, dead := j.group.Set(j.number)
	t, err := w.tree.Without(dead...)
	if err != nil {
		return err
	}
	var results []result
	if t.Connected() == nil {
		for _, c := range w.opt.Cases {
			out, err := w.outcome(t, c)
			results = append(results, result{out, err})
		}
	}
	w.finish(j, results)
	return nil
}

func (w *whatIf) finish(j *job, results []result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	j.done, j.results = true, results
	w.done++
	if w.opt.Progress != nil {
		w.opt.Progress(w.done, len(w.jobs))
	}
}

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
	return float64(t.MostMessages()) / float64(duration)
}
