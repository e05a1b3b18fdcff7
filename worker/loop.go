package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/transport"
)

const single = transport.Single

// A loop is the common part of the modes. One goroutine runs it; other goroutines touch only meter,
// mailbox, counting, look and late.
type loop struct {
	c       wire.Configure
	n       int
	roles   builder.Roles
	reads   bool // this worker sends fragments
	builds  bool // this worker receives them and builds events
	conns   Connections
	ep      transport.Endpoint // of conns
	mailbox *mailbox
	report  *reporter
	conn    wire.Conn
	base    time.Time

	meter    meter
	tally    tally
	trace    *tracer
	ages     *ages
	before   reading              // of the meter when the counted part began
	counting chan reading         // before, sent once
	look     atomic.Bool          // the watchdog asks the loop to check for overdue work
	late     atomic.Bool          // it asks for events to be closed without what is missing
	flows    []transport.Movement // by peer, at the last check

	plans     plans
	fragments *fragments
	allotted
	at wire.Position

	post     []transport.Op // operations to post, and room for the results of Poll: for modes without phases
	finished []transport.Op
}

// Allotted is what the controller has granted and assigned.
type allotted struct {
	until   uint64 // exchanges below it may run
	done    uint64 // exchanges below it are done
	finish  bool
	windows []wire.Window // received and not handled
	queue   []uint64      // events assigned; those from next on have not begun
	next    int
	spare   []uint64
}

func newLoop(c wire.Configure, conns Connections, d *mailbox, r *reporter, conn wire.Conn) *loop {
	l := &loop{
		c: c, n: len(c.Peers), conns: conns, ep: conns.Endpoint, mailbox: d, report: r, conn: conn, base: time.Now(), flows: make([]transport.Movement, len(c.Peers)),
		trace: newTracer(c.Trace), counting: make(chan reading, 1), plans: plans{{epoch: c.Epoch, mode: c.Mode, row: c.Row}},
	}
	l.roles = c.Roles()
	l.reads, l.builds = l.roles.Reads(c.Rank), l.roles.Builds(c.Rank)
	l.ages = newAges(c, l.base, &l.meter)
	l.fragments = newFragments(c, l.ep.Alloc, max(inFlight(c), 1), &l.meter, &l.tally)
	l.fragments.ages = l.ages
	d.attach(r.hurry, l.conns.has)
	return l
}

// inFlight is how many events may be under construction at once without synchronisation.
func inFlight(c wire.Configure) int {
	if c.Mode == modes.Sync {
		return c.AsyncCredits
	}
	return c.Credits
}

func (l *loop) now() time.Duration { return time.Since(l.base) }

// take applies the controller's orders since the last call. It allocates only for a plan update.
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
	if l.ages != nil {
		l.ages.add(o.due)
		l.fragments.sizes.Gaps = append(l.fragments.sizes.Gaps, o.gaps...)
	}
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

// count starts the counted part, with event first.
func (l *loop) count(first uint64) {
	now := l.now()
	l.tally.start(now, first)
	l.meter.retransmits.Store(l.ep.Retransmits())
	l.fragments.sources.start(now, l.ep.Moved)
	l.before = l.meter.read(now)
	l.counting <- l.before
}

// changePlan adopts a new plan. If the controller has no confirmation from this worker yet,
// changePlan first opens what the plan needs, while the loop is idle.
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
		if err := l.conns.Extend(ctx, opsOf(u.Row, l.c.Rank, l.roles)); err != nil {
			return fmt.Errorf("plan update: %w", err)
		}
	}
	return l.conn.Send(wire.Updated{Run: l.c.Run, Epoch: u.Epoch})
}

// opsOf returns the sends and receives of a row. Without a row, routing tables choose the path to
// each other server that this one exchanges fragments with.
func opsOf(row []wire.Step, rank int, roles builder.Roles) []transport.Op {
	var ops []transport.Op
	add := func(is bool, kind transport.Kind, peer, path int) {
		if is {
			ops = append(ops, transport.Op{Kind: kind, Peer: peer, Path: path})
		}
	}
	for peer := range roles.Servers {
		if len(row) == 0 && peer != rank {
			add(roles.Reads(rank) && roles.Builds(peer), transport.Send, peer, single)
			add(roles.Reads(peer) && roles.Builds(rank), transport.Recv, peer, single)
		}
	}
	for _, s := range row {
		add(s.To != wire.Idle, transport.Send, s.To, s.ToSpine)
		add(s.From != wire.Idle, transport.Recv, s.From, s.FromSpine)
	}
	return ops
}

// A turner implements a mode without phases, one turn at a time.
type turner interface {
	hear(ctx context.Context) error // applies new orders
	step() error                    // appends operations that can start to post
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

// moves grows with each step and with bytes of data; any goroutine may ask.
func (l *loop) moves() uint64 {
	sum := l.meter.moves.Load()
	for peer := range l.n {
		m := l.ep.Moved(peer)
		sum += m.Out + m.In
	}
	return sum
}

// flowing tells moved which peers' bytes have moved since the last call.
func (l *loop) flowing(moved func(peer int, out, in bool)) {
	for peer := range l.flows {
		f, old := l.ep.Moved(peer), l.flows[peer]
		if f.Out != old.Out || f.In != old.In {
			moved(peer, f.Out != old.Out, f.In != old.In)
		}
		l.flows[peer] = f
	}
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
	newest := l.plans[len(l.plans)-1].from // the controller waits for its first exchange, and for the one before
	l.report.progress(l.done, l.done == l.until || l.done == newest || l.done == newest+1)
}

// id is the event that this worker builds in an exchange.
func (l *loop) id(exchange uint64) uint64 { return l.roles.Event(exchange, l.c.Rank) }

// exchangeOf is the exchange in which an event is built.
func (l *loop) exchangeOf(event uint64) uint64 { return event / uint64(l.roles.Events()) }

// gone counts a fragment that has left. For a worker that builds nothing, it ends the counted part.
func (l *loop) gone(now time.Duration, bytes int) {
	l.tally.t.SentBytes += uint64(bytes)
	if !l.builds {
		l.tally.lastReceive(now)
	}
}

func (l *loop) totals() wire.Totals {
	t := l.tally.totals()
	l.meter.read(l.now()).addTo(&t, l.before)
	l.fragments.damage(&t)
	t.Sources = l.fragments.sources.report(l.tally.began, l.ep.Moved)
	t.Trace = l.trace.spans(l.tally.began)
	l.ages.report(&t)
	if l.c.Mode == modes.Unsync {
		t.Exchanges = 0
	}
	return t
}

// modeSwitch runs a case that may change its mode, or its plan in a mode without schedule: one loop
// takes over when another has ended. All loops share the events under construction, the counters
// and the connections.
type modeSwitch struct {
	*loop
	sync   *synchronised // nil: the case is never synchronised
	unsync *unsynchronised
	under  mode // way
}

func newModeSwitch(l *loop) (*modeSwitch, error) {
	g := &modeSwitch{loop: l, unsync: newUnsynchronised(l)}
	if g.under = g.unsync; l.c.Mode == modes.Unsync {
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
		if g.plans.at(g.done).mode == modes.Sync {
			g.under = g.sync
		}
		if err := g.under.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (g *modeSwitch) position(err error) wire.Position { return g.under.position(err) }
