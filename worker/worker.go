// Package worker answers: what does one server of a run do? It builds its events from
// the fragments of all others and serves its own fragments to them: in phases with a
// barrier, by schedule without one, or on request. The plan, and which of the three it
// is, may change between two events.
//
// It does what the controller's messages say and knows neither the controller
// nor the scenario. Once a case has begun, its loop allocates and logs nothing;
// reports and samples are sent by other goroutines. Times are those of its own
// monotonic clock, sizes are bytes, ranks are of the case.
package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"evbench/barrier"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/transport"
)

// An OpenFunc opens the data connections of a case and, for a synchronised one,
// those of its barrier. It returns once all are there. It calls moved, of any goroutine, when
// a step is done, and so does Alloc of the endpoint: who calls it is given time.
type OpenFunc func(ctx context.Context, c wire.Configure, moved func()) (Connections, error)

// Connections are those of one case. The worker closes the endpoint, and with it what
// the barrier uses.
type Connections struct {
	// Endpoint carries data and requests.
	Endpoint transport.Endpoint
	// IO is how payload moves, such as "copy". "": the transport has no choice.
	IO string
	// Signals carries the signals of the barrier. nil: the case has none.
	Signals barrier.Peer
	// Barrier waits in the barrier that the transport does by itself, and does not tell
	// for whom. nil: the transport has none.
	Barrier func(ctx context.Context) error
	// Extend opens further connections: those that the given operations will need. Only
	// Kind, Peer and Path of them are set. nil: all are open from the start.
	Extend func(ctx context.Context, ops []transport.Op) error
	// Opened tells, at any time and to any goroutine, whether what the given operations
	// need is open already. nil: it is where there is no Extend, and else nobody knows.
	Opened func(ops []transport.Op) bool
}

func (c *Connections) has(ops []transport.Op) bool {
	if c.Opened == nil {
		return c.Extend == nil
	}
	return c.Opened(ops)
}

// Options of a worker.
type Options struct {
	// Conn leads to the controller. Run closes it.
	Conn *wire.NetConn
	// Token is the shared secret of the run.
	Token string
	// Server is the position of this server.
	Server int
	// Data is where other workers reach this one, if it knows.
	Data string
	// Host is what the machine says of itself, for the manifest; its name is
	// filled in where it is missing.
	Host results.Host
	// Probe tells how another worker is reached. nil: it cannot be told.
	Probe ProbeFunc
	// Load begins to read what the machine does; what it returns says what it did since. It
	// is called when the counted part of a case begins, beside its loop, and must take no
	// longer than a millisecond or so. nil: the machine, or this worker of several in one
	// process, does not tell.
	Load func() (since func() results.Load)
	// Open opens the endpoint of each case.
	Open OpenFunc
	// Memory is how many bytes a case may take. 0 means 1 TiB.
	Memory uint64
	// Wait is how long the controller may take to welcome this worker. 0 means 30s.
	Wait time.Duration
	// KeepAlive is how long the controller may be silent after that. 0 means 30s.
	KeepAlive time.Duration
	// Log receives what ends a case early. nil means nowhere.
	Log *slog.Logger
}

// ErrRefused reports that the controller does not want this worker.
var ErrRefused = wire.ErrRefused

// ErrNotJoined reports that the connection ended, or Wait did, before the controller
// had an answer: with another connection it may have one.
var ErrNotJoined = errors.New("not welcomed by the controller")

// Run joins the controller and does its cases until it says Quit, ctx ends or
// the control connection breaks. Whatever it started has ended when it returns.
func Run(ctx context.Context, o Options) error {
	if o.Wait == 0 {
		o.Wait = 30 * time.Second
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &session{o: o}
	unhook := context.AfterFunc(ctx, func() { _ = o.Conn.Close() })
	err := s.serve(ctx)
	cancel()
	s.endCase()
	s.probes.Wait()
	if unhook() {
		_ = o.Conn.Close()
	}
	if err != nil {
		return fmt.Errorf("server %d: %w", o.Server, err)
	}
	return nil
}

type session struct {
	o   Options
	job *job // the case under way, or the last one

	probes sync.WaitGroup
}

func (s *session) serve(ctx context.Context) error {
	if err := s.join(ctx); err != nil {
		return err
	}
	// A controller whose machine died says nothing more; its pings tell.
	heard, done := make(chan struct{}, 1), make(chan struct{})
	defer close(done)
	go s.listen(heard, done)
	for {
		m, err := s.o.Conn.Receive()
		if err != nil {
			return s.broken(ctx, err)
		}
		transport.Ring(heard)
		if _, quit := m.(wire.Quit); quit {
			return nil
		}
		if err := s.handle(ctx, m); err != nil {
			return s.broken(ctx, err)
		}
	}
}

// listen hangs up once nothing has been heard of the controller for too long.
func (s *session) listen(heard, done <-chan struct{}) {
	if silent(s.o.KeepAlive, heard, done) {
		_ = s.o.Conn.Close()
	}
}

// silent waits until nothing has been heard for so long; false: it was done before. If that
// is noticed late, this process was stopped, and what it has missed is still to come.
func silent(limit time.Duration, heard, done <-chan struct{}) bool {
	silence, since := time.NewTimer(limit), time.Now()
	defer silence.Stop()
	for {
		select {
		case <-done:
			return false
		case <-heard:
		case <-silence.C:
			if time.Since(since) < limit+leastAway {
				return true
			}
		}
		since = time.Now()
		silence.Reset(limit)
	}
}

// moves is how far the case under way has come, see wire.Pong.
func (s *session) moves() uint64 {
	if s.job == nil {
		return 0
	}
	steps := s.job.steps.Load()
	if m := s.job.meter.Load(); m != nil {
		return steps + m.moves.Load() + 1
	}
	return steps
}

// broken returns why the session ends: ctx, where that closed the connection.
func (s *session) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("control connection: %w", err)
}

// join meets the controller, which may not be one, or stand still.
func (s *session) join(ctx context.Context) error {
	host := s.o.Host
	if host.Host == "" {
		host.Host, _ = os.Hostname() // a machine without a name has an empty one
	}
	late := time.AfterFunc(s.o.Wait, func() { _ = s.o.Conn.Close() })
	err := s.o.Conn.Introduce(s.o.Token, wire.Hello{Server: s.o.Server, Data: s.o.Data, Host: host, PID: os.Getpid()})
	inTime := late.Stop()
	switch {
	case err == nil && inTime, errors.Is(err, ErrRefused):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !inTime:
		return fmt.Errorf("%w: no answer for %v", ErrNotJoined, s.o.Wait.Round(time.Millisecond))
	case errors.Is(err, wire.ErrToken), errors.Is(err, wire.ErrVersion), errors.Is(err, wire.ErrFrame):
		return s.broken(ctx, err)
	}
	return fmt.Errorf("%w: %w", ErrNotJoined, s.broken(ctx, err))
}

// handle does what one message says. Messages of a case that is over here are
// out of date, not wrong.
func (s *session) handle(ctx context.Context, m wire.Message) error {
	switch m := m.(type) {
	case wire.Ping:
		return s.o.Conn.Send(wire.Pong{Moves: s.moves()})
	case wire.Probe:
		s.probe(ctx, m)
	case wire.Configure:
		s.endCase()
		s.job = startJob(ctx, s.o, m)
	case wire.Grant:
		if s.current(m.Run) {
			s.job.mailbox.grant(m.Until)
		}
	case wire.Hold:
		if s.current(m.Run) {
			return s.o.Conn.Send(wire.Held{Run: m.Run, Begun: s.job.mailbox.hold()})
		}
	case wire.Window:
		s.order(m.Run, func(o *orders) { o.windows = append(o.windows, m) })
	case wire.Assign:
		s.order(m.Run, func(o *orders) { o.events = append(o.events, m.Events...) })
	case wire.Measure:
		s.order(m.Run, func(o *orders) { o.measure, o.first = true, m.First })
	case wire.PlanUpdate:
		if s.current(m.Run) {
			return s.job.changePlan(m)
		}
	case wire.Patience:
		if s.current(m.Run) {
			s.job.allow(m.For)
		}
	case wire.Finish:
		s.order(m.Run, func(o *orders) { o.finish = true })
	case wire.Abort:
		if s.current(m.Run) {
			s.job.cancel(errAborted)
		}
	case wire.Release:
		if s.current(m.Run) {
			s.job.release()
		}
	default:
		return fmt.Errorf("%T is not for a worker: %w", m, io.ErrUnexpectedEOF)
	}
	return nil
}

func (s *session) current(run uint32) bool { return s.job != nil && s.job.c.Run == run }

func (s *session) order(run uint32, change func(*orders)) {
	if s.current(run) {
		s.job.mailbox.change(change)
	}
}

func (s *session) endCase() {
	if s.job != nil {
		s.job.cancel(errAborted)
		s.job.release()
		<-s.job.done
	}
}

// A ProbeFunc tells how another worker is reached at each address of what it
// gave as Data, and through which routers where that is asked for. It returns
// soon after ctx has ended.
type ProbeFunc func(ctx context.Context, data string, routers bool) []wire.Reach

// probe answers a Probe beside the control connection, which has pings to
// answer meanwhile.
func (s *session) probe(ctx context.Context, m wire.Probe) {
	s.probes.Go(func() {
		var reached []wire.Reach
		if s.o.Probe != nil {
			reached = s.o.Probe(ctx, m.Data, m.Routers)
		}
		// A broken connection ends the session by its reader.
		_ = s.o.Conn.Send(wire.Probed{Run: m.Run, Peer: m.Peer, Reached: reached})
	})
}
