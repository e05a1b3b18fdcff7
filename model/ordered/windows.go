package ordered

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"evbench/bench"
	"evbench/builder/load"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/scenario"
	"evbench/scheduler/judge"
	"evbench/scheduler/list"
	"evbench/topology"
)

// An Orderer implements bench.Orderer.
type Orderer struct{}

// First implements bench.Orderer.
func (Orderer) First(s *scenario.Scenario, c scenario.Case, t *topology.Tree) (bench.Window, error) {
	p, err := WindowPlan(s, c, list.NewChain(t), s.Warmup, c.Window)
	if err != nil {
		return nil, err
	}
	if err := judgeWindow(p); err != nil {
		return nil, err
	}
	return &Plan{Plan: p}, nil
}

// Windows implements bench.Orderer.
func (Orderer) Windows(s *scenario.Scenario, c scenario.Case, t *topology.Tree, first bench.Window) controller.Windows {
	var p *list.Plan
	if first != nil {
		p = first.(*Plan).Plan // of First
	}
	return newPlanner(s, c, t, p)
}

func judgeWindow(p *list.Plan) error {
	var file bytes.Buffer
	if err := (&Plan{Plan: p}).WriteText(&file); err != nil {
		return err
	}
	f, err := judge.Read(&file)
	if err != nil {
		return fmt.Errorf("the judge cannot read the plan: %w", err)
	}
	if r := judge.Check(f, judge.Options{}); !r.Valid {
		return fmt.Errorf("the judge refuses the plan: %s (%d offences)", r.Offences[0].Text, r.Total)
	}
	return nil
}

// A planner plans an ordered case on a tree, and converts the plans for workers. It is a
// controller.Windows.
type planner struct {
	s *scenario.Scenario
	c scenario.Case
	t *topology.Tree
	// first is the window at the first counted exchange, planned and judged before; may be nil.
	first *list.Plan
	order func(after *list.Chain, first uint64, exchanges int) (*list.Plan, error)

	mu    sync.Mutex
	chain *list.Chain        // nil: no window yet
	equal map[int]*list.Plan // by exchanges, if all fragments have one size: then one plan serves all
}

func newPlanner(s *scenario.Scenario, c scenario.Case, t *topology.Tree, first *list.Plan) *planner {
	w := &planner{s: s, c: c, t: t, first: first}
	w.order = func(after *list.Chain, from uint64, exchanges int) (*list.Plan, error) {
		return WindowPlan(s, w.c, after, from, exchanges)
	}
	return w
}

// Skip is as controller.Windows says.
func (w *planner) Skip(gaps []load.Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sizes := w.s.Sizes(w.c)
	sizes.Gaps, w.c.Sizes, w.first = gaps, &sizes, nil
}

// Next implements controller.Windows.
func (w *planner) Next(from uint64, count int, quiet bool) ([]wire.Window, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chain == nil || quiet {
		w.chain = list.NewChain(w.t)
	}
	p, err := w.plan(from, count)
	if err != nil {
		return nil, fmt.Errorf("case %q: %w", w.c.Name, err)
	}
	return parts(p, w.chain.Add(p), w.t.Servers(), w.c.Pinned() && !w.s.OnePath(w.c)), nil
}

// plan returns a judged plan: workers follow no other.
func (w *planner) plan(from uint64, count int) (*list.Plan, error) {
	if p := w.equal[count]; p != nil {
		return p, nil
	}
	p, err := w.first, error(nil)
	if p == nil || from != w.s.Warmup || count != len(p.Window) {
		if p, err = w.order(w.chain, from, count); err == nil {
			err = judgeWindow(p)
		}
	}
	if err == nil && w.s.FragmentSizes(w.c).Equal() {
		if w.equal == nil {
			w.equal = map[int]*list.Plan{}
		}
		w.equal[count] = p
	}
	return p, err
}

// parts splits a plan and its tokens by rank, for the workers. Without pinned paths routing tables
// choose the paths.
func parts(p *list.Plan, tokens [][]list.Token, servers int, pinned bool) []wire.Window {
	out := make([]wire.Window, servers)
	for rank := range out {
		out[rank].Sends, out[rank].Takes, out[rank].Tells = wire.Turns{}, wire.Takes{}, wire.Tells{}
	}
	k := 0
	for x := range p.Pieces() {
		turn := wire.Turn{Exchange: x.Exchange, To: x.Dst, Spine: x.Path}
		if !pinned {
			turn.Spine = -1
		}
		for _, t := range latest(tokens[k]) {
			turn.Await = append(turn.Await, int(t.Rank))
			out[t.Rank].Tells = append(out[t.Rank].Tells, wire.Tell{After: int(t.Take), To: x.Src, Send: len(out[x.Src].Sends)})
		}
		out[x.Src].Sends = append(out[x.Src].Sends, turn)
		out[x.Dst].Takes = append(out[x.Dst].Takes, wire.Take{Exchange: x.Exchange, From: x.Src, Spine: turn.Spine})
		k++
	}
	return out
}

// latest keeps, of the tokens from each rank, the one for its last receive: a rank receives one
// piece after the other.
func latest(all []list.Token) (out []list.Token) {
	for _, t := range all {
		if i := slices.IndexFunc(out, func(o list.Token) bool { return o.Rank == t.Rank }); i < 0 {
			out = append(out, t)
		} else if t.Take > out[i].Take {
			out[i] = t
		}
	}
	return out
}
