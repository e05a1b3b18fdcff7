// Package worker does the work of one server of a run. It builds its events from the fragments of
// all others and serves its own fragments to them: in phases with a barrier, by schedule without
// one, or on request. The plan and the mode may change between two events.
//
// It follows the controller's messages and knows neither the controller nor the scenario. Once a
// case has begun, its loop allocates and logs nothing; other goroutines send reports and samples.
// Times are those of its own monotonic clock, sizes are bytes, ranks are of the case.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"evbench/barrier"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/transport"
)

// An OpenFunc opens the data connections of a case and, for a synchronised one, those of its
// barrier. It returns once all are open. It calls moved, from any goroutine, after each step, as
// does Alloc of the endpoint: each call extends the time allowed.
type OpenFunc func(ctx context.Context, c wire.Configure, moved func()) (Connections, error)

// Connections are those of one case. Closing the endpoint also closes the connections of the
// barrier.
type Connections struct {
	// Endpoint carries data and requests.
	Endpoint transport.Endpoint
	// IO is how payload moves, such as "copy". "": the transport has one way only.
	IO string
	// Signals carries the signals of the barrier. nil: the case has none.
	Signals barrier.Peer
	// Barrier waits in the transport's own barrier, which cannot name the missing rank. nil: the
	// transport has none.
	Barrier func(ctx context.Context) error
	// Extend opens the further connections that the given operations need. Only their Kind, Peer
	// and Path are set. nil: all are open from the start.
	Extend func(ctx context.Context, ops []transport.Op) error
	// Opened reports, at any time and to any goroutine, whether the connections of the given
	// operations are open. nil: all are open if Extend is nil, else it is unknown.
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
	// Data is the address at which other workers reach this one, if it is known.
	Data string
	// Host describes the machine, for the manifest. A missing name is filled in.
	Host results.Host
	// Probe measures how another worker is reached. nil: not possible.
	Probe ProbeFunc
	// Trace asks for the routers on the ways of connections. nil: not possible.
	Trace TraceFunc
	// Load starts recording the load of the machine; the returned function gives the load since
	// then. It is called when the counted part of a case begins, in another goroutine than the
	// loop, and must return within about a millisecond. nil: the machine has no record, or another
	// worker of this process reports it.
	Load func() (since func() results.Load)
	// Open opens the endpoint of each case.
	Open OpenFunc
	// Stays has the end of ctx, once the controller has welcomed this worker, end the case under way
	// and not the worker: the controller gets the reason, and ends the worker when it has written
	// results.
	Stays bool
	// Memory is how many bytes a case may take. 0 means 1 TiB.
	Memory uint64
	// Wait bounds the time until the controller welcomes this worker. 0 means 30s.
	Wait time.Duration
	// KeepAlive bounds the silence of the controller after that. 0 means 30s.
	KeepAlive time.Duration
	// Log receives the reasons for an early end of a case. nil means nowhere.
	Log *slog.Logger
}

// ErrRefused reports that the controller refused this worker.
var ErrRefused = wire.ErrRefused

// ErrNotJoined reports that the connection or Wait ended before the controller answered. Another
// connection may succeed.
var ErrNotJoined = errors.New("not welcomed by the controller")

// ErrLost reports that the control connection ended during a case that goes on without lost servers. This one may join
// again: by another connection.
var ErrLost = errors.New("lost, while the case goes on")

// Run joins the controller and runs its cases until Quit, the end of ctx (see Stays) or the loss of
// the control connection. All goroutines that it started have ended when it returns.
func Run(ctx context.Context, o Options) error {
	o.Wait = cmp.Or(o.Wait, 30*time.Second)
	o.KeepAlive = cmp.Or(o.KeepAlive, 30*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(ctx)
	s := &session{o: o}
	unhook := context.AfterFunc(ctx, func() {
		if !o.Stays || !s.joined.Load() {
			_ = o.Conn.Close()
		}
	})
	defer unhook()
	err := s.serve(ctx)
	cancel()
	s.endCase()
	s.probes.Wait()
	_ = o.Conn.Close()
	if err != nil {
		return fmt.Errorf("server %d: %w", o.Server, err)
	}
	return nil
}

type session struct {
	o   Options
	job *job // the case under way, or the last one

	joined atomic.Bool
	probes sync.WaitGroup
}

func (s *session) serve(ctx context.Context) error {
	if err := s.join(ctx); err != nil {
		return err
	}
	s.joined.Store(true)
	// A controller on a dead machine sends nothing more; missing pings show it.
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

// listen closes the connection after too long a silence of the controller.
func (s *session) listen(heard, done <-chan struct{}) {
	if silent(s.o.KeepAlive, heard, done) {
		_ = s.o.Conn.Close()
	}
}

// silent waits until there was no message for limit; false: done closed first. If the end of limit
// is noticed late, this process was stopped, and missed messages are still to come.
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

// moves is the progress of the case under way, see wire.Pong.
func (s *session) moves() uint64 {
	if s.job == nil {
		return 0
	}
	steps := s.job.steps.Load()
	if l := s.job.running.Load(); l != nil {
		return steps + l.moves() + 1
	}
	return steps
}

// broken returns why the session ends: the cause of ctx, if that closed the connection.
func (s *session) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.job != nil && s.job.c.Load.GoesOn {
		err = fmt.Errorf("%w: %w", ErrLost, err)
	}
	return fmt.Errorf("control connection: %w", err)
}

// join does the handshake with the controller, which may be a stranger or stand still.
func (s *session) join(ctx context.Context) error {
	host := s.o.Host
	if host.Host == "" {
		host.Host, _ = os.Hostname() // empty for a machine without a name
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

// clock is the clock of this worker in ns since 1970. Within a case it goes on evenly, whatever the machine's is set to.
func (s *session) clock() int64 {
	if s.job != nil {
		if l := s.job.running.Load(); l != nil {
			return l.base.UnixNano() + int64(l.now())
		}
	}
	return time.Now().UnixNano()
}

// handle processes one message. Messages of a case that has ended here are out of date, not wrong.
func (s *session) handle(ctx context.Context, m wire.Message) error {
	switch m := m.(type) {
	case wire.Ping:
		pong := wire.Pong{Moves: s.moves(), Sent: m.Sent}
		if m.Sent != 0 {
			pong.Clock = s.clock()
		}
		_ = s.o.Conn.Send(pong) // a controller that has gone may have left a Quit; else Receive fails
	case wire.Probe:
		s.probe(ctx, m)
	case wire.Trace:
		s.trace(ctx, m)
	case wire.Configure:
		s.endCase()
		s.job = startJob(ctx, s.o, m)
	case wire.Grant:
		if s.current(m.Run) {
			s.job.mailbox.grant(m.Until, m.Gaps, s.job.granted(m)...)
		}
	case wire.Hold:
		if s.current(m.Run) {
			return s.job.hold(m)
		}
	case wire.Window:
		s.order(m.Run, func(o *orders) { o.windows = append(o.windows, m) })
	case wire.Assign:
		s.order(m.Run, func(o *orders) { o.events, o.due = append(o.events, m.Events...), append(o.due, assigned(m)...) })
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

// A ProbeFunc measures how another worker is reached at each address in its Data, and through which
// routers if asked. It returns soon after ctx has ended.
type ProbeFunc func(ctx context.Context, data string, routers bool) []wire.Reach

// probe answers a Probe in a goroutine of its own, so that the session can answer pings.
func (s *session) probe(ctx context.Context, m wire.Probe) {
	s.probes.Go(func() {
		var reached []wire.Reach
		if s.o.Probe != nil {
			reached = s.o.Probe(ctx, m.Data, m.Routers)
		}
		// The session's reader sees a broken connection and ends the session.
		_ = s.o.Conn.Send(wire.Probed{Run: m.Run, Peer: m.Peer, Reached: reached})
	})
}

// A TraceFunc follows trails; see wire.Trace. It returns soon after ctx has ended.
type TraceFunc func(ctx context.Context, trails []wire.Trail, gap time.Duration) []wire.Seen

func (s *session) trace(ctx context.Context, m wire.Trace) {
	s.probes.Go(func() {
		var seen []wire.Seen
		if s.o.Trace != nil {
			seen = s.o.Trace(ctx, m.Trails, m.Gap)
		}
		_ = s.o.Conn.Send(wire.Traced{Run: m.Run, Seen: seen}) // as of probe
	})
}
