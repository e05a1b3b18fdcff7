// Package bench measures the cases of a scenario: for each round and case it takes dead links down,
// installs the routes of the plan, warms up and measures a slice. It continues until the answer is
// resolved, and judges every case by its evidence.
//
// A round has a slice of each case and of the control, in an order drawn from the seed. Cases are
// compared with the control of the same round: a disturbance longer than a round affects both.
//
// The caller chooses the fabric to run on and the sink to write to; bench prints nothing.
// Efficiencies are ideal time / measured time; ideal is the time for the bytes of the busiest
// server at the link rate.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"evbench/controller"
	"evbench/controller/wire"
	"evbench/fabric"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/scenario"
	"evbench/transport"
)

// Options of a run.
type Options struct {
	// Listen is where the controller listens, "unix:PATH" or "tcp:HOST:PORT".
	Listen string
	// Listener, if not nil, is served instead, and closed; Listen is then its name in the manifest.
	Listener net.Listener
	// Token is the secret that workers must know.
	Token string
	// JoinTimeout is how long to wait for another worker to join. 0 means 30s.
	JoinTimeout time.Duration
	// Progress gets the events of the run, one at a time; the run waits for it. nil is allowed.
	Progress func(Progress)
	// Log gets irregular but harmless events, such as a stranger on the control port; nil is
	// allowed.
	Log *slog.Logger
	// Ports, if not nil, reads what ports of switches have counted.
	Ports func(context.Context) ([]results.PortCount, error)
	// Describe fills in machine and program in the manifest.
	Describe func(*results.Manifest)
}

const joinTimeout = 30 * time.Second

type runner struct {
	s        *scenario.Scenario
	o        Options
	f        fabric.Fabric
	ways     Ways // nil: none
	open     func() (results.Sink, error)
	close    func(results.Run) error
	sink     results.Sink // nil until all workers have joined
	pairs    bool         // pairs are counted
	lost     bool         // a case has gone on without a server
	own      bool         // each server has a processor of its own
	barriers []results.TriedBarrier
	ctl      *controller.Controller
	manifest results.Manifest
	checked  fabric.Checked
	cases    []Planned
	search   *Search         // nil: the cases are measured as they are
	found    []results.Found // of the searches that are over
	plan     rounds
	began    time.Time
	telling  sync.Mutex  // of progress
	done     []*measured // slices in their order
	sinkErr  error
	sum      results.Summary
	slow     map[string]*slowness           // by case
	ports    map[string][]results.PortCount // by case, what rose
	// expect, if not nil, changes what was expected of the pairs of a slice.
	expect func(*measured, *attribution.Evidence)
}

// Work is the planned cases of a scenario, on a fabric.
type Work struct {
	Scenario *scenario.Scenario
	Cases    []Planned
	Fabric   fabric.Fabric
	// Search, if not nil, finds the highest rate of events that each case takes without dead time: each rate that it
	// measures is a case of its own.
	Search *Search
	// Ways learn the paths of messages where switches choose them by a hash; nil: nobody asks.
	Ways Ways
	// Open is called once all workers have joined: a run that ends before leaves no results.
	Open func() (results.Sink, error)
	// Ended is called once when all results are written, before the workers are told to end. nil is
	// allowed.
	Ended func(results.Run) error
}

// check returns an error that names what a caller has not set and a run cannot do without.
func (w Work) check() error {
	switch {
	case w.Scenario == nil:
		return errors.New("bench.Work: Scenario is nil")
	case len(w.Cases) == 0:
		return errors.New("bench.Work: Cases has none: bench.Prepare makes them of the scenario")
	case w.Fabric == nil:
		return errors.New("bench.Work: Fabric is nil")
	case w.Open == nil:
		return errors.New("bench.Work: Open is nil: it makes the sink of the results")
	}
	return nil
}

// Run measures. The summary covers everything measured, even if an error or ctx ended the run
// early; it is then marked. A field of w that must be set and is not, is an error before anything begins.
func Run(ctx context.Context, w Work, o Options) (results.Summary, error) {
	if err := w.check(); err != nil {
		return results.Summary{}, err
	}
	s := w.Scenario
	r := &runner{s: s, o: o, f: w.Fabric, ways: w.Ways, open: w.Open, close: w.Ended, cases: w.Cases, slow: map[string]*slowness{}, search: w.Search, plan: rounds{Rounds: s.Rounds, seed: s.Seed, cases: len(w.Cases)}}
	if w.Search != nil {
		r.plan.Rounds = scenario.Rounds{Count: 1}
	}
	r.o.JoinTimeout = cmp.Or(r.o.JoinTimeout, joinTimeout)
	err := r.session(ctx, r.work)
	if !errors.Is(err, r.sinkErr) { // a slice that could not be kept has ended the run with it
		err = errors.Join(err, r.sinkErr)
	}
	return r.sum, err
}

func (r *runner) begin() error {
	sink, err := r.open()
	if err != nil {
		return err
	}
	r.sink = sink
	r.manifest = results.Manifest{
		Schema: "evbench/manifest/1", Name: r.s.Name, Scenario: string(r.s.Text), Seed: r.s.Seed,
		Started: time.Now().UTC(), Fabric: r.f.Info(), Control: r.control(), Plans: map[string]string{}, Warnings: []string{},
		Transport: r.s.Transport, OwnProcessors: r.own, Barriers: r.barriers,
	}
	if transport.Of(r.s.Transport).IO {
		r.manifest.IO = r.s.IO
	}
	if r.s.Fabric.Kind == scenario.Hosts {
		r.manifest.Launch = r.s.Launch.Kind
	}
	for _, c := range r.cases {
		r.manifest.Plans[c.Name] = c.Prediction.PlanHash
		r.manifest.Predictions = append(r.manifest.Predictions, c.Prediction)
	}
	if r.o.Describe != nil {
		r.o.Describe(&r.manifest)
	}
	r.pairs = r.countsPairs()
	for _, c := range r.cases {
		if err := results.KeepPlan(sink, c.Name, c.File()); err != nil {
			return err
		}
	}
	if err := r.keepPaths(); err != nil {
		return err
	}
	r.manifest.Hosts, r.manifest.Preflight = r.checked.Hosts, r.checked.Lines
	r.manifest.Warnings = append(r.manifest.Warnings, r.checked.Warnings...)
	if err := r.sink.Write(r.manifest); err != nil {
		return err
	}
	r.progress(Place{}, Begun{Manifest: r.manifest, Cases: r.cases, Limit: r.plan.Limit})
	return nil
}

// control is the control address, with the actual port if a free one was requested.
func (r *runner) control() string {
	if r.o.Listener == nil {
		return r.ctl.Addr()
	}
	return r.o.Listen
}

// WithServers starts the controller and the workers of a fabric as Run does, has do use them when all have joined, and ends
// them.
func WithServers(ctx context.Context, s *scenario.Scenario, f fabric.Fabric, o Options, do func(context.Context, *controller.Controller) error) error {
	o.JoinTimeout = cmp.Or(o.JoinTimeout, joinTimeout)
	r := &runner{s: s, o: o, f: f}
	return r.session(ctx, func(ctx context.Context) error { return do(ctx, r.ctl) })
}

// session starts controller and workers, does the work and ends all workers.
func (r *runner) session(ctx context.Context, work func(context.Context) error) (err error) {
	r.ctl = controller.New(controller.Options{Token: r.o.Token, Servers: r.s.Tree.Positions(), Log: r.o.Log})
	defer func() { err = errors.Join(err, r.ctl.Close()) }()
	if r.o.Listener != nil {
		r.ctl.Serve(r.o.Listener)
	} else if err := r.ctl.Listen(r.o.Listen); err != nil {
		return err
	}

	// Workers outlive ctx for a moment, so that they can report their results.
	workers, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	joining, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	wait, err := r.f.Launch(workers, fabric.Job{
		Tree: r.s.Tree, Controller: r.ctl.Addr(), Token: r.o.Token, Failed: func() { giveUp(errWorkerFailed) },
		Again: slices.ContainsFunc(r.s.Cases, func(c scenario.Case) bool { return c.Load.GoesOn }),
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil || r.lost { // a lost server may wait for its time to join again
			stop()
		}
		if ends := wait(); !r.lost { // else they are of servers that a case went on without
			err = errors.Join(err, ends)
		}
	}()
	if err := r.join(joining); err != nil {
		return err
	}
	if err = work(ctx); err == nil {
		r.ctl.Quit()
	}
	return err
}

// work measures every case.
func (r *runner) work(ctx context.Context) (err error) {
	if r.checked, err = r.f.Check(ctx, fabric.Joined{Tree: r.s.Tree, Hosts: r.ctl.Hosts(), Spines: r.spines(), Log: r.o.Log, Survey: r.ctl.Survey}); err != nil {
		return err
	}
	if err := errors.Join(r.settleBarriers(ctx), r.learn(ctx)); err != nil {
		return err
	}
	if err = r.begin(); err == nil {
		err = errors.Join(r.measureAll(ctx), r.keepPaths()) // of plans made anew, too
	}
	// All workers are still there: a launcher that was told to end, or one of whose ranks fails as it
	// ends, kills this one soon after: mpirun of Open MPI 5 at once.
	r.end(ctx, err)
	return err
}

// spines are the highest that a plan needs of each server, where workers open connections through spines of a network
// that is not ours.
func (r *runner) spines() (out []fabric.Spine) {
	if r.s.Transport != transport.TCP || r.s.Fabric.Kind != scenario.Hosts {
		return nil
	}
	for _, c := range r.cases {
		if hashed(c.Case) {
			continue
		}
		most := map[int]int{}
		for _, row := range rows(c.Plan) {
			for _, s := range row {
				if s.To != wire.Idle && s.ToSpine != transport.Single {
					most[s.To] = max(most[s.To], s.ToSpine)
				}
			}
		}
		for _, to := range slices.Sorted(maps.Keys(most)) {
			out = append(out, fabric.Spine{Case: c.Name, To: to, Path: most[to]})
		}
	}
	return out
}

// errWorkerFailed ends the wait for all workers: one will not join. The launcher returns its error.
var errWorkerFailed = errors.New("a worker failed before all servers had joined")

// join waits until all workers have joined, provided that each joins soon after the one before: a
// slow machine takes a while to start them all.
func (r *runner) join(ctx context.Context) error {
	for n := range r.s.Tree.Servers() {
		limited, cancel := context.WithTimeoutCause(ctx, r.o.JoinTimeout, fmt.Errorf("no other joined within %s", r.o.JoinTimeout))
		err := r.ctl.Join(limited, n+1)
		cancel()
		if err != nil && context.Cause(ctx) == errWorkerFailed {
			return errWorkerFailed
		}
		if err != nil {
			return err
		}
	}
	return nil
}
