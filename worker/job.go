package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/transport"
)

var (
	errAborted = errors.New("aborted")
	errStuck   = errors.New("stuck")
)

type job struct {
	o       Options
	c       wire.Configure
	mailbox *mailbox
	loop    *loop
	allowed atomic.Pointer[time.Time] // no progress is expected before this time; nil: no limit was set
	load    *results.Load             // of the machine in the counted part; nil: not recorded
	next    *wire.Hold                // with the plan of the next PlanUpdate; nil: that has it

	steps   atomic.Uint64        // of opening connections and allocating memory
	running atomic.Pointer[loop] // loop, for other goroutines; nil until it exists

	cancel   context.CancelCauseFunc // ends the loop
	released chan struct{}           // closed when the connections are no longer needed
	once     sync.Once
	done     chan struct{} // closed when all goroutines of the job have ended
}

func startJob(ctx context.Context, o Options, c wire.Configure) *job {
	ctx, cancel := context.WithCancelCause(ctx)
	j := &job{o: o, c: c, mailbox: newMailbox(), cancel: cancel, released: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(j.done)
		defer cancel(nil)
		j.run(ctx)
	}()
	return j
}

func (j *job) release() { j.once.Do(func() { close(j.released) }) }

// run does the case from opening its connections to closing them. It closes them only after
// release: a peer that still runs would take an early close for a failure.
func (j *job) run(ctx context.Context) {
	if err := check(j.c, j.o.Memory); err != nil {
		j.conclude(ctx, fmt.Errorf("configuration: %w", err))
		return
	}
	conns, err := j.open(ctx)
	if err != nil {
		j.conclude(ctx, err)
		return
	}
	j.conclude(ctx, j.play(ctx, conns))
	<-j.released
	if err := conns.Endpoint.Close(); err != nil && !errors.Is(err, transport.ErrClosed) {
		j.o.Log.Warn("close the endpoint", "case", j.c.Name, "server", j.o.Server, "error", err)
	}
}

// open opens the connections. It fails if no step completes for too long.
func (j *job) open(ctx context.Context) (Connections, error) {
	limit := wire.OpenTime(j.c.Timeout, len(j.c.Peers), len(j.c.Standby))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	moved := make(chan struct{}, 1)
	go func() {
		if silent(limit, moved, ctx.Done()) {
			cancel(fmt.Errorf("not all connections are open, and none has opened for %v", limit))
		}
	}()
	conns, err := j.o.Open(ctx, j.c, func() {
		j.steps.Add(1)
		transport.Ring(moved)
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return conns, err
}

func (j *job) play(ctx context.Context, conns Connections) error {
	report := newReporter(j.o.Conn, j.c)
	mode, err := j.mode(conns, report)
	if err != nil {
		return err
	}
	if err := j.o.Conn.Send(wire.Ready{Run: j.c.Run, IO: conns.IO}); err != nil {
		return err
	}
	beside, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { report.serve(beside) })
	wg.Go(func() { j.sampler(beside) })
	wg.Go(func() { j.watch(beside) })
	err = mode.run(ctx)
	j.loop.at = mode.position(err)
	j.loop.meter.retransmits.Store(conns.Endpoint.Retransmits())
	stop()
	wg.Wait()
	return err
}

// A mode is the loop for one way of building events. position is called after run has returned.
type mode interface {
	run(ctx context.Context) error
	position(err error) wire.Position
}

// hold takes back grants. It keeps the plan that comes with the order if all that the plan needs is open.
func (j *job) hold(m wire.Hold) error {
	j.next = nil
	if len(m.Row) > 0 && j.usable(m.Mode, m.Row) {
		j.next = &m
	}
	return j.o.Conn.Send(wire.Held{Run: m.Run, Begun: j.mailbox.hold(), Has: j.next != nil})
}

func (j *job) usable(mode modes.Mode, row wire.Steps) bool {
	return checkUpdate(wire.PlanUpdate{Mode: mode, Row: row}, j.c) == nil && j.mailbox.ready(opsOf(row, j.c.Rank, j.c.Roles()))
}

// changePlan passes a new plan on to the loop. If all that the plan needs is open, the worker
// confirms at once, even within an exchange: the loop adopts the plan before its next exchange.
func (j *job) changePlan(m wire.PlanUpdate) error {
	had := j.next != nil && j.next.Epoch == m.Epoch && len(m.Row) == 0
	if had {
		m.Row = j.next.Row
	}
	told := had || j.usable(m.Mode, m.Row)
	j.mailbox.change(func(o *orders) { o.updates = append(o.updates, update{m, told}) })
	if !told || had {
		return nil
	}
	return j.o.Conn.Send(wire.Updated{Run: m.Run, Epoch: m.Epoch})
}

func (j *job) mode(conns Connections, r *reporter) (mode, error) {
	j.loop = newLoop(j.c, conns, j.mailbox, r, j.o.Conn)
	j.running.Store(j.loop)
	switch {
	case j.c.Mode == modes.FreeRunning:
		return newFreeRunning(j.loop), nil
	case j.c.Mode == modes.Ordered:
		return newOrdered(j.loop), nil
	case j.c.Mode == modes.Sync && j.c.AsyncCredits == 0:
		return newSynchronised(j.loop)
	}
	return newModeSwitch(j.loop)
}

// watch ends a case that has made no progress for the time-out. It wakes loops that wait for
// several things at once, so that they check for themselves.
func (j *job) watch(ctx context.Context) {
	l := j.loop
	w := newWatch(l.now(), j.c.Timeout)
	after := j.c.Load.After
	if after > 0 { // an event is closed at most an eighth of that too late
		w.every = min(w.every, max(after/8, time.Millisecond))
	}
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := l.now()
		if until := j.allowed.Load(); until != nil {
			w.allowed = until.Sub(l.base)
		}
		if w.still(now, l.moves(), l.meter.busy.Load()) {
			j.cancel(errStuck)
			return
		}
		if w.judges(now) && (j.c.Mode != modes.Sync || j.c.AsyncCredits > 0) {
			l.look.Store(true)
			l.ep.Wake()
		}
		if after > 0 && j.c.Mode == modes.Unsync {
			l.late.Store(true)
			l.ep.Wake()
		}
	}
}

// allow permits a standstill for a while.
func (j *job) allow(d time.Duration) {
	until := time.Now().Add(d)
	j.allowed.Store(&until)
}

func (j *job) conclude(ctx context.Context, err error) {
	var at wire.Position
	var totals wire.Totals
	if j.loop != nil {
		at, totals = j.loop.at, j.loop.totals()
		totals.Load = j.load
	} else {
		at = wire.Position{Phase: -1, Stage: wire.StageConnect, Peers: peersOf(err)}
	}
	cause := context.Cause(ctx)
	var m wire.Message
	switch stuck := errors.Is(err, errStuck) || errors.Is(cause, errStuck); {
	case err == nil:
		m = wire.Finished{Run: j.c.Run, Totals: totals}
	case stuck:
		text := j.stuckText(at)
		if late, ok := errors.AsType[*lateError](err); ok {
			text = late.Error()
		}
		if j.c.Load.GoesOn { // the event that it waited for is built in the next part of the case, or counts as incomplete
			totals.Lost -= min(totals.Lost, 1)
		}
		m = wire.Error{Run: j.c.Run, At: at, Stuck: true, Text: text, Totals: totals}
	case errors.Is(cause, errAborted):
		m = wire.Finished{Run: j.c.Run, Aborted: true, At: at, Totals: totals}
	case cause != nil && !j.o.Stays:
		return // this worker was told to end, and closes the connection
	default:
		if cause != nil { // told to end: it waits for nobody
			err, at.Peers, at.Awaits = cause, nil, nil
		}
		j.o.Log.Warn("case failed", "case", j.c.Name, "server", j.o.Server, "error", err)
		m = wire.Error{Run: j.c.Run, At: at, Text: err.Error(), Totals: totals}
	}
	_ = j.o.Conn.Send(m) // a broken connection ends the session by its reader
}

func (j *job) stuckText(at wire.Position) string {
	if len(at.Peers) == 0 {
		return fmt.Sprintf("nothing moved for %v", j.c.Timeout)
	}
	var names []string
	for _, rank := range at.Peers[:min(len(at.Peers), 8)] {
		names = append(names, fmt.Sprintf("server %d", j.c.Peers[rank].Server))
	}
	if more := len(at.Peers) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("nothing for %v from %s", j.c.Timeout, strings.Join(names, ", "))
}

func peersOf(err error) []int {
	if pe, ok := errors.AsType[*transport.PeerError](err); ok {
		return []int{pe.Peer}
	}
	return nil
}
