package worker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"evbench/builder"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/transport"
)

// ordered runs the windows that the controller plans. A fragment is sent when the fragment before
// it on the send port has left, and when tokens say that the fragments before it on its receive
// port, up-link and down-link have been received. There are no phases and no barrier.
//
// Tokens are requests on the paths that routing tables choose: tokens are tens of bytes, and a
// pinned path may be dead.
type ordered struct {
	*loop
	turns *turns
	inbox *inbox
	near  int       // bytes, see nearShare
	built []ongoing // [exchange mod its length]
	head  [transport.HeadSize]byte
	tells *headers                   // tokens being sent
	told  [][transport.HeadSize]byte // [peer] buffer for its next token

	moved time.Duration // time of the last progress, or of the last idle check
	came  time.Duration // arrival of the last fragment
	left  time.Duration // departure of the last fragment
	sent  wire.Span     // the fragment under way

}

// ongoing is an exchange with its event under construction.
type ongoing struct {
	began time.Duration
	whole bool // the event is complete
}

// The kinds of operation of ordered mode, beside opFragment.
const (
	opSent  = iota<<idShift + 1<<idShift // the fragment under way has left
	opTold                               // a token has left; the rest is the index of its head
	opToken                              // a token has arrived; the rest is the peer
)

// Tokens of a fragment are sent when a 16th of a mean fragment is still to arrive, but at most
// mostNear bytes, if the transport can tell. That is about the time a token and the first bytes
// after it take, in which ports and links would be idle.
const (
	nearShare = 16
	mostNear  = 64 << 10
)

func newOrdered(l *loop) *ordered {
	most := max(l.c.Credits, 1)
	l.post, l.finished = make([]transport.Op, 0, (most+4)*l.n), make([]transport.Op, 64)
	return &ordered{
		loop: l, near: min(l.c.Fragment/nearShare, mostNear), turns: &turns{rank: l.c.Rank, n: l.n}, inbox: newInbox(l.fragments, most), built: make([]ongoing, 2*most),
		tells: newHeaders(4 * l.n), told: make([][transport.HeadSize]byte, l.n),
	}
}

func (o *ordered) run(ctx context.Context) error {
	for peer := range o.n {
		if peer != o.c.Rank && o.reads && o.roles.Builds(peer) { // receivers of this worker's fragments send it tokens
			o.offer(peer)
		}
	}
	return o.drive(ctx, o)
}

// hear applies the controller's orders. It skips windows that begin under a replaced plan.
func (o *ordered) hear(ctx context.Context) error {
	epoch := o.plans[len(o.plans)-1].epoch
	if err := o.take(ctx); err != nil {
		return err
	}
	if p := &o.plans[len(o.plans)-1]; p.epoch != epoch {
		o.turns.drop(p.from)
	}
	for i := range o.windows {
		m := &o.windows[i]
		if m.Epoch != o.plans.at(m.From).epoch {
			continue
		}
		if err := o.turns.check(m, o.c.Credits); err != nil {
			return fmt.Errorf("window: %w", err)
		}
		o.tell(o.turns.add(m))
	}
	o.windows = o.windows[:0]
	return nil
}

func (o *ordered) step() error {
	for w := o.turns.mayBegin(); w != nil && o.mailbox.begin(w.To()-1); w = o.turns.mayBegin() {
		w.begun = true
		o.moved = o.now()
	}
	for w := o.turns.mayOpen(); w != nil; w = o.turns.mayOpen() {
		if err := o.open(w); err != nil {
			return err
		}
	}
	if w := o.turns.next(); w != nil {
		o.send(w)
	}
	for o.turns.advance() {
		if o.ongoing(o.done).whole {
			o.tally.complete(o.done)
		}
		o.advance()
	}
	return nil
}

func (o *ordered) open(w *window) error {
	w.opened = true
	now := o.now()
	o.came = now
	slots := make([]int, w.Count)
	for e := range w.Count {
		exchange := w.From + uint64(e)
		if *o.ongoing(exchange) = (ongoing{began: now}); !o.builds {
			o.turns.close(exchange)
			continue
		}
		slot, err := o.fragments.begin(now, o.id(exchange), w.Epoch)
		if err != nil {
			return err
		}
		slots[e] = slot
		o.ages.begun(o.id(exchange), now)
	}
	if !o.builds {
		return nil
	}
	if !o.reads {
		o.tally.firstSend(now)
	}
	for i, take := range w.take {
		exchange, source := w.From+uint64(i/o.n), i%o.n
		if take >= 0 || source == o.c.Rank || !o.roles.Reads(source) {
			continue
		}
		whole, err := o.fragments.absent(now, o.id(exchange), w.Epoch, source)
		if err != nil {
			return fmt.Errorf("window: exchange %d: %w", exchange, err)
		}
		if whole {
			o.complete(now, exchange)
		}
	}
	for _, x := range w.Takes {
		op := o.inbox.expect(now, slots[x.Exchange], o.id(w.From+uint64(x.Exchange)), x.From, x.Spine)
		op.Near = o.near
		o.post = append(o.post, op)
	}
	return nil
}

func (o *ordered) ongoing(exchange uint64) *ongoing {
	return &o.built[exchange%uint64(len(o.built))]
}

func (o *ordered) send(w *window) {
	x := o.turns.start(w)
	theirs := o.roles.Event(w.From+uint64(x.Exchange), x.To)
	body := o.fragments.outgoing(o.head[:], w.Epoch, theirs, x.To)
	o.post = append(o.post, transport.Op{
		Kind: transport.Send, Peer: x.To, Path: x.Spine, ID: opSent, Head: o.head[:], Body: body,
	})
	now := o.now()
	o.tally.firstSend(now)
	s := wire.Span{Kind: results.SpanTokens, Begin: o.left, End: now, Exchange: w.From + uint64(x.Exchange), Phase: -1, Peer: int32(x.To), Spine: int32(x.Spine)}
	o.trace.keep(s)
	s.Kind, s.Begin = results.SpanSend, now
	o.sent = s
}

func (o *ordered) tell(all []note) {
	for _, x := range all {
		i := o.tells.get()
		if i < 0 {
			o.tells.buf = append(o.tells.buf, [transport.HeadSize]byte{})
			i = len(o.tells.buf) - 1
		}
		h := builder.Header{
			Kind: builder.Token, Epoch: x.epoch, Event: x.Window, Source: uint32(o.c.Rank), Dest: uint32(x.Rank), Size: uint64(x.Send),
		}
		head := o.tells.buf[i][:]
		h.Append(head[:0])
		o.post = append(o.post, transport.Op{Kind: transport.SendRequest, Peer: x.Rank, Path: single, ID: opTold | uint64(i), Head: head})
		o.tally.token()
	}
}

func (o *ordered) offer(peer int) {
	o.post = append(o.post, transport.Op{
		Kind: transport.RecvRequest, Peer: peer, Path: single, ID: opToken | uint64(peer), Head: o.told[peer][:],
	})
}

func (o *ordered) did(op *transport.Op) {
	add(&o.meter.moves, 1)
	o.moved = o.now()
	i := int(op.ID & idMask)
	switch op.ID &^ idMask {
	case opFragment:
		if op.Coming {
			o.coming(op)
		} else {
			o.received(op)
		}
	case opSent:
		o.gone(o.moved, len(op.Body))
		o.turns.departed()
		o.left = o.moved
		o.sent.End = o.left
		o.trace.keep(o.sent)
	case opTold:
		o.tells.put(i)
	case opToken:
		o.token(i)
		o.offer(i)
	}
}

// token handles a token from a peer. A damaged or unexpected token counts as corrupt.
func (o *ordered) token(peer int) {
	h, err := builder.Parse(o.told[peer][:])
	if err == nil && h.Kind == builder.Token && int(h.Source) == peer && int(h.Dest) == o.c.Rank && h.Size < uint64(o.n*o.c.Credits) &&
		o.turns.token(note{wire.Token{Rank: peer, Window: h.Event, Send: int(h.Size)}, h.Epoch}) {
		return
	}
	o.fragments.asm.Spoiled()
	add(&o.meter.corrupt, 1)
}

// coming sends the tokens for a fragment that has almost arrived.
func (o *ordered) coming(op *transport.Op) {
	h, err := builder.Parse(op.Head)
	if err == nil && h.Kind == builder.Data && int(h.Source) == op.Peer && o.fragments.asm.Slot(h.Event) >= 0 {
		o.tell(o.turns.coming(o.exchangeOf(h.Event), op.Peer))
	}
}

// received handles a fragment. A damaged one counts as arrived: it no longer occupies its port and
// links.
func (o *ordered) received(op *transport.Op) {
	now := o.moved
	g := o.inbox.took(now, op)
	if g.again {
		o.post = append(o.post, o.inbox.op(int(op.ID), op.Path))
		return
	}
	o.fragments.sources.await(g.source, o.came)
	o.fragments.sources.came(g.source, now)
	exchange := o.exchangeOf(g.event)
	o.trace.add(results.SpanReceive, o.came, now, place{exchange, -1, g.source})
	o.came = now
	o.tell(o.turns.received(exchange, g.source))
	switch {
	case g.whole:
		o.complete(now, exchange)
	case g.spent:
		o.fragments.asm.Abandon(g.event)
		o.turns.close(exchange)
	}
}

func (o *ordered) complete(now time.Duration, exchange uint64) {
	e := o.ongoing(exchange)
	e.whole = true
	o.tally.took(now - e.began)
	o.trace.add(results.SpanExchange, e.began, now, place{exchange, -1, -1})
	o.turns.close(exchange)
}

// overdue ends the case if work was pending and nothing has moved for the time-out.
func (o *ordered) overdue() error {
	if !o.look.Load() {
		return nil
	}
	o.look.Store(false)
	now := o.now()
	o.flowing(func(int, bool, bool) { o.moved = now })
	if len(o.turns.windows) == 0 || !o.turns.windows[0].begun {
		o.moved = now
		return nil
	}
	if now-o.moved < o.c.Timeout {
		return nil
	}
	return &lateError{o.turns.awaits(), o.c.Timeout, o.c.Peers}
}

type lateError struct {
	awaited
	limit time.Duration
	peers []wire.Peer
}

func (e *lateError) Unwrap() error { return errStuck }

func (e *lateError) Error() string {
	server := func(rank int) string { return fmt.Sprintf("server %d", e.peers[rank].Server) }
	var parts []string
	if len(e.tokens) > 0 {
		var names []string
		for _, x := range e.tokens {
			names = append(names, server(x.Rank))
		}
		parts = append(parts, fmt.Sprintf("no token from %s for the fragment to %s", strings.Join(names, ", "), server(e.to)))
	}
	if e.next != nil {
		parts = append(parts, "no fragment from "+server(e.next.Rank))
	}
	if e.sending >= 0 {
		parts = append(parts, "its fragment to "+server(e.sending)+" has not left")
	}
	return fmt.Sprintf("for %v %s", e.limit, strings.Join(parts, ", and "))
}

func (o *ordered) position(err error) wire.Position {
	a := o.turns.awaits()
	at := wire.Position{Exchange: a.exchange, Phase: -1, Stage: wire.StageIdle, Awaits: a.tokens, Told: o.turns.told()}
	if len(a.tokens) > 0 {
		at.Stage = wire.StageToken
	}
	if a.next != nil {
		at.Stage, at.Awaits = wire.StageEvent, append(at.Awaits, *a.next)
	}
	if a.sending >= 0 {
		at.Stage, at.Peers = wire.StageEvent, []int{a.sending}
	}
	if peers := peersOf(err); peers != nil {
		at.Stage, at.Peers = wire.StageEvent, peers
	}
	return at
}
