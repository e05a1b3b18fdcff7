package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"evbench/controller/wire"
	"evbench/transport"
)

const single = transport.Single

// A loop is what the modes have in common. One goroutine runs it; meter, mailbox,
// counting and look are all that others touch.
type loop struct {
	c       wire.Configure
	n       int
	conns   Connections
	ep      transport.Endpoint // of conns
	mailbox *mailbox
	report  *reporter
	conn    wire.Conn
	base    time.Time

	meter    meter
	tally    tally
	trace    *tracer
	before   reading      // of the meter when the counted part began
	counting chan reading // the same, once
	look     atomic.Bool  // the watchdog asks for a look at what is overdue

	plans     plans
	fragments *fragments
	allotted
	at wire.Position

	post     []transport.Op // to be posted, and room for what Poll returns: without phases
	finished []transport.Op
}

// Allotted is what the controller has granted and assigned.
type allotted struct {
	until   uint64 // exchanges below it may run
	done    uint64 // exchanges below it are done
	finish  bool
	windows []wire.Window // that have come and not been looked at
	queue   []uint64      // events assigned and not begun, from next on
	next    int
	spare   []uint64
}

func newLoop(c wire.Configure, conns Connections, d *mailbox, r *reporter, conn wire.Conn) *loop {
	l := &loop{
		c: c, n: len(c.Peers), conns: conns, ep: conns.Endpoint, mailbox: d, report: r, conn: conn, base: time.Now(),
		trace: newTracer(c.Trace), counting: make(chan reading, 1), plans: plans{{epoch: c.Epoch, mode: c.Mode, row: c.Row}},
	}
	l.fragments = newFragments(c, l.ep.Alloc, max(inFlight(c), 1), &l.meter, &l.tally)
	d.attach(r.hurry, l.conns.has)
	return l
}

// inFlight is how many events may be under construction at once without
// synchronisation.
func inFlight(c wire.Configure) int {
	if c.Mode == wire.Sync {
		return c.AsyncCredits
	}
	return c.Credits
}

func (l *loop) now() time.Duration { return time.Since(l.base) }

// take takes up what the controller has said since the last call. It allocates
// only for a plan update.
func (l *loop) take(ctx context.Context) error {
	o, news := l.mailbox.take(l.spare)
	if !news {
		return nil
	}
	l.spare, l.until = o.events, o.until
	l.finish = l.finish || o.finish
	if l.next == len(l.queue) {
		l.queue, l.next = l.queue[:0], 0
	}
	l.queue = append(l.queue, o.events...)
	if o.measure {
		l.count(o.first)
	}
	for i := range o.updates {
		if err := l.changePlan(ctx, &o.updates[i]); err != nil {
			return err
		}
	}
	l.windows = append(l.windows, o.windows...)
	return nil
}

// count starts the counted part, of events from first on.
func (l *loop) count(first uint64) {
	now := l.now()
	l.tally.start(now, first)
	l.fragments.sources.start(now)
	l.meter.retransmits.Store(l.ep.Retransmits())
	l.before = l.meter.read(now)
	l.counting <- l.before
}

// changePlan takes up a new plan. Where the controller does not know yet that this worker has
// it, what it needs is opened first: here, where the loop has nothing else to do.
func (l *loop) changePlan(ctx context.Context, u *update) error {
	var err error
	if l.plans, err = l.plans.update(&u.PlanUpdate, l.c); err != nil {
		return err
	}
	l.report.hurry() // the controller waits for the last exchange on the old plan
	if u.told {
		return nil
	}
	if l.conns.Extend != nil {
		if err := l.conns.Extend(ctx, opsOf(u.Row, l.c.Rank, l.n)); err != nil {
			return fmt.Errorf("plan update: %w", err)
		}
	}
	return l.conn.Send(wire.Updated{Run: l.c.Run, Epoch: u.Epoch})
}

// opsOf returns the sends and receives of a row; without one, tables choose the path to
// each other server.
func opsOf(row []wire.Step, rank, n int) []transport.Op {
	var ops []transport.Op
	for peer := range n {
		if len(row) == 0 && peer != rank {
			ops = append(ops, transport.Op{Kind: transport.Send, Peer: peer, Path: single},
				transport.Op{Kind: transport.Recv, Peer: peer, Path: single})
		}
	}
	for _, s := range row {
		if s.To != wire.Idle {
			ops = append(ops, transport.Op{Kind: transport.Send, Peer: s.To, Path: s.ToSpine})
		}
		if s.From != wire.Idle {
			ops = append(ops, transport.Op{Kind: transport.Recv, Peer: s.From, Path: s.FromSpine})
		}
	}
	return ops
}

// A turner does without phases, in turns.
type turner interface {
	hear(ctx context.Context) error // takes up what is new
	step() error                    // adds what can be started to post
	did(op *transport.Op)           // handles a finished operation
	overdue() error
}

func (l *loop) drive(ctx context.Context, t turner) error {
	l.mailbox.onChange(l.ep.Wake)
	defer l.mailbox.onChange(nil)
	for !l.finish {
		if err := l.turn(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) turn(ctx context.Context, t turner) error {
	if err := t.hear(ctx); err != nil || l.finish {
		return err
	}
	if err := t.step(); err != nil {
		return err
	}
	if err := l.flush(); err != nil {
		return err
	}
	n, err := l.ep.Poll(ctx, l.finished)
	if err != nil {
		return err
	}
	for i := range l.finished[:n] {
		t.did(&l.finished[i])
	}
	l.upkeep()
	return t.overdue()
}

func (l *loop) flush() error {
	if len(l.post) == 0 {
		return nil
	}
	err := l.ep.Post(l.post)
	l.post = l.post[:0]
	return err
}

// upkeep reads the transport's counters when the sampler has asked for it.
func (l *loop) upkeep() {
	if l.meter.refresh.Load() {
		l.meter.refresh.Store(false)
		l.meter.retransmits.Store(l.ep.Retransmits())
	}
}

func (l *loop) advance() {
	l.done++
	l.tally.t.Exchanges++
	newest := l.plans[len(l.plans)-1].from // whose first exchange, and the one before, are waited for
	l.report.progress(l.done, l.done == l.until || l.done == newest || l.done == newest+1)
}

// id is the event that this worker builds in an exchange.
func (l *loop) id(exchange uint64) uint64 { return exchange*uint64(l.n) + uint64(l.c.Rank) }

func (l *loop) totals() wire.Totals {
	t := l.tally.totals()
	l.meter.read(l.now()).addTo(&t, l.before)
	l.fragments.damage(&t)
	t.Sources = l.fragments.sources.report()
	t.Trace = l.trace.spans(l.tally.began)
	if l.c.Mode == wire.Unsync {
		t.Exchanges = 0
	}
	return t
}

// modeSwitch runs a case that may change the way of building events, or the plan of a way
// without schedule: one loop takes over where another has ended. All share the events
// under construction, the account and the connections.
type modeSwitch struct {
	*loop
	sync   *synchronised // nil: the case is never synchronised
	unsync *unsynchronised
	under  mode // way
}

func newModeSwitch(l *loop) (*modeSwitch, error) {
	g := &modeSwitch{loop: l, unsync: newUnsynchronised(l)}
	if g.under = g.unsync; l.c.Mode == wire.Unsync {
		return g, nil
	}
	var err error
	if g.sync, err = newSynchronised(l); err != nil {
		return nil, err
	}
	g.under = g.sync
	return g, nil
}

func (g *modeSwitch) run(ctx context.Context) error {
	for !g.finish {
		g.under = g.unsync
		if g.plans.at(g.done).mode == wire.Sync {
			g.under = g.sync
		}
		if err := g.under.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (g *modeSwitch) position(err error) wire.Position { return g.under.position(err) }
