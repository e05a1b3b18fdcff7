package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/model/sweep"
	"evbench/results"
)

// Options of a run. Only Manifest must be filled in.
type Options struct {
	// Manifest describes the run: name, scenario, seed, fabric, predictions, machine. Run fills in
	// times and Complete.
	Manifest results.Manifest
	// Now is the clock that stamps the manifest.
	Now func() time.Time
	// Progress receives the steps, one call at a time; nil is allowed.
	Progress func(Step)
	// Sweep selects the cases, and where the results are kept. nil: all, nowhere.
	Sweep *sweep.Sweep
}

// A Step is the state of one case of a run.
type Step struct {
	Index, Count int // of the cases, from 0
	Case         *Case
	Done, Of     time.Duration // virtual
	Result       *results.Case // once it is worked out
}

// Run computes the cases, several at once, and writes them to the sink in their order. An error or
// the end of ctx ends the run early: Run writes the cases before the first unfinished one, and
// marks the summary. A shard writes nothing: the error is a *sweep.Part, and the sink may be nil.
func Run(ctx context.Context, cases []*Case, sink results.Sink, o Options) (results.Summary, error) {
	r := &runner{cases: cases, sink: sink, o: o, done: make([]chan worked, len(cases))}
	for i := range r.done {
		r.done[i] = make(chan worked, 1)
	}
	r.sum = results.Summary{Schema: results.SummarySchema, Name: o.Manifest.Name, Cases: []results.Case{}}
	if !o.Sweep.Whole() {
		return r.sum, r.work(ctx)
	}
	r.o.Manifest.Started = o.Now().UTC()
	if err := r.begin(); err != nil {
		return r.sum, err
	}
	err := r.all(ctx)
	r.sum.Complete, r.sum.Answer = err == nil, answerOf(r.sum.Cases)
	r.o.Manifest.Ended, r.o.Manifest.Complete = o.Now().UTC(), err == nil
	return r.sum, errors.Join(err, sink.Write(r.sum), sink.Write(r.o.Manifest))
}

type runner struct {
	cases []*Case
	sink  results.Sink
	o     Options
	done  []chan worked // closed empty where a case has failed
	sum   results.Summary

	mu sync.Mutex // progress
}

// A worked is the part of a case that is written.
type worked struct {
	Case    results.Case
	Samples []results.Sample
	Links   []results.LinkCount
}

func (r *runner) begin() error {
	kept := map[string]bool{}
	for _, c := range r.cases {
		if kept[c.Name] {
			continue
		}
		kept[c.Name] = true
		if err := results.KeepPlan(r.sink, c.Name, c.File); err != nil {
			return err
		}
	}
	return r.sink.Write(r.o.Manifest)
}

// all computes and writes all cases.
func (r *runner) all(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.write(ctx) })
	g.Go(func() error { return r.work(ctx) })
	return g.Wait()
}

// work computes the cases. It begins one only when a processor is free, in order, so that few
// outcomes wait to be written.
func (r *runner) work(ctx context.Context) error {
	defer func() {
		for _, done := range r.done {
			close(done)
		}
	}()
	return sweep.Run(ctx, r.o.Sweep, sweep.Items[worked]{
		N: len(r.cases), Cost: func(i int) float64 { return r.cases[i].cost() }, Work: r.one,
		Put: func(i int, w worked) error { r.done[i] <- w; return nil },
	})
}

func (r *runner) one(ctx context.Context, i int) (worked, error) {
	c := r.cases[i]
	model, ok := models[c.Model]
	if !ok {
		return worked{}, fmt.Errorf("case %q: no model %q", c.Name, c.Model)
	}
	o, err := model(ctx, &c.Job, func(done, of time.Duration) {
		r.progress(Step{Index: i, Case: c, Done: done, Of: of})
	})
	if err != nil {
		return worked{}, fmt.Errorf("case %q: %w", c.Name, err)
	}
	w := worked{c.summary(o), o.samples, c.links(o)}
	r.progress(Step{Index: i, Case: c, Done: c.Duration, Of: c.Duration, Result: &w.Case})
	return w, nil
}

var models = map[string]Model{PhaseModel: Phase, FluidModel: Fluid, TCPModel: Streams, CreditModel: Packets}

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
	for i := range r.cases {
		w, ok := <-r.done[i]
		if !ok {
			return ctx.Err() // the failing goroutine reports its error
		}
		for _, s := range w.Samples {
			if err := r.sink.Write(s); err != nil {
				return err
			}
		}
		for _, l := range w.Links {
			if err := r.sink.Write(l); err != nil {
				return err
			}
		}
		r.sum.Cases = append(r.sum.Cases, w.Case)
	}
	return nil
}
