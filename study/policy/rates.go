package policy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/failover"
	"evbench/internal/parallel"
	"evbench/model/sim"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// A Setting is the network, and the cost of events on it.
type Setting struct {
	Tree      *topology.Tree // without dead links
	BitPerSec float64        // what a link carries of messages
	Fragment  int            // bytes
	Header    int            // bytes on top of each
	Timing    sim.Timing     // of phases; without phases messages cost nothing but their bytes
	// Most is the most bits a second that a server takes, in all modes; 0: no limit.
	Most float64
	// Servers is the number of builders for totals; 0 means the tree's.
	Servers int
	Seed    uint64
}

func (s *Setting) describe() string {
	text := fmt.Sprintf("%s, %s", s.Tree.Notation(), s.Tree.ServersText())
	if s.Servers > 0 && s.Servers != s.Tree.Servers() {
		text += fmt.Sprintf(", totals those of %d", s.Servers)
	}
	return text + fmt.Sprintf("; %.4g Gbit/s of a link for messages, fragments of %.4g MB", s.BitPerSec/1e9, float64(s.Fragment)/1e6)
}

// Exchange is how long an exchange of FORS lasts without dead links.
func (s *Setting) Exchange(ctx context.Context) (time.Duration, error) {
	p, err := s.fors("")
	if err != nil {
		return 0, err
	}
	span, err := s.phases(ctx, p)
	return span.Round(time.Millisecond), err
}

// Limit caps each server at its rate with FORS without dead links: the server sets that limit, with
// phases or without.
func (s *Setting) Limit(ctx context.Context) error {
	s.Most = 0
	rates, err := s.rateWith(ctx, failover.FORS, "", []Dead{""})
	if err != nil {
		return err
	}
	s.Most = rates[0] / s.servers()
	return nil
}

// rateWith is the rate of all servers together, in bit/s: with the plan of a policy without the
// links dead in it, and for each of some sets of links that the tables avoid. Policies without a
// plan have the same at all times.
func (s *Setting) rateWith(ctx context.Context, p failover.Policy, planned Dead, avoided []Dead) ([]float64, error) {
	engine, byTables := tables[p]
	if !byTables {
		return s.pinned(ctx, planned, avoided)
	}
	out := make([]float64, len(avoided))
	for i, d := range avoided {
		var err error
		if p == failover.Unsync && planned != "" {
			out[i], err = s.unsynchronised(engine, d)
		} else {
			out[i], err = s.shift(ctx, engine, d)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *Setting) shift(ctx context.Context, engine string, avoided Dead) (float64, error) {
	t, err := avoided.Without(s.Tree)
	if err != nil {
		return 0, err
	}
	p, err := plan.Build(t, plan.Options{Schedule: schedules.LinearShift, Routing: engine, Seed: s.Seed})
	if err != nil {
		return 0, err
	}
	span, err := s.phases(ctx, p)
	return s.rate(span), err
}

// unsynchronised is the rate without phases over tables of an engine that avoid links, in bit/s of
// all servers. Flows of one size that all begin together and share wires max-min fairly keep the
// busiest wire busy until they end, so its load gives the duration of an exchange; a test compares
// that with the model of flows.
func (s *Setting) unsynchronised(engine string, avoided Dead) (float64, error) {
	t, err := avoided.Without(s.Tree)
	if err != nil {
		return 0, err
	}
	tables, err := routing.TreeTables(t, engine)
	if err != nil {
		return 0, err
	}
	return s.rate(time.Duration(slices.Max(tables.Loads()) * s.messageSec() * 1e9)), nil
}

func (s *Setting) pinned(ctx context.Context, planned Dead, avoided []Dead) ([]float64, error) {
	p, err := s.fors(planned)
	if err != nil {
		return nil, err
	}
	span, err := s.phases(ctx, p)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(avoided))
	for i, d := range avoided {
		extra, err := s.detours(p, d)
		if err != nil {
			return nil, err
		}
		out[i] = s.rate(span + time.Duration(float64(extra)*s.messageSec()*1e9))
	}
	return out, nil
}

// fors plans on one CPU, since many plans are made at once.
func (s *Setting) fors(dead Dead) (*plan.Plan, error) {
	t, err := dead.Without(s.Tree)
	if err != nil {
		return nil, err
	}
	schedule, bound, err := scheduler.FORS(t, scheduler.Options{Seed: s.Seed, Workers: 1})
	return &plan.Plan{Tree: t, Schedule: schedule, Routing: routing.Pinned, Bound: bound}, err
}

func (s *Setting) phases(ctx context.Context, p *plan.Plan) (time.Duration, error) {
	o, err := sim.Phase(ctx, &sim.Job{
		Setting: builder.Setting{Mode: modes.Sync}, Plan: p, BitPerSec: s.BitPerSec, Size: func(uint64, int) int { return s.Fragment }, Header: s.Header,
		Equal: true, Common: builder.Common{Seed: s.Seed}, Timing: s.Timing,
	}, nil)
	if err != nil {
		return 0, err
	}
	return o.Span / time.Duration(max(o.Exchanges, 1)), nil
}

func (s *Setting) messageSec() float64 { return float64(8*(s.Fragment+s.Header)) / s.BitPerSec }

func (s *Setting) rate(exchange time.Duration) float64 {
	if exchange <= 0 {
		return 0
	}
	each := float64(s.Tree.Messages()) / float64(s.Tree.Builders())
	one := 8 * float64(s.Fragment) * each / exchange.Seconds()
	if s.Most > 0 {
		one = min(one, s.Most)
	}
	return one * s.servers()
}

func (s *Setting) servers() float64 {
	if s.Servers > 0 {
		return float64(s.Servers)
	}
	return float64(s.Tree.Builders())
}

var tables = map[failover.Policy]string{
	failover.None: routing.MinHop, failover.MinHop: routing.MinHop, failover.Spread: routing.Spread, failover.Unsync: routing.Spread,
}

// detours is how many messages longer an exchange takes while paths of its plan that the tables
// avoid lead over another spine: the same for all from one leaf to another, rotated by both. In a
// plan without contention a wire carries one message in a phase; each further one on the busiest
// wire makes the phase longer by a message.
func (s *Setting) detours(p *plan.Plan, avoided Dead) (int, error) {
	t, err := avoided.Without(s.Tree)
	if err != nil {
		return 0, err
	}
	extra, phase, busiest := 0, 0, 1
	load := make([]int, t.AllWires())
	var used []topology.Wire
	for m := range p.Schedule.All() {
		if m.Phase != phase {
			extra, phase, busiest = extra+busiest-1, m.Phase, 1
			for _, w := range used {
				load[w] = 0
			}
			used = used[:0]
		}
		a, b, k := t.Leaf(m.Src), t.Leaf(m.Dst), m.Spine
		if a == b {
			continue
		}
		if !t.Alive(a, k) || !t.Alive(b, k) {
			live := t.CommonSpines(a, b)
			if len(live) == 0 {
				return 0, fmt.Errorf("leaf%d and leaf%d have no path to each other", a, b)
			}
			k = live[(a+b)%len(live)]
		}
		for _, w := range []topology.Wire{t.Up(a, k), t.Down(b, k)} {
			load[w]++
			used = append(used, w)
			busiest = max(busiest, load[w])
		}
	}
	return extra + busiest - 1, nil
}

type key struct {
	kind  failover.Policy
	state State
}

// Rates remembers the rate of each state. It is safe for concurrent use.
type Rates struct {
	// Work returns the rate of all servers together with one plan, for several sets of links that
	// tables avoid, in bit/s; Setting.rateWith is one.
	Work func(ctx context.Context, p failover.Policy, planned Dead, avoided []Dead) ([]float64, error)
	// Same maps states in which FORS builds equally much to one state; Setting.same is one. nil:
	// only equal states.
	Same func(State) State
	// Progress receives how many of so many new states are done; nil is allowed.
	Progress func(done, of int)

	mu    sync.Mutex
	known map[key]float64
}

// Learn computes the missing rates that the timelines need, on all CPUs.
func (r *Rates) Learn(ctx context.Context, timelines ...*Timeline) error {
	todo := map[key]bool{}
	for _, s := range timelines {
		todo[r.keyOf(s.Policy, State{})] = true
		for _, x := range s.Intervals {
			todo[r.keyOf(s.Policy, x.state)] = true
		}
	}
	groups, all := r.missing(todo)
	keys, done := slices.SortedFunc(maps.Keys(groups), compareKeys), 0
	return parallel.Try(0, len(keys), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		k, avoided := keys[i], groups[keys[i]]
		rates, err := r.Work(ctx, k.kind, k.state.plan, avoided)
		if err != nil {
			return fmt.Errorf("policy %s without %q: %w", k.kind, k.state.plan, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for i, d := range avoided {
			r.known[key{k.kind, State{plan: k.state.plan, tables: d}}] = rates[i]
		}
		if done += len(avoided); r.Progress != nil {
			r.Progress(done, all)
		}
		return nil
	})
}

// missing returns the unknown rates, by policy and plan, with the links that tables avoid, and the
// number of states.
func (r *Rates) missing(todo map[key]bool) (map[key][]Dead, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[key]float64{}
	}
	groups, n := map[key][]Dead{}, 0
	for k := range todo {
		if _, ok := r.known[k]; ok || k.state.stopped {
			continue
		}
		group := key{k.kind, State{plan: k.state.plan}}
		groups[group] = append(groups[group], k.state.tables)
		n++
	}
	return groups, n
}

func (r *Rates) keyOf(p failover.Policy, x State) key {
	switch {
	case x.stopped:
		return key{state: State{stopped: true}}
	case p == failover.FORSHold:
		p = failover.FORS
	case p == failover.None:
		p = failover.MinHop
	}
	if p == failover.FORS && subset(x.tables, x.plan) {
		x.tables = x.plan
	}
	if p == failover.FORS && r.Same != nil {
		x = r.Same(x)
	}
	if p != failover.FORS && (p != failover.Unsync || x.plan == "") {
		x.plan = ""
	} else if p == failover.Unsync {
		x.plan = "some"
	}
	return key{p, x}
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.state.plan, b.state.plan))
}

// of returns the rate of a state that has been learnt; 0 for one that stands still.
func (r *Rates) of(p failover.Policy, x State) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[r.keyOf(p, x)]
}

// same returns a state in which FORS builds equally much: leaves and spines are renumbered, so that
// most states that differ only in names become one. On a tree with all ports in use the order of
// leaves and of spines does not matter, and a plan for one is a plan for the other with the names
// changed. Elsewhere, and with roles, the state stays.
func (s *Setting) same(x State) State {
	if !s.Tree.Full() || s.Tree.Divided() || x.stopped {
		return x
	}
	r := renaming{}
	for i, d := range []Dead{x.plan, x.tables} {
		for name := range strings.FieldsSeq(string(d)) {
			if links, err := s.Tree.Links(name); err == nil {
				r.add(links[0], i)
			}
		}
	}
	leaf, spine := r.order()
	renamed := [2][]topology.Link{}
	for l, in := range r {
		for i := range in {
			if in[i] {
				renamed[i] = append(renamed[i], topology.Link{Leaf: leaf[l.Leaf], Spine: spine[l.Spine]})
			}
		}
	}
	return State{plan: deadOf(renamed[0]), tables: deadOf(renamed[1])}
}

// A renaming holds which links are dead in the plan, and which the tables avoid.
type renaming map[topology.Link][2]bool

func (r renaming) add(l topology.Link, i int) {
	in := r[l]
	in[i] = true
	r[l] = in
}

// order numbers the leaves and spines that have a link. Those with more links come first, links of
// the plan before others; among equals those whose links lead to nodes with more links. Remaining
// equals keep the old order: too many names do no harm.
func (r renaming) order() (leaf, spine map[int]int) {
	leaves, spines := map[int]int{}, map[int]int{}
	for l, in := range r {
		weight := 1
		if in[0] {
			weight = 1000
		}
		if in[0] && in[1] {
			weight = 1001
		}
		leaves[l.Leaf] += weight
		spines[l.Spine] += weight
	}
	leafBy, spineBy := map[int][]int{}, map[int][]int{}
	for l := range r {
		leafBy[l.Leaf] = append(leafBy[l.Leaf], spines[l.Spine])
		spineBy[l.Spine] = append(spineBy[l.Spine], leaves[l.Leaf])
	}
	return numbered(leaves, leafBy), numbered(spines, spineBy)
}

func numbered(weight map[int]int, beyond map[int][]int) map[int]int {
	var nodes []int
	for n := range weight {
		slices.SortFunc(beyond[n], func(a, b int) int { return b - a })
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b int) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), slices.Compare(beyond[b], beyond[a]), cmp.Compare(a, b))
	})
	out := map[int]int{}
	for i, n := range nodes {
		out[n] = i
	}
	return out
}
