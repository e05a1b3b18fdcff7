package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evbench/controller"
	"evbench/plan"
	"evbench/results"
)

func (r *runner) all(ctx context.Context) error {
	r.began = time.Now()
	var sum results.Summary
	for {
		order := r.plan.next(time.Since(r.began), sum.Cases)
		if len(order) == 0 {
			return nil
		}
		if err := r.round(ctx, order); err != nil {
			return err
		}
		r.plan.done, r.plan.measured = r.plan.done+1, r.plan.measured+len(order)
		sum = r.standing(false, "")
		r.progress(Place{Round: r.plan.done}, RoundDone{Elapsed: time.Since(r.began), Summary: sum})
	}
}

// round measures a slice of each case in an order, and repeats rejected ones.
func (r *runner) round(ctx context.Context, order []int) error {
	for tries := 1; len(order) > 0; tries++ {
		var rejected []int
		for i, place := range order {
			began := time.Now()
			m, err := r.slice(ctx, place, i, len(order))
			if err != nil {
				return err
			}
			if m.rejected != "" && r.plan.again(tries, time.Since(r.began), time.Since(began)) {
				rejected = append(rejected, place)
			}
		}
		order = rejected
	}
	return nil
}

func (r *runner) slice(ctx context.Context, place, index, count int) (*measured, error) {
	m := &measured{Planned: r.cases[place], round: r.plan.done, start: time.Since(r.began)}
	for _, other := range r.done {
		if other.Name == m.Name {
			m.repeat++
		}
	}
	p := Place{Round: r.plan.done + 1, Case: m.Name, Index: index, Count: count, Duration: m.Duration}
	err := r.one(ctx, m, p)
	for tries := 1; tries < mostTries && len(r.done) > 0 && unopened(err); tries++ {
		m.warnings = append(m.warnings, fmt.Sprintf("its connections were opened again: %v", err))
		err = r.one(ctx, m, p)
	}
	m.slice = r.sliceOf(m)
	r.done = append(r.done, m)
	r.slices() // decides whether this slice counts
	done := Done{Links: m.links, Pairs: m.pairs, Servers: m.servers}
	if m.rejected == "" {
		r.lookAt(m)
	}
	done.Summary = r.standing(false, "")
	if err == nil {
		done.Slice = r.result(m)
		r.progress(p, done)
	}
	return m, errors.Join(err, r.sinkErr)
}

// unopened reports whether a slice ended before any send, without losing a server. If connections
// opened earlier in the run, the machine delayed them.
func unopened(err error) bool {
	e, ok := errors.AsType[*controller.CaseError](err)
	return ok && e.Closed
}

// A measured case is the result of one slice of a case, or of all its slices together.
type measured struct {
	Planned
	repeat   int // index of the slice within its case, from 0
	round    int
	start    time.Duration // since the first slice of the run began
	rejected string        // reason; "": the slice counts
	slice    results.Slice // its row in the summary, without ratio and rejection
	outcome  controller.Outcome
	links    []results.LinkCount // nil if the fabric cannot count
	drops    uint64              // not excused by a timed failure
	events   []results.LinkEvent
	// failovers are the reactions to those changes.
	failovers []results.Failover
	last      *plan.Plan            // in use at the end, if a policy has changed the plan
	pairs     []results.PairCount   // of the slice, until it has been looked at
	servers   []results.ServerCount // likewise
	warnings  []string
	wrong     []string // reasons that make the case invalid
}

func (r *runner) one(ctx context.Context, m *measured, p Place) error {
	r.progress(p, Installing{})
	if err := r.f.Install(ctx, m.Plan); err != nil {
		return fmt.Errorf("case %q: install: %w", m.Name, err)
	}
	if err := r.checkPorts(ctx, m); err != nil {
		return err
	}
	r.progress(p, WarmingUp{})
	if err := r.measure(ctx, m, p); err != nil {
		return err
	}
	return r.moved(ctx, m)
}
