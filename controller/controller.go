// Package controller controls the workers of a run: it admits them, limits how far each may run,
// and checks that every event is built exactly once. It runs one case after the other: it grants
// exchanges so that all servers run the same number, assigns events in the unsynchronised mode,
// gathers samples, and names the server to blame when a case stands still. Update changes the plan
// in the middle of a case.
//
// The machine takes the decisions and is pure; the Controller around it owns the control
// connections. It never touches the network under test and does not depend on the inside of a
// worker. Servers are positions, ranks their order in a case.
package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"evbench/controller/wire"
	"evbench/internal/port"
)

// Options of a Controller.
type Options struct {
	// Token is the shared secret of the run; a worker must know it.
	Token string
	// Servers are the positions that may join. nil means any.
	Servers []int
	// Log receives irregular events on the control port. nil means nowhere.
	Log *slog.Logger
}

// A Controller is one session. New starts nothing; Listen or Serve starts it, and Close waits for
// all of its goroutines.
type Controller struct {
	opt Options
	log *slog.Logger

	mu      sync.Mutex
	members map[int]*member // by position
	joined  chan struct{}   // closed and renewed at every change
	stage   *stage          // the case under way, or nil
	asked   *stage          // of Trace, or nil: it may run beside a case
	run     uint32
	closed  bool
	// refused has why a connection was refused, by the position that it claimed, or unknown. Its
	// size is bounded: anybody may connect.
	refused map[int]error
	banned  map[int]bool // from joining, until Admit

	listener  net.Listener
	tracing   sync.Mutex    // of one Trace after the other
	quit      chan struct{} // closed by Close
	handlers  sync.WaitGroup
	strangers port.Strangers // connections without a Hello yet
}

// helloTimeout bounds the time from accept to the end of a Hello, even for a connection that sends
// a byte now and then.
const helloTimeout = 5 * time.Second

// New returns a Controller that does not listen yet.
func New(opt Options) *Controller {
	return &Controller{
		opt: opt, log: cmp.Or(opt.Log, slog.New(slog.DiscardHandler)),
		members: make(map[int]*member),
		refused: make(map[int]error),
		banned:  make(map[int]bool),
		joined:  make(chan struct{}),
		quit:    make(chan struct{}),
	}
}

// Listen opens "unix:PATH", "tcp:HOST:PORT" or "tls:HOST:PORT" and serves it until Close.
func (c *Controller) Listen(addr string) error {
	l, err := wire.Listen(addr)
	if err != nil {
		return fmt.Errorf("control port: %w", err)
	}
	c.Serve(l)
	return nil
}

// Serve accepts workers from l until Close, which closes l.
func (c *Controller) Serve(l net.Listener) {
	c.listener = l
	c.handlers.Go(func() { port.Accept(l.Accept, c.quit, c.accept, c.crowded) })
}

// Addr returns the control address that workers dial.
func (c *Controller) Addr() string {
	a := c.listener.Addr()
	return a.Network() + ":" + a.String()
}

// accept takes a connection that has not sent its Hello.
func (c *Controller) accept(conn net.Conn) {
	w, from := wire.NewConn(conn, wire.MaxHello), port.From(conn)
	c.mu.Lock()
	closed := c.closed
	if !closed {
		if g, full := c.strangers.Come(port.Stranger{Conn: w, From: from}); full {
			c.dismiss(g)
		}
	}
	c.mu.Unlock()
	if closed {
		_ = w.Close()
		return
	}
	c.handlers.Go(func() { c.handle(w, from) })
}

// crowded drops a stranger when accept fails: files may have run out, and strangers' connections
// use some.
func (c *Controller) crowded(err error) {
	c.log.Warn("control port", "error", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if g, found := c.strangers.Go(); found {
		c.dismiss(g)
	}
}

// dismiss closes the connection of a stranger to make room. Its handler sees the end of the
// connection.
func (c *Controller) dismiss(g port.Stranger) {
	c.log.Warn("control port: too many unknown connections", "from", g.From)
	_ = g.Conn.Close()
}

func (c *Controller) handle(w *wire.NetConn, from string) {
	m, server, err := c.greet(w)
	if err != nil {
		c.mu.Lock()
		here := c.strangers.Leave(w)
		if here {
			c.refuse(server, from, err)
		}
		c.mu.Unlock()
		if here && !errors.Is(err, errLater) { // else dismiss has closed it and logged that
			c.log.Warn("control port: refused", "from", from, "reason", err)
		}
		_ = w.Close()
		return
	}
	err = m.serve(c.deliver)
	c.drop(m, err)
}

// greet reads the Hello of a connection and admits the worker, or returns why not, and the position
// that it claimed.
func (c *Controller) greet(w *wire.NetConn) (m *member, server int, err error) {
	if err := w.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, unknown, err
	}
	hello, welcome, err := w.Examine(c.opt.Token)
	if errors.Is(err, wire.ErrToken) {
		return nil, hello.Server, fmt.Errorf("server %d: %w", hello.Server, err)
	}
	if err != nil {
		return nil, unknown, err
	}
	if err := w.SetDeadline(time.Time{}); err != nil {
		return nil, hello.Server, err
	}
	m, reason := c.admit(hello, welcome, w)
	if reason == errLater.Error() {
		return nil, hello.Server, errLater // without an answer: it tries again
	}
	if reason != "" {
		_ = w.Send(wire.Refused{Reason: reason})
		return nil, hello.Server, errors.New(reason)
	}
	return m, hello.Server, nil
}

// unknown is the position of a connection that has claimed none of this run.
const unknown = -1

// refuse notes why a connection was refused; c.mu is held.
func (c *Controller) refuse(server int, from string, why error) {
	if !slices.Contains(c.opt.Servers, server) {
		server = unknown
	}
	if from != "" { // else it is on this machine
		why = fmt.Errorf("%w (from %s)", why, from)
	}
	c.refused[server] = why
}

func (c *Controller) admit(h wire.Hello, welcome wire.Welcome, w *wire.NetConn) (m *member, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, "the run is over"
	case h.Server < 0:
		return nil, fmt.Sprintf("server %d: not a position", h.Server)
	case c.opt.Servers != nil && !slices.Contains(c.opt.Servers, h.Server):
		return nil, fmt.Sprintf("server %d is not part of this run", h.Server)
	case c.banned[h.Server]:
		return nil, errLater.Error()
	case c.members[h.Server] != nil:
		return nil, fmt.Sprintf("server %d has joined already", h.Server)
	}
	c.strangers.Leave(w) // now, so that no member counts as a stranger
	m = newMember(h, w)
	m.post(welcome)
	c.members[h.Server] = m
	delete(c.refused, h.Server)
	c.changed()
	if c.stage != nil {
		c.stage.came(h.Server)
	}
	return m, ""
}

// missing returns the expected servers that have not joined; c.mu is held.
func (c *Controller) missing() []int {
	return slices.DeleteFunc(slices.Clone(c.opt.Servers), func(s int) bool { return c.members[s] != nil })
}

// changed wakes the goroutines that wait for members; c.mu is held.
func (c *Controller) changed() {
	close(c.joined)
	c.joined = make(chan struct{})
}

func (c *Controller) drop(m *member, err error) {
	c.mu.Lock()
	c.leave(m)
	quit := c.closed
	c.mu.Unlock()
	c.deliver(m, lost{err})
	if !quit {
		c.log.Info("worker left", "server", m.hello.Server, "reason", err)
	}
}

// leave takes a member off the list, if it is still there; c.mu is held.
func (c *Controller) leave(m *member) {
	if c.members[m.hello.Server] == m {
		delete(c.members, m.hello.Server)
		c.changed()
	}
}

// lost replaces a message when a connection has ended.
type lost struct{ err error }

func (c *Controller) deliver(m *member, msg any) {
	_, traced := msg.(wire.Traced)
	_, gone := msg.(lost)
	c.mu.Lock()
	var to []*stage
	if c.stage != nil && !traced {
		to = append(to, c.stage)
	}
	if c.asked != nil && (traced || gone) {
		to = append(to, c.asked)
	}
	c.mu.Unlock()
	for _, s := range to {
		if rank, ok := s.ranks[m]; ok {
			s.put(rank, msg)
		}
	}
}

// Join waits until n servers have joined; 0 means all of Options.Servers. Its error names the
// missing ones.
func (c *Controller) Join(ctx context.Context, n int) error {
	if n == 0 {
		n = len(c.opt.Servers)
	}
	for {
		c.mu.Lock()
		have, wait := len(c.members), c.joined
		c.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return c.joinError(context.Cause(ctx))
		}
	}
}

func (c *Controller) joinError(why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := fmt.Sprintf("%d of %d servers joined", len(c.members), len(c.opt.Servers))
	if missing := c.missing(); len(missing) > 0 {
		text += ", missing: " + names(missing)
	}
	var refused []string
	for _, server := range slices.Sorted(maps.Keys(c.refused)) {
		refused = append(refused, c.refused[server].Error())
	}
	if len(refused) > 0 {
		return fmt.Errorf("%s: %w; refused: %s", text, why, listed(refused, "; "))
	}
	return fmt.Errorf("%s: %w", text, why)
}

// Quit tells all workers that the session is over.
func (c *Controller) Quit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		m.post(wire.Quit{})
	}
}

// closeWait is how long Close waits for another worker to disconnect.
const closeWait = 1500 * time.Millisecond

// Close sends Quit, gives the workers a moment to disconnect, ends every connection and waits for
// all goroutines that Listen started.
func (c *Controller) Close() error {
	c.mu.Lock()
	if !c.closed {
		close(c.quit)
	}
	c.closed = true
	for _, g := range c.strangers {
		_ = g.Conn.Close()
	}
	c.mu.Unlock()
	var err error
	if c.listener != nil {
		err = c.listener.Close()
	}
	c.Quit()
	c.awaitMembers()
	c.mu.Lock()
	for _, m := range c.members {
		m.hangUp(io.ErrClosedPipe)
	}
	c.mu.Unlock()
	c.handlers.Wait()
	return err
}

func (c *Controller) awaitMembers() {
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	for {
		c.mu.Lock()
		n, wait := len(c.members), c.joined
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-wait:
			timer.Reset(closeWait)
		case <-timer.C:
			return
		}
	}
}
