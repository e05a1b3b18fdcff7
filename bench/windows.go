package bench

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"evbench/internal/wire"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/results"
	"evbench/scenario"
	"evbench/scheduler/sizes"
	"evbench/topology"
)

// prepareOrdered plans the first exchange of an ordered case on t and has that judged. The
// windows of the run are planned on the way, since sizes are known one or two windows
// ahead. The plan with phases that it has, too, says what is alive and what tables are to be
// repaired with.
func prepareOrdered(s *scenario.Scenario, c scenario.Case, t *topology.Tree) (Planned, error) {
	p, err := PlanFor(s, c, t)
	if err != nil {
		return Planned{}, err
	}
	w, err := WindowPlan(s, c, t, 0, 1)
	if err != nil {
		return Planned{}, err
	}
	m, err := Matrix(s, c, 0)
	if err != nil {
		return Planned{}, err
	}
	o := &plan.Ordered{Tree: t, Window: []*sizes.Matrix{m}, Plan: w}
	if err := judgeOrdered(o); err != nil {
		return Planned{}, err
	}
	efficiency, err := predict(s, c, p)
	return Planned{Case: c, Plan: p, Ordered: o, Prediction: results.Prediction{
		Case: c.Name, Schedule: c.Schedule, Routing: p.Routing, PlanHash: o.Hash(), Efficiency: efficiency, Made: time.Now().UTC(),
	}}, err
}

// judgeOrdered has verify read a plan from its file form.
func judgeOrdered(p *plan.Ordered) error {
	var file bytes.Buffer
	if err := p.WriteText(&file); err != nil {
		return err
	}
	_, f, err := verify.ReadEither(&file, p.Len())
	if err != nil {
		return fmt.Errorf("the judge cannot read the plan: %w", err)
	}
	if r := verify.CheckOrdered(f, nil, verify.Options{}); !r.Valid {
		return fmt.Errorf("the judge refuses the plan: %s (%d offences)", r.Offences[0].Text, r.Total)
	}
	return nil
}

// An orderer plans an ordered case on a tree, and says it to workers. It is a
// controller.Windows.
type orderer struct {
	s *scenario.Scenario
	c scenario.Case
	t *topology.Tree

	mu     sync.Mutex
	before *sizes.Plan         // nil: none, or nothing of it is under way
	equal  map[int]*sizes.Plan // by exchanges, where all fragments have one size: one plan is as good as another
}

// Next implements controller.Windows.
func (w *orderer) Next(from uint64, count int, quiet bool) ([]wire.Window, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, err := w.plan(from, count)
	if err != nil {
		return nil, err
	}
	if quiet {
		w.before = nil
	}
	out := parts(p, w.before, w.t.Servers(), w.c.Pinned())
	w.before = p
	return out, nil
}

func (w *orderer) plan(from uint64, count int) (*sizes.Plan, error) {
	if p := w.equal[count]; p != nil {
		return p, nil
	}
	p, err := WindowPlan(w.s, w.c, w.t, from, count)
	if err == nil && w.s.FragmentSizes(w.c).Equal() {
		if w.equal == nil {
			w.equal = map[int]*sizes.Plan{}
		}
		w.equal[count] = p
	}
	return p, err
}

// parts is a plan as the worker of each rank is told it. Where several fragments that
// another waits for have one receiver, which takes them one after the other, the token for
// the last of them is enough. Without pinned paths tables choose them.
func parts(p, before *sizes.Plan, servers int, pinned bool) []wire.Window {
	out := make([]wire.Window, servers)
	for rank := range out {
		out[rank].Sends, out[rank].Takes, out[rank].Tells = wire.Turns{}, wire.Takes{}, wire.Tells{}
	}
	past, now, tokens := takes(before, servers), takes(p, servers), p.Tokens(before)
	earlier := len(past) // what is taken off the number of a take of the window before, so that it is below 0
	k := 0
	for x := range p.Pieces() {
		turn := wire.Turn{Exchange: x.Exchange, To: x.Dst, Spine: x.Spine}
		if !pinned {
			turn.Spine = -1
		}
		var last []take // by receiver
		for _, of := range tokens[k] {
			if of >= 0 {
				last = latest(last, now[of])
			} else {
				last = latest(last, take{past[^of].rank, past[^of].nth - earlier})
			}
		}
		for _, t := range last {
			after := t.nth
			if after < 0 {
				after = -1 - (after + earlier)
			}
			turn.Await = append(turn.Await, t.rank)
			out[t.rank].Tells = append(out[t.rank].Tells, wire.Tell{After: after, To: x.Src, Send: len(out[x.Src].Sends)})
		}
		out[x.Src].Sends = append(out[x.Src].Sends, turn)
		out[x.Dst].Takes = append(out[x.Dst].Takes, wire.Take{Exchange: x.Exchange, From: x.Src, Spine: turn.Spine})
		k++
	}
	return out
}

// A take is the nth fragment that a rank receives.
type take struct{ rank, nth int }

// takes lists those of a plan, in the order of its pieces.
func takes(p *sizes.Plan, servers int) []take {
	if p == nil {
		return nil
	}
	n, out := make([]int, servers), make([]take, 0, p.Len())
	for x := range p.Pieces() {
		out = append(out, take{x.Dst, n[x.Dst]})
		n[x.Dst]++
	}
	return out
}

// latest adds a take, or has it replace an earlier one of the same rank.
func latest(all []take, t take) []take {
	for i := range all {
		if all[i].rank == t.rank {
			all[i].nth = max(all[i].nth, t.nth)
			return all
		}
	}
	return append(all, t)
}

// efficiencyWith predicts the efficiency of a case that follows one plan throughout.
func efficiencyWith(s *scenario.Scenario, c scenario.Case, p *plan.Plan) (float64, error) {
	if c.Mode == scenario.Ordered {
		return orderedEfficiency(s, c, p, c.Window)
	}
	return efficiencyOf(s, c, p), nil
}
