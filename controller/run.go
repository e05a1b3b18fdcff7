package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"evbench/builder/load"
	"evbench/controller/wire"
)

// A stage carries the messages of the case under way.
type stage struct {
	ranks   map[*member]int
	members []*member // by rank
	inbox   chan arrival
	updates chan *update
	orders  chan func(*machine, time.Duration) // see tell
	windows chan window
	update  *update       // under way; only play uses it
	planned chan struct{} // closed when the last requested window is planned; nil: none was requested
	over    chan struct{} // closed when inbox and updates have no reader any more
	gone    []int         // positions of the servers of the case that this part of it goes on without
	back    chan struct{} // has one entry once one of these has joined
}

// came notes that a server has joined; the controller's mutex is held.
func (s *stage) came(server int) {
	if slices.Contains(s.gone, server) {
		select {
		case s.back <- struct{}{}:
		default:
		}
	}
}

// A window is a planned window.
type window struct {
	id    int
	parts []wire.Window
	err   error
}

type arrival struct {
	rank int
	msg  any
}

func (s *stage) put(rank int, msg any) {
	select {
	case s.inbox <- arrival{rank, msg}:
	case <-s.over:
	}
}

var errBusy = errors.New("a case is under way")

// RunCase takes the workers through one case. With any error, the Outcome holds the results so far.
// The error is a *CaseError if servers are to blame, and the cause of ctx if that has ended. Then
// RunCase returns within two seconds, once OnSample has had its samples.
func (c *Controller) RunCase(ctx context.Context, cs Case) (Outcome, error) {
	cs = cs.withDefaults()
	if cs.Peers == nil {
		peers, err := c.gathered(cs.Load.GoesOn)
		if err != nil {
			return Outcome{}, fmt.Errorf("case %q: %w", cs.Name, err)
		}
		cs.Peers = peers
	}
	if err := cs.validate(); err != nil {
		return Outcome{}, fmt.Errorf("case %q: %w", cs.Name, err)
	}
	if cs.Load.GoesOn {
		return c.runParts(ctx, cs)
	}
	_, o, err := c.runPart(ctx, cs, nil, nil)
	return o, err
}

// runPart runs a case, or the part of it that follows others, without the servers gone. Without a machine it has not
// begun.
func (c *Controller) runPart(ctx context.Context, cs Case, before *earlier, gone []int) (*machine, Outcome, error) {
	s, run, err := c.open(cs, gone)
	if err != nil {
		return nil, Outcome{}, fmt.Errorf("case %q: %w", cs.Name, err)
	}
	defer c.end(s)
	m := newMachine(cs, run)
	m.before = before
	c.play(ctx, m, s)
	switch {
	case m.err == nil:
		return m, m.outcome(), nil
	case errors.Is(m.err, errFailed):
		return m, m.outcome(), m.blame(m.during)
	}
	return m, m.outcome(), m.err
}

// play feeds the machine with events, and executes its decisions, until the case is over.
func (c *Controller) play(ctx context.Context, m *machine, s *stage) {
	began := time.Now()
	now := func() time.Duration { return time.Since(began) }
	every := min(m.c.Timeout/32, 50*time.Millisecond)
	tick := time.NewTicker(every)
	defer tick.Stop()
	w := newSampleWriter(m.c.OnSample)
	defer w.end()
	cancelled := ctx.Done()
	looked := time.Duration(0)
	wake := func() time.Duration {
		at := now()
		if gap := at - looked; gap > 2*every {
			m.away(at, gap)
		}
		looked = at
		return at
	}
	m.zero = began
	clock := time.NewTimer(time.Hour)
	defer clock.Stop()
	m.start(now())
	for {
		c.act(m, s, w, began)
		if m.state == over {
			return
		}
		if wait, ok := m.wakes(now()); ok {
			clock.Reset(wait)
		}
		select {
		case <-clock.C:
			m.advance(wake())
		case a := <-s.inbox:
			m.hear(wake(), a)
		case <-s.back:
			m.part(wake())
		case w := <-s.windows:
			m.planned(wake(), w.id, w.parts, w.err)
		case do := <-s.orders:
			do(m, wake())
		case u := <-s.updates:
			if err := m.changePlan(wake(), u.change); err != nil {
				u.ended <- updateEnd{err: err}
			} else {
				s.update = u
			}
		case <-tick.C:
			at := wake()
			for range len(s.inbox) { // before the machine judges silence
				a := <-s.inbox
				m.hear(now(), a) // not at: the message may be newer
			}
			m.tick(at)
		case <-cancelled:
			cancelled = nil
			m.cancel(wake(), context.Cause(ctx))
		}
	}
}

func (m *machine) hear(now time.Duration, a arrival) {
	if l, ok := a.msg.(lost); ok {
		m.gone(now, a.rank, l.err)
	} else {
		m.receive(now, a.rank, a.msg)
	}
}

func (c *Controller) act(m *machine, s *stage, w *sampleWriter, began time.Time) {
	for acts := m.take(); len(acts) > 0; acts = m.take() {
		for _, a := range acts {
			switch a := a.(type) {
			case send:
				s.members[a.rank].post(a.m)
			case record:
				if err := w.put(a.s); err != nil {
					m.cancel(time.Since(began), err)
				}
			case pause:
				if m.c.OnMeasure != nil {
					m.c.OnMeasure()
				}
				m.measured(time.Since(began))
			case planning:
				s.plan(a)
			case placed:
				s.update.placed <- a.from
			case ended:
				s.update.ended <- updateEnd{a.sw.Add(began.Sub(s.update.called)), a.err}
				s.update = nil
			}
		}
	}
}

// plan plans a window in another goroutine, after the windows requested before.
func (s *stage) plan(p planning) {
	before, done := s.planned, make(chan struct{})
	s.planned = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		if s, ok := p.windows.(interface{ Skip([]load.Gap) }); ok && len(p.gaps) > 0 {
			s.Skip(p.gaps)
		}
		parts, err := p.windows.Next(p.from, p.count, p.quiet)
		select {
		case s.windows <- window{p.id, parts, err}:
		case <-s.over:
		}
	}()
}

func (c *Controller) open(cs Case, gone []int) (*stage, uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != nil {
		return nil, 0, errBusy
	}
	s, missing := c.among(cs.Peers)
	if missing != nil {
		return nil, 0, notConnected(missing)
	}
	c.stage, s.gone = s, gone
	for _, server := range gone {
		if c.members[server] != nil { // since the caller looked
			s.came(server)
		}
	}
	c.run++
	return s, c.run, nil
}

// among is a stage of some servers, of which some may be missing; c.mu is held.
func (c *Controller) among(peers []wire.Peer) (s *stage, missing []int) {
	s = &stage{
		ranks: make(map[*member]int), members: make([]*member, len(peers)),
		inbox: make(chan arrival, 4*len(peers)), updates: make(chan *update), orders: make(chan func(*machine, time.Duration)), windows: make(chan window), over: make(chan struct{}), back: make(chan struct{}, 1),
	}
	for rank, p := range peers {
		m := c.members[p.Server]
		if m == nil {
			missing = append(missing, p.Server)
			continue
		}
		s.ranks[m], s.members[rank] = rank, m
	}
	return s, missing
}

func (c *Controller) end(s *stage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(s.over)
	if s.planned != nil {
		<-s.planned
	}
	c.stage = nil
}

// peers returns all joined servers; one that has left is an error.
func (c *Controller) peers() ([]wire.Peer, error) { return c.gathered(false) }

// gathered returns all joined servers by position, at the addresses they gave. An expected server that
// has left is an error that names it, unless the case goes on without: then it has no address.
func (c *Controller) gathered(goesOn bool) ([]wire.Peer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	missing := c.missing()
	if len(missing) > 0 && !goesOn {
		return nil, notConnected(missing)
	}
	var out []wire.Peer
	for _, server := range slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(c.members)), missing...))) {
		out = append(out, c.addressed(wire.Peer{Server: server}))
	}
	return out, nil
}

// addressed is a peer at the address that its server gave when it joined; c.mu is held.
func (c *Controller) addressed(p wire.Peer) wire.Peer {
	if m := c.members[p.Server]; m != nil {
		p.Addrs = []string{m.hello.Data}
	}
	return p
}

var errAway = errors.New("not connected")

func notConnected(servers []int) error { return fmt.Errorf("%w: %s", errAway, names(servers)) }
