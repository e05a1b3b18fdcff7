package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/lists"
	"evbench/model/sweep"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// MaxK is the most things that may die at once in WhatIf.
const MaxK = 3

// A Case is a schedule with its routing, both by name.
type Case struct {
	Schedule string `json:"schedule"`
	Routing  string `json:"routing"`
}

func (c Case) String() string { return c.Schedule + " × " + c.Routing }

// words is the case in a sentence.
func (c Case) words() string {
	switch {
	case c.Routing == "pinned" && c.Schedule == "fors":
		return "a plan around dead links (fors)"
	case c.Routing == "pinned":
		return c.Schedule + " with its own paths"
	}
	return c.Schedule + " over tables of " + c.Routing
}

// DefaultCases are linear-shift over the single-path tables of one path per
// destination, and fors on its own paths.
func DefaultCases() []Case { return Cases(nil, nil) }

// Cases joins schedules and routings. Empty schedules are linear-shift and fors; without routings
// each has its own.
func Cases(orders, routings []string) (out []Case) {
	if len(orders) == 0 {
		orders = []string{schedules.LinearShift, schedules.FORS}
	}
	for _, s := range orders {
		own := routings
		switch {
		case len(own) > 0:
		case strings.HasPrefix(s, schedules.FORS), strings.HasPrefix(s, schedules.RepairPrefix):
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
	// Engines are known beside routing's own.
	Engines routing.Engines
	// Workers is how many sets are planned at once. 0 means GOMAXPROCS. The
	// numbers do not depend on it.
	Workers int
	// Good is the share of what a plan can keep at most from which a case without a plan is good; 0: .95.
	Good float64
	// Assumes says which links and hosts are slower than others and count as whole ones, "" where all are alike.
	Assumes string
	// Adaptive says that switches choose the way of each message.
	Adaptive bool
	// Sweep selects the sets planned here, the place for their costs, and the listener for
	// progress. nil means all, nowhere and no listener.
	Sweep *sweep.Sweep
}

// A WhatIfReport is the cost of every failure of one size.
type WhatIfReport struct {
	tree       *topology.Tree
	k          int
	sample     int // 0: all sets
	seed       uint64
	good       float64
	assumes    string
	adaptive   bool
	base       []outcome // by case: t itself, without further failures; zero where a choosy schedule has none
	Groups     []GroupReport
	Incomplete bool // it was stopped; the numbers cover the sets done
}

// A GroupReport is one group's part.
type GroupReport struct {
	Group  string `json:"group"` // of Groups
	Sets   int64  `json:"sets"`
	Chosen int    `json:"chosen"` // to be planned
	Done   int    `json:"done"`
	// Unreachable are the done sets that leave two leaves with servers without a live path. No
	// other number includes them. First is the first of them.
	Unreachable int          `json:"unreachable"`
	First       []string     `json:"first_unreachable,omitempty"`
	Cases       []CaseReport `json:"cases"`
}

// One outcome for each case of millions of sets: keep it small.
type outcome struct {
	Phases     int32   `json:"phases"`
	bound      int32   // of a plan without contention; 0 where it was not asked for
	Efficiency float64 `json:"predicted_efficiency"`
}

// WhatIf plans every case for every set of k dead links, and for every set of k dead spines (on
// three levels, middle and top switches), of t, beyond its present failures. When ctx ends it
// returns the finished part, marked incomplete. For a shard the error is a *sweep.Part.
func WhatIf(ctx context.Context, t *topology.Tree, o WhatIfOptions) (*WhatIfReport, error) {
	if _, err := CountSets(&t.Live, o); err != nil {
		return nil, err
	}
	if o.Cases == nil {
		o.Cases = DefaultCases()
	}
	if err := t.Exchanges(); err != nil {
		return nil, err
	}
	r := &WhatIfReport{tree: t, k: o.K, sample: o.Sample, seed: o.Seed, good: cmp.Or(o.Good, 0.95), assumes: o.Assumes, adaptive: o.Adaptive}
	w := &whatIf{tree: t, opt: o, leaf: t.LeafOfRanks(), orders: map[string]*Order{}, refused: map[int]string{}, classes: newClasses(t), quickly: map[string]*changes{}}
	if err := w.prepare(r); err != nil {
		return nil, err
	}
	for _, g := range Groups(&t.Live, o.K) {
		w.groups = append(w.groups, g.choose(o.Sample, o.Seed))
	}
	err := w.all(ctx)
	if err != nil && (ctx.Err() == nil || !errors.Is(err, ctx.Err()) || !o.Sweep.Whole()) {
		return nil, err
	}
	r.Incomplete = err != nil
	first := 0
	for i := range w.groups {
		r.Groups = append(r.Groups, w.summary(&w.groups[i], first, r.base))
		first += w.groups[i].len()
	}
	return r, nil
}

type whatIf struct {
	tree   *topology.Tree
	opt    WhatIfOptions
	leaf   []int
	orders map[string]*Order // of schedules that ignore dead links, by name
	groups []chosen          // their sets are the items of the sweep, group after group

	classes *classes            // nil: there are none
	quickly map[string]*changes // of the schedules in orders

	states   []state
	outcomes []outcome      // cases of each set
	refused  map[int]string // by place in outcomes: why there is no plan
}

// A state is the state of a set.
type state uint8

const (
	undone state = iota
	unreachable
	planned
)

// A result is the result of a case for a set.
type result struct {
	Phases     int32   `json:"p,omitempty"`
	Bound      int32   `json:"b,omitempty"`
	Efficiency float64 `json:"e,omitempty"`
	Refused    string  `json:"r,omitempty"` // where there is no plan
}

// set returns item i: its group and its number there.
func (w *whatIf) set(i int) (*Group, int64) {
	for k := range w.groups {
		c := &w.groups[k]
		if i < c.len() {
			return c.Group, c.number(i)
		}
		i -= c.len()
	}
	panic("no such set")
}

// prepare plans t itself. A case that cannot be planned there is a usage error, unless the schedule
// is choosy.
func (w *whatIf) prepare(r *WhatIfReport) error {
	for _, c := range w.opt.Cases {
		if c.Routing == plan.NoRouting {
			return fmt.Errorf("%s: a plan without routes has no efficiency, so what a failure costs it is not known; without --routing each schedule has its own", c)
		}
		if c.single() {
			if w.orders[c.Schedule] == nil {
				p, err := plan.Build(w.tree, plan.Options{Schedule: c.Schedule, Routing: plan.NoRouting, Seed: w.opt.Seed})
				if err != nil {
					return err
				}
				w.orders[c.Schedule] = NewOrder(p.Schedule)
				w.quickly[c.Schedule] = newChanges(&w.tree.Live, w.orders[c.Schedule], w.leaf)
			}
		}
		out, err := w.outcome(w.tree, c)
		if err != nil && !c.choosy() {
			return fmt.Errorf("%s: %w", c, err)
		}
		r.base = append(r.base, out)
	}
	return nil
}

// all plans the sets. When ctx ends it abandons those under way: some take seconds.
func (w *whatIf) all(ctx context.Context) error {
	n := lists.Sum(lists.Range[int](len(w.groups)), func(i int) int { return w.groups[i].len() })
	if w.opt.Sweep.Whole() {
		w.states, w.outcomes = make([]state, n), make([]outcome, n*len(w.opt.Cases))
	}
	return sweep.Run(ctx, w.opt.Sweep, sweep.Items[[]result]{
		N: n, Workers: w.opt.Workers, Leave: true, Put: w.put,
		Work: func(_ context.Context, i int) ([]result, error) { return w.plan(i) },
	})
}

// plan plans all cases of a set, without results where the set leaves servers unreachable.
func (w *whatIf) plan(i int) ([]result, error) {
	g, number := w.set(i)
	_, dead := g.Set(number)
	t, err := w.tree.Without(dead...)
	if err != nil || t.Exchanges() != nil {
		return nil, err
	}
	var results []result
	for _, c := range w.opt.Cases {
		out, err := w.checked(t, c, i, dead)
		if wrong, ok := errors.AsType[*wrongError](err); ok {
			return nil, wrong
		}
		r := result{Phases: out.Phases, Bound: out.bound, Efficiency: out.Efficiency}
		if err != nil {
			r = result{Refused: err.Error()}
		}
		results = append(results, r)
	}
	return results, nil
}

func (w *whatIf) put(i int, results []result) error {
	if results == nil {
		w.states[i] = unreachable
		return nil
	}
	if len(results) != len(w.opt.Cases) {
		return fmt.Errorf("set %d: %d results of %d cases", i, len(results), len(w.opt.Cases))
	}
	w.states[i] = planned
	for k, r := range results {
		at := i*len(results) + k
		if w.outcomes[at] = (outcome{r.Phases, r.Bound, r.Efficiency}); r.Refused != "" {
			w.refused[at] = r.Refused
		}
	}
	return nil
}

// single reports whether a schedule that ignores dead links has tables with one path for each
// destination: the common case, which needs no plan, only tables and link loads.
func (c Case) single() bool {
	switch c.Schedule {
	case schedules.LinearShift, schedules.LinearShiftPorts, schedules.XOR, schedules.BandwidthOptimal:
	default:
		return false
	}
	return !slices.Contains([]string{"", routing.ECMP, routing.Spray, routing.Adaptive, routing.Pinned, plan.NoRouting}, c.Routing)
}

// choosy reports whether a schedule exists for some dead sets only, such as the closed forms, which
// need uniform ones: that none exists for the tree as it is says nothing about its failures.
func (c Case) choosy() bool {
	return strings.HasPrefix(c.Schedule, "fors-") && slices.Contains(schedules.Names(), c.Schedule)
}

// drawn is the share of sets, one in so many, that are planned in full although there is a shorter way.
const drawn = 100

// checked is outcome for set i, of links that are dead beside those of the tree, by a shorter way where there
// is one. For a drawn set both must be equal.
func (w *whatIf) checked(t *topology.Tree, c Case, i int, dead []topology.Link) (outcome, error) {
	known, ok := w.quick(t, c, dead)
	if ok && routing.Mix(w.opt.Seed, uint64(i))%drawn != 0 {
		return known, nil
	}
	out, err := w.outcome(t, c)
	if ok && (err != nil || out != known) {
		return out, &wrongError{fmt.Sprintf("%s without %s", c, strings.Join(t.LinkNames(dead), ", ")), out, known}
	}
	return out, err
}

// quick returns the outcome of a case from the class of the set, or from the changes between the phases of
// its schedule, and whether it has one.
func (w *whatIf) quick(t *topology.Tree, c Case, dead []topology.Link) (outcome, bool) {
	x := w.quickly[c.Schedule]
	if !c.single() || x == nil {
		return w.byClass(c, dead)
	}
	d, err := x.over(func(path []int32) error {
		if t.Plain() && routing.Closed(&t.Live, c.Routing) {
			routing.LeafWays(t, c.Routing, path)
			return nil
		}
		tables, err := plan.Tables(w.opt.Engines, t, c.Routing)
		if err == nil {
			pathTable(tables, w.leaf, path)
		}
		return err
	})
	return outcome{Phases: int32(len(x.until)), Efficiency: efficiency(&t.Roles, d)}, err == nil
}

// A wrongError is a set for which a shorter way leads to another outcome.
type wrongError struct {
	set       string
	own, same outcome
}

func (e *wrongError) Error() string {
	return fmt.Sprintf("%s: %+v, but %+v by its class or by what changes: a defect of evbench", e.set, e.own, e.same)
}

func (w *whatIf) outcome(t *topology.Tree, c Case) (outcome, error) {
	if c.single() {
		tables, err := plan.Tables(w.opt.Engines, t, c.Routing)
		if err != nil {
			return outcome{}, err
		}
		o := w.orders[c.Schedule]
		d := o.Duration(t.Wires, w.leaf, TablePaths(tables, w.leaf))
		return outcome{Phases: int32(len(o.start) - 1), Efficiency: efficiency(&t.Roles, d)}, nil
	}
	p, err := w.build(t, c)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{Phases: int32(p.Phases()), bound: int32(p.Bound.Phases)}
	if p.Pinned() {
		out.Efficiency = efficiency(&t.Roles, NewOrder(p.Schedule).Duration(t.Wires, w.leaf, p.Path))
	} else {
		out.Efficiency = p.Cost(plan.Equal, w.opt.Seed).Synchronised()
	}
	return out, nil
}

// build plans one case. fors gets one worker, as sets run in parallel.
func (w *whatIf) build(t *topology.Tree, c Case) (*plan.Plan, error) {
	if c != (Case{schedules.FORS, routing.Pinned}) {
		return plan.Build(t, plan.Options{Schedule: c.Schedule, Routing: c.Routing, Engines: w.opt.Engines, Seed: w.opt.Seed})
	}
	s, bound, err := scheduler.ByName(c.Schedule, t, scheduler.Options{Seed: w.opt.Seed, Workers: 1})
	if err != nil {
		return nil, err
	}
	return &plan.Plan{Tree: t, Schedule: s, Routing: c.Routing, Bound: bound}, nil
}

func efficiency(t *topology.Roles, duration int) float64 {
	return float64(t.MostMessages()) / float64(duration)
}
