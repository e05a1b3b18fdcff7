package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/internal/parallel"
	"evbench/plan"
	"evbench/results"
)

// Options of a run. Only Manifest must be filled in.
type Options struct {
	// Manifest is what the run says about itself: name, scenario, seed, fabric,
	// predictions, machine. Times and Complete are filled in.
	Manifest results.Manifest
	// Now is the clock that stamps the manifest.
	Now func() time.Time
	// Progress is told what goes on, one call at a time; nil is allowed.
	Progress func(Step)
}

// A Step is where one case of a run stands.
type Step struct {
	Index, Count int // of the cases, from 0
	Case         *Case
	Done, Of     time.Duration // virtual
	Result       *results.Case // once it is worked out
}

// Run works the cases out, several at once, and writes them to the sink in their order.
// An error or the end of ctx ends the run early: the cases before the first that is not
// worked out are written, and the summary is marked.
func Run(ctx context.Context, cases []*Case, sink results.Sink, o Options) (results.Summary, error) {
	r := &runner{cases: cases, sink: sink, o: o, done: make([]chan *Outcome, len(cases))}
	for i := range r.done {
		r.done[i] = make(chan *Outcome, 1)
	}
	r.sum = results.Summary{Schema: results.SummarySchema, Name: o.Manifest.Name, Cases: []results.Case{}}
	r.o.Manifest.Started = o.Now().UTC()
	if err := r.begin(); err != nil {
		return r.sum, err
	}
	err := r.all(ctx)
	r.sum.Complete, r.sum.Answer = err == nil, results.NewAnswer(r.sum.Cases, nil, 0)
	r.o.Manifest.Ended, r.o.Manifest.Complete = o.Now().UTC(), err == nil
	return r.sum, errors.Join(err, sink.Write(r.sum), sink.Write(r.o.Manifest))
}

type runner struct {
	cases []*Case
	sink  results.Sink
	o     Options
	done  []chan *Outcome // closed empty where a case has failed
	sum   results.Summary

	mu sync.Mutex // progress
}

func (r *runner) begin() error {
	kept := map[string]bool{}
	for _, c := range r.cases {
		if kept[c.Name] {
			continue
		}
		kept[c.Name] = true
		if err := KeepPlan(r.sink, c.Name, c.Plan, c.Ordered); err != nil {
			return err
		}
	}
	return r.sink.Write(r.o.Manifest)
}

// KeepPlan hands the plan of a case, or its ordered one that is not nil, to a sink that keeps
// plans. Without a schedule there is none.
func KeepPlan(to results.Sink, name string, p *plan.Plan, ordered *plan.Ordered) error {
	if !to.Keeps().Plans || p.Schedule == nil {
		return nil
	}
	write := p.WriteText
	if ordered != nil {
		write = ordered.WriteText
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return fmt.Errorf("case %q: %w", name, err)
	}
	return to.Write(results.PlanText{Case: name, Text: text.Bytes()})
}

// all works out and writes. A case is begun only when there is a processor for it, in
// order, so that few outcomes wait to be written.
func (r *runner) all(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.write(ctx) })
	g.Go(func() error {
		work, ctx := errgroup.WithContext(ctx)
		work.SetLimit(parallel.Workers(0))
		for i := range r.cases {
			work.Go(func() error { return r.one(ctx, i) })
		}
		return work.Wait()
	})
	return g.Wait()
}

func (r *runner) one(ctx context.Context, i int) error {
	defer close(r.done[i])
	if err := ctx.Err(); err != nil {
		return err
	}
	c := r.cases[i]
	model, ok := models[c.Model]
	if !ok {
		return fmt.Errorf("case %q: no model %q", c.Name, c.Model)
	}
	o, err := model(ctx, &c.Job, func(done, of time.Duration) {
		r.progress(Step{Index: i, Case: c, Done: done, Of: of})
	})
	if err != nil {
		return fmt.Errorf("case %q: %w", c.Name, err)
	}
	result := c.summary(o)
	r.progress(Step{Index: i, Case: c, Done: c.Duration, Of: c.Duration, Result: &result})
	r.done[i] <- o
	return nil
}

var models = map[string]Model{PhaseModel: Phase, FluidModel: Fluid, CreditModel: Packets}

func (r *runner) progress(s Step) {
	if r.o.Progress == nil {
		return
	}
	s.Count = len(r.cases)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.Progress(s)
}

func (r *runner) write(ctx context.Context) error {
	for i, c := range r.cases {
		o, ok := <-r.done[i]
		if !ok {
			return ctx.Err() // what went wrong is told by who saw it
		}
		for _, s := range o.samples {
			if err := r.sink.Write(s); err != nil {
				return err
			}
		}
		for _, l := range c.links(o) {
			if err := r.sink.Write(l); err != nil {
				return err
			}
		}
		r.sum.Cases = append(r.sum.Cases, c.summary(o))
	}
	return nil
}
