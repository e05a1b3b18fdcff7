package bench

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"evbench/controller/wire"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/results"
	"evbench/scenario"
	"evbench/scheduler/sizes"
	"evbench/topology"
)

// prepareOrdered plans and judges the first counted window of an ordered case, on t. The other
// windows are planned and judged during the run, since sizes are known one or two windows ahead.
// Its plan with phases determines the live links, and how tables are repaired.
func prepareOrdered(s *scenario.Scenario, c scenario.Case, t *topology.Tree) (Planned, error) {
	p, err := PlanFor(s, c, t)
	if err != nil {
		return Planned{}, err
	}
	w, err := WindowPlan(s, c, sizes.NewChain(t), uint64(s.Warmup), c.Window)
	if err != nil {
		return Planned{}, err
	}
	if err := judgeWindow(w); err != nil {
		return Planned{}, err
	}
	o := &plan.Ordered{Plan: w}
	efficiency, err := predict(s, c, p)
	return Planned{Case: c, Plan: p, Ordered: o, Prediction: results.Prediction{
		Case: c.Name, Schedule: c.Schedule, Objective: string(s.Objective(c)), Routing: p.Routing, PlanHash: o.Hash(), Efficiency: efficiency, Made: time.Now().UTC(),
	}}, err
}

func judgeWindow(p *sizes.Plan) error {
	var file bytes.Buffer
	if err := (&plan.Ordered{Plan: p}).WriteText(&file); err != nil {
		return err
	}
	_, f, err := verify.ReadEither(&file, math.MaxInt)
	if err != nil {
		return fmt.Errorf("the judge cannot read the plan: %w", err)
	}
	if r := verify.CheckOrdered(f, nil, verify.Options{}); !r.Valid {
		return fmt.Errorf("the judge refuses the plan: %s (%d offences)", r.Offences[0].Text, r.Total)
	}
	return nil
}

// An orderer plans an ordered case on a tree, and converts the plans for workers. It is a
// controller.Windows.
type orderer struct {
	s *scenario.Scenario
	c scenario.Case
	t *topology.Tree
	// first is the window at the first counted exchange, planned and judged before; may be nil.
	first *sizes.Plan
	order func(after *sizes.Chain, first uint64, exchanges int) (*sizes.Plan, error)

	mu    sync.Mutex
	chain *sizes.Chain        // nil: no window yet
	equal map[int]*sizes.Plan // by exchanges, if all fragments have one size: then one plan serves all
}

func newOrderer(s *scenario.Scenario, c scenario.Case, t *topology.Tree, first *sizes.Plan) *orderer {
	return &orderer{s: s, c: c, t: t, first: first, order: func(after *sizes.Chain, from uint64, exchanges int) (*sizes.Plan, error) {
		return WindowPlan(s, c, after, from, exchanges)
	}}
}

// Next implements controller.Windows.
func (w *orderer) Next(from uint64, count int, quiet bool) ([]wire.Window, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chain == nil || quiet {
		w.chain = sizes.NewChain(w.t)
	}
	p, err := w.plan(from, count)
	if err != nil {
		return nil, fmt.Errorf("case %q: %w", w.c.Name, err)
	}
	return parts(p, w.chain.Add(p), w.t.Servers(), w.c.Pinned() && !w.s.OnePath(w.c)), nil
}

// plan returns a judged plan: workers follow no other.
func (w *orderer) plan(from uint64, count int) (*sizes.Plan, error) {
	if p := w.equal[count]; p != nil {
		return p, nil
	}
	p, err := w.first, error(nil)
	if p == nil || from != uint64(w.s.Warmup) || count != len(p.Window) {
		if p, err = w.order(w.chain, from, count); err == nil {
			err = judgeWindow(p)
		}
	}
	if err == nil && w.s.FragmentSizes(w.c).Equal() {
		if w.equal == nil {
			w.equal = map[int]*sizes.Plan{}
		}
		w.equal[count] = p
	}
	return p, err
}

// parts splits a plan and its tokens by rank, for the workers. Without pinned paths routing tables
// choose the paths.
func parts(p *sizes.Plan, tokens [][]sizes.Token, servers int, pinned bool) []wire.Window {
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
func latest(all []sizes.Token) (out []sizes.Token) {
	for _, t := range all {
		if i := slices.IndexFunc(out, func(o sizes.Token) bool { return o.Rank == t.Rank }); i < 0 {
			out = append(out, t)
		} else if t.Take > out[i].Take {
			out[i] = t
		}
	}
	return out
}

func efficiencyWith(s *scenario.Scenario, c scenario.Case, p *plan.Plan) (float64, error) {
	if c.Mode == scenario.Ordered {
		return orderedEfficiency(s, c, p, c.Window)
	}
	return efficiencyOf(s, c, p), nil
}
