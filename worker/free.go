package worker

import (
	"context"
	"slices"
	"time"

	"evbench/controller/wire"
	"evbench/transport"
)

// freeRunning runs the schedule without a barrier. Fragments are sent in schedule order, each when
// the one before has left. Receives are posted for up to Credits exchanges, so a server may be that
// far ahead of another.
type freeRunning struct {
	*loop
	inbox *inbox

	opened uint64          // exchanges below it have their receives posted
	open   []bool          // [exchange mod credits] its event is not closed yet
	began  []time.Duration // [exchange mod credits] time of its first send, or of posting its receives
	closed uint64          // exchanges below it have their event closed

	sending uint64 // exchange of the next send
	phase   int    // its phase
	busy    bool   // a send is under way
	head    [transport.HeadSize]byte

	// When the oldest open event last progressed, and when the send under way was posted.
	moved, posted time.Duration
}

// sendID marks the send under way; other operations are the inbox'.
const sendID = 1 << idShift

func newFreeRunning(l *loop) *freeRunning {
	credits := l.c.Credits
	l.post, l.finished = make([]transport.Op, 0, credits*l.n+1), make([]transport.Op, 64)
	return &freeRunning{
		loop: l, inbox: newInbox(l.fragments, credits), open: make([]bool, credits), began: make([]time.Duration, credits),
	}
}

func (f *freeRunning) run(ctx context.Context) error { return f.drive(ctx, f) }

func (f *freeRunning) hear(ctx context.Context) error { return f.take(ctx) }

func (f *freeRunning) step() error {
	credits := uint64(len(f.open))
	for f.builds && f.opened < f.until && f.opened < f.closed+credits && f.mailbox.begin(f.opened) {
		if err := f.expect(); err != nil {
			return err
		}
	}
	if f.reads {
		f.send()
	}
	return nil
}

func (f *freeRunning) expect() error {
	e := f.opened
	p, now := f.plans.at(e), f.now()
	slot, err := f.fragments.begin(now, f.id(e), p.epoch)
	if err != nil {
		return err
	}
	f.ages.begun(f.id(e), now)
	if e == f.closed {
		f.moved = now
	}
	if !f.reads {
		f.tally.firstSend(now)
	}
	i := e % uint64(len(f.open))
	f.open[i], f.began[i] = true, now
	for _, s := range p.row {
		if s.From != wire.Idle {
			f.post = append(f.post, f.inbox.expect(f.now(), slot, f.id(e), s.From, s.FromSpine))
		}
	}
	f.opened++
	return nil
}

// send posts the next fragment of the schedule, if the last one has left and the exchange is
// granted.
func (f *freeRunning) send() {
	for !f.busy && f.sending < f.until {
		if f.phase == 0 && !f.mailbox.begin(f.sending) {
			return
		}
		p := f.plans.at(f.sending)
		if f.phase == len(p.row) {
			f.phase = 0
			f.sending++
			f.passed()
			continue
		}
		step := &p.row[f.phase]
		f.phase++
		if step.To == wire.Idle {
			continue
		}
		theirs := f.roles.Event(f.sending, step.To)
		body := f.fragments.outgoing(f.head[:], p.epoch, theirs, step.To)
		f.post = append(f.post, transport.Op{
			Kind: transport.Send, Peer: step.To, Path: step.ToSpine, ID: sendID, Head: f.head[:], Body: body,
		})
		f.busy, f.posted = true, f.now()
		f.tally.firstSend(f.posted)
	}
}

func (f *freeRunning) did(op *transport.Op) {
	add(&f.meter.moves, 1)
	if op.ID == sendID {
		f.busy = false
		f.gone(f.now(), len(op.Body))
		return
	}
	now := f.now()
	g := f.inbox.took(now, op)
	if g.again {
		f.post = append(f.post, f.inbox.op(int(op.ID), op.Path))
		return
	}
	e := f.exchangeOf(g.event)
	if e == f.closed {
		f.moved = now
	}
	switch {
	case g.whole:
		f.close(e, now, false)
	case g.spent:
		f.fragments.asm.Abandon(g.event)
		f.close(e, now, true)
	}
}

// close notes that the event of an exchange is complete or lost. Exchanges are counted in order; a
// later one can only overtake when fragments were damaged.
func (f *freeRunning) close(e uint64, now time.Duration, lost bool) {
	credits := uint64(len(f.open))
	f.open[e%credits] = false
	if !lost {
		f.tally.took(now - f.began[e%credits])
		f.tally.complete(e)
	}
	for f.closed < f.opened && !f.open[f.closed%credits] {
		f.closed++
		f.moved = now
	}
	f.passed()
}

// passed counts the exchanges that are sent and built; an absent role counts as done.
func (f *freeRunning) passed() {
	switch {
	case !f.builds:
		f.closed = f.sending
	case !f.reads:
		f.sending = f.closed
	}
	for f.done < min(f.closed, f.sending) {
		f.advance()
	}
}

// overdue ends the case if the oldest event has made no progress, or a send has not ended, for the
// time-out.
func (f *freeRunning) overdue() error {
	if !f.look.Load() {
		return nil
	}
	f.look.Store(false)
	now, missing := f.now(), f.missing()
	f.flowing(func(peer int, out, in bool) {
		if in && slices.Contains(missing, peer) {
			f.moved = now
		}
		if out {
			f.posted = now
		}
	})
	switch {
	case f.closed < f.opened && now-f.moved >= f.c.Timeout:
		id := f.id(f.closed)
		f.fragments.asm.Abandon(id)
		return &overdueError{event: id, missing: missing}
	case f.busy && now-f.posted >= f.c.Timeout:
		return &overdueError{event: f.id(f.sending), missing: missing}
	}
	return nil
}

// missing returns the ranks that the loop waits for: the sources of its oldest event or, without
// one, the destination of the send under way.
func (f *freeRunning) missing() []int {
	if f.closed < f.opened {
		return f.fragments.asm.Missing(f.id(f.closed))
	}
	if f.busy {
		return []int{f.plans.at(f.sending).row[f.phase-1].To}
	}
	return nil
}

func (f *freeRunning) position(err error) wire.Position {
	at := stopped(err, 0, f.missing())
	at.Exchange = f.done
	return at
}
