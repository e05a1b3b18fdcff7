package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"evbench/builder"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/transport"
)

// unsynchronised builds the events that the controller assigns (thesis 4.3.1, Fig. 4.6). It asks
// all sources in rank order without waiting for an answer, and serves the requests of others
// meanwhile. Unlike the thesis' program, it can hold requests back (Sources) and have more than one
// event in flight (Credits); the thesis has all and one.
type unsynchronised struct {
	*loop
	inbox    *inbox
	inUse    plan
	to, from []int // its spines by peer
	limit    int   // requests outstanding per event
	slots    []building
	open     int   // events begun and not closed
	unstored []int // slots still without the worker's own fragment, which is copied once its requests can have left
	asks     []int // ranks of the other readers, if this worker builds
	asked    *headers
	service  []*service
	offered  map[stream]bool // streams that have their services
	serving  int             // fragments being sent

	works []work      // complete events that this worker works on, or will, in their order: each has its slot until then
	timer *time.Timer // for the first of them
}

type building struct {
	event uint64
	used  bool
	next  int  // index of the next source to ask
	out   int  // requests still without their fragment
	short bool // a source was not asked, as it owes fragments of events that are closed
	began time.Duration
}

// A service handles one request of a peer at a time: it takes the request, sends the fragment, and
// then takes the next request. A peer has as many services as it can have events in flight, on each
// path that it has had in this case: a plan may use a former path again.
type service struct {
	stream
	event uint64 // of the current request
	sends int    // bytes of the fragment being sent, -1: none
	head  [transport.HeadSize]byte
}

type stream struct{ peer, path int }

// The kinds of operation, in the top byte of Op.ID.
const (
	opFragment = iota << idShift // a fragment arrives; the rest is its index in the inbox
	opAsked                      // a request has left; the rest is the index of its head
	opRequest                    // a request arrives; the rest is the index of its service
	opServed                     // a fragment has left; the rest is the index of its service
	idShift    = 56
	idMask     = 1<<idShift - 1
)

type headers struct {
	buf  [][transport.HeadSize]byte
	free []int
}

func newHeaders(n int) *headers {
	h := &headers{buf: make([][transport.HeadSize]byte, n)}
	for i := range n {
		h.free = append(h.free, i)
	}
	return h
}

// get returns a free head, or -1. A request leaves long before its event is complete, but the
// transport may report it later.
func (h *headers) get() int {
	if len(h.free) == 0 {
		return -1
	}
	i := h.free[len(h.free)-1]
	h.free = h.free[:len(h.free)-1]
	return i
}

func (h *headers) put(i int) { h.free = append(h.free, i) }

func newUnsynchronised(l *loop) *unsynchronised {
	credits := inFlight(l.c)
	l.post, l.finished = make([]transport.Op, 0, 4*credits*l.n), make([]transport.Op, 64)
	u := &unsynchronised{
		loop: l, inbox: newInbox(l.fragments, credits), limit: l.c.Sources, slots: make([]building, credits),
		asked: newHeaders(2 * credits * l.n), offered: make(map[stream]bool), unstored: make([]int, 0, credits),
		works: make([]work, 0, credits), timer: time.AfterFunc(time.Hour, l.ep.Wake),
	}
	u.timer.Stop()
	u.follow(&l.plans[0])
	u.limit = cmp.Or(u.limit, l.n-1)
	for peer := range l.n {
		if l.builds && l.roles.Reads(peer) && peer != l.c.Rank {
			u.asks = append(u.asks, peer)
		}
	}
	return u
}

func (u *unsynchronised) follow(p *plan) {
	u.inUse = *p
	u.to, u.from = paths(p.row, u.n)
}

// run builds events until the end of the case, or of the part that the plan covers.
func (u *unsynchronised) run(ctx context.Context) error {
	u.mailbox.onChange(u.ep.Wake)
	defer u.mailbox.onChange(nil)
	defer u.timer.Stop()
	u.follow(u.plans.at(u.done))
	u.serveAll()
	for !u.over() {
		if err := u.turn(ctx); err != nil {
			return err
		}
	}
	if !u.builds { // it counts the exchanges of this part in which other servers built
		u.done = max(u.done, u.plans[len(u.plans)-1].from)
	}
	return u.settle(ctx)
}

// over reports whether no server needs this worker any more in this part of the case: the next part
// is granted only when all events of this part are built.
func (u *unsynchronised) over() bool {
	next := u.plans[len(u.plans)-1].from
	return u.finish || next > u.inUse.from && u.until > next
}

func (u *unsynchronised) serveAll() {
	for peer, path := range u.to {
		s := stream{peer, path}
		if peer == u.c.Rank || !u.reads || !u.roles.Builds(peer) || u.offered[s] {
			continue
		}
		u.offered[s] = true
		for range len(u.slots) {
			u.service = append(u.service, &service{stream: s, sends: -1})
			u.offer(len(u.service) - 1)
		}
	}
}

// settle counts the fragments being sent. Within a case it waits until the transport confirms them. At its end it does
// not: all events are built, so all fragments have arrived, and a transport may confirm the last one only when
// something else moves.
func (u *unsynchronised) settle(ctx context.Context) error {
	if u.finish {
		for _, s := range u.service {
			u.sent(s)
		}
	}
	for u.serving > 0 {
		if err := u.poll(ctx); err != nil {
			return err
		}
	}
	return nil
}

// turn applies new orders, starts what can start and waits for an operation to finish.
func (u *unsynchronised) turn(ctx context.Context) error {
	if err := u.take(ctx); err != nil || u.over() {
		return err
	}
	u.worked()
	if err := u.begin(); err != nil {
		return err
	}
	if err := u.poll(ctx); err != nil {
		return err
	}
	u.upkeep()
	u.closeLate()
	return u.overdue()
}

// poll waits for an operation to finish. It applies orders before handling operations: a request
// may come from a server that already uses a new plan.
func (u *unsynchronised) poll(ctx context.Context) error {
	if err := u.flush(); err != nil {
		return err
	}
	if u.mailbox.expects(u.open < len(u.slots)) {
		return u.take(ctx) // orders are pending
	}
	n, err := u.ep.Poll(ctx, u.finished)
	if err == nil {
		err = u.take(ctx)
	}
	if err != nil {
		return err
	}
	for _, slot := range u.unstored { // before did completes an event
		u.fragments.store(slot, u.slots[slot].event)
	}
	u.unstored = u.unstored[:0]
	for i := range u.finished[:n] {
		u.did(&u.finished[i])
	}
	return nil
}

func (u *unsynchronised) begin() error {
	for u.next < len(u.queue) && u.open < len(u.slots) {
		id, now := u.queue[u.next], u.now()
		slot, err := u.fragments.open(now, id, u.inUse.epoch)
		if err != nil {
			return err
		}
		u.next++
		u.open++
		u.slots[slot] = building{event: id, used: true, began: now}
		u.ages.begun(id, now)
		u.unstored = append(u.unstored, slot)
		u.tally.firstSend(now)
		u.ask(slot, now)
	}
	return nil
}

// ask requests fragments of an event, in rank order, as far as the limit allows. The receive is
// posted before the request, so that the fragment has a buffer when it arrives. A request takes the
// path of its fragment. An event all of whose other fragments have come is closed without those that were not asked for.
func (u *unsynchronised) ask(slot int, now time.Duration) {
	b := &u.slots[slot]
	for ; b.out < u.limit && b.next < len(u.asks); b.next++ {
		source := u.asks[b.next]
		if u.inbox.owes[source] > 0 {
			b.short = true
			continue
		}
		i := u.asked.get()
		if i < 0 {
			return // continues when a head is free again
		}
		head := u.asked.buf[i][:]
		u.fragments.request(head, u.inUse.epoch, b.event, source)
		b.out++
		u.fragments.sources.await(source, now)
		u.post = append(u.post, u.inbox.expect(now, slot, b.event, source, u.from[source]),
			transport.Op{Kind: transport.SendRequest, Peer: source, Path: u.from[source], ID: opAsked | uint64(i), Head: head})
	}
	if b.short && b.out == 0 && b.next == len(u.asks) {
		u.giveUp(slot, now)
	}
}

func (u *unsynchronised) offer(i int) {
	s := u.service[i]
	u.post = append(u.post, transport.Op{
		Kind: transport.RecvRequest, Peer: s.peer, Path: s.path, ID: opRequest | uint64(i), Head: s.head[:],
	})
}

func (u *unsynchronised) did(op *transport.Op) {
	add(&u.meter.moves, 1)
	i := int(op.ID & idMask)
	switch op.ID &^ idMask {
	case opFragment:
		u.took(op)
	case opAsked:
		u.asked.put(i)
		if len(u.asked.free) == 1 { // an event may have waited for a free head
			u.askAll()
		}
	case opRequest:
		u.serve(i)
	case opServed:
		u.sent(u.service[i])
		u.offer(i)
	}
}

// sent counts the fragment that a service is sending, if any.
func (u *unsynchronised) sent(s *service) {
	if s.sends < 0 {
		return
	}
	u.tally.served(s.event, s.sends)
	u.gone(u.now(), 0)
	u.serving--
	s.sends = -1
}

func (u *unsynchronised) askAll() {
	now := u.now()
	for slot := range u.slots {
		if u.slots[slot].used {
			u.ask(slot, now)
		}
	}
}

func (u *unsynchronised) took(op *transport.Op) {
	now := u.now()
	if u.inbox.came(int(op.ID), op) {
		u.fragments.sources.came(op.Peer, now)
		return
	}
	g := u.inbox.took(now, op)
	if g.again {
		u.post = append(u.post, u.inbox.op(int(op.ID), op.Path))
		return
	}
	u.fragments.sources.came(g.source, now)
	u.trace.add(results.SpanRequest, g.asked, now, place{g.event, -1, g.source})
	b := &u.slots[g.slot]
	b.out--
	switch {
	case g.whole && u.c.Load.Build > 0:
		u.work(g.slot, now)
	case g.whole:
		u.close(g.slot, now, false)
	case g.spent && b.next == len(u.asks) && !b.short: // every source has answered, some with damaged fragments
		u.fragments.asm.Abandon(g.event)
		u.close(g.slot, now, true)
	default:
		u.ask(g.slot, now)
	}
}

func (u *unsynchronised) close(slot int, now time.Duration, lost bool) {
	u.slots[slot].used = false
	u.end(u.slots[slot], now, lost)
}

func (u *unsynchronised) end(b building, now time.Duration, lost bool) {
	if !lost {
		u.tally.took(now - b.began)
		u.trace.add(results.SpanEvent, b.began, now, place{b.event, -1, -1})
	}
	u.done++
	u.tally.t.Exchanges++
	u.open--
	u.report.closed(b.event, lost, len(u.queue)-u.next <= 1)
}

// serve answers a request. A damaged or misdirected request counts as corrupt and gets no answer:
// its sender reports the missing fragment.
func (u *unsynchronised) serve(i int) {
	s := u.service[i]
	h, err := builder.Parse(s.head[:])
	if err != nil || h.Kind != builder.Request || int(h.Source) != u.c.Rank || int(h.Dest) != s.peer || !u.plans.knows(h.Epoch) {
		u.fragments.asm.Spoiled()
		add(&u.meter.corrupt, 1)
		u.offer(i)
		return
	}
	if h.Event < u.inUse.from*uint64(u.roles.Events()) { // built long ago: the sender no longer waits for the answer
		u.fragments.stale++
		add(&u.meter.late, 1)
		u.offer(i)
		return
	}
	body := u.fragments.outgoing(s.head[:], h.Epoch, h.Event, s.peer)
	s.event, s.sends = h.Event, len(body)
	u.serving++
	if !u.builds {
		u.tally.firstSend(u.now())
	}
	u.post = append(u.post, transport.Op{
		Kind: transport.Send, Peer: s.peer, Path: s.path, ID: opServed | uint64(i), Head: s.head[:], Body: body,
	})
}

// overdue ends the case if an event has had no progress for the time-out.
func (u *unsynchronised) overdue() error {
	if !u.look.Load() {
		return nil
	}
	u.look.Store(false)
	u.flowing(func(peer int, _, in bool) {
		if in {
			u.fragments.asm.Coming(u.now(), peer)
		}
	})
	id, missing, ok := u.fragments.asm.Expire(u.now(), u.c.Timeout)
	if !ok {
		return nil
	}
	return &overdueError{event: id, missing: missing}
}

// An overdueError names the event that a loop gave up, and the sources of its missing fragments.
type overdueError struct {
	event   uint64
	missing []int
}

func (e *overdueError) Error() string { return fmt.Sprintf("event %d: %v", e.event, errStuck) }
func (e *overdueError) Unwrap() error { return errStuck }

func (u *unsynchronised) position(err error) wire.Position {
	oldest := -1
	for i, b := range u.slots {
		if b.used && (oldest < 0 || b.began < u.slots[oldest].began) {
			oldest = i
		}
	}
	if oldest < 0 {
		return stopped(err, 0, nil)
	}
	event := u.slots[oldest].event
	return stopped(err, event, u.fragments.asm.Missing(event))
}

// stopped is the position of a loop without phases. Peers named by err replace missing.
func stopped(err error, event uint64, missing []int) wire.Position {
	at := wire.Position{Exchange: event, Phase: -1, Stage: wire.StageEvent, Peers: missing}
	if len(missing) == 0 {
		at.Stage = wire.StageIdle
	}
	if late, ok := errors.AsType[*overdueError](err); ok {
		at.Exchange, at.Stage, at.Peers = late.event, wire.StageEvent, late.missing
	}
	if peers := peersOf(err); peers != nil {
		at.Stage, at.Peers = wire.StageEvent, peers
	}
	return at
}
