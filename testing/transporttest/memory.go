package transporttest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"evbench/transport"
)

// An Action is the fate of a message.
type Action int

// The actions of a fault.
const (
	Deliver Action = iota
	Drop
	Duplicate
)

// A Message is on its way. Head and Body are the network's own copy: a fault
// that changes them corrupts the message.
type Message struct {
	Src, Dst, Path int
	Request        bool
	Head, Body     []byte
}

// New returns the endpoints of n ranks, by rank, of a network in memory. It waits on channels only,
// so that it works under testing/synctest. Messages are copied and arrive at once, except as fault
// decides, one message at a time; nil delivers all.
func New(n int, fault func(m *Message) Action) []*Endpoint {
	w := &network{fault: fault, all: make([]*Endpoint, n)}
	for r := range w.all {
		w.all[r] = &Endpoint{
			net: w, rank: r,
			bell:    make(chan struct{}, 1),
			streams: map[stream]*queue{},
			signals: make([][]uint64, n),
		}
	}
	return w.all
}

type network struct {
	mu    sync.Mutex // guards everything of all endpoints
	fault func(m *Message) Action
	all   []*Endpoint
}

type stream struct {
	src, path int
	request   bool
}

// A queue holds unrequested messages, or the waiting receives.
type queue struct {
	came  []Message
	wants []want
}

// A want is a receive under way. back is the caller's Op in an Exchange.
type want struct {
	op   transport.Op
	back *transport.Op
}

// An Endpoint is one rank's place on the network.
type Endpoint struct {
	net  *network
	rank int
	bell chan struct{} // holds one token when there is news

	streams map[stream]*queue
	done    []transport.Op
	missing int        // receives of the Exchange under way
	signals [][]uint64 // by source
	woken   bool
	closed  bool
	err     error
}

func (e *Endpoint) Rank() int { return e.rank }

func (e *Endpoint) Alloc(n int) []byte { return make([]byte, n) }

// Retransmits is 0: nothing is ever sent twice.
func (e *Endpoint) Retransmits() uint64 { return 0 }

// Moved is 0: messages arrive at once.
func (e *Endpoint) Moved(int) transport.Movement { return transport.Movement{} }

func (e *Endpoint) Exchange(ctx context.Context, ops []transport.Op) error {
	if err := e.start(ctx, ops, true); err != nil {
		return err
	}
	err := e.wait(ctx, func() bool { return e.missing == 0 })
	if err != nil && ctx.Err() != nil {
		e.net.mu.Lock()
		defer e.net.mu.Unlock()
		e.fail(fmt.Errorf("an exchange was cut short: %w", err))
	}
	return err
}

// Post queues operations.
func (e *Endpoint) Post(ops []transport.Op) error { return e.start(context.Background(), ops, false) }

func (e *Endpoint) start(ctx context.Context, ops []transport.Op, exchange bool) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if err := e.usable(ctx); err != nil {
		return err
	}
	for i := range ops {
		if err := ops[i].Check(e.rank, len(e.net.all)); err != nil {
			return err
		}
		if k := ops[i].Kind; exchange && k != transport.Send && k != transport.Recv {
			return fmt.Errorf("%v is not for an exchange", k)
		}
	}
	for i := range ops {
		var back *transport.Op
		if exchange {
			back = &ops[i]
			e.missing++
		}
		e.begin(want{ops[i], back})
	}
	return nil
}

func (e *Endpoint) usable(ctx context.Context) error {
	switch {
	case e.closed:
		return transport.ErrClosed
	case e.err != nil:
		return e.err
	}
	return ctx.Err()
}

func (e *Endpoint) fail(err error) {
	e.err = cmp.Or(e.err, err)
}

func (e *Endpoint) begin(w want) {
	switch w.op.Kind {
	case transport.Send, transport.SendRequest:
		e.send(w)
	default:
		q := e.queue(stream{w.op.Peer, w.op.Path, w.op.Kind == transport.RecvRequest})
		q.wants = append(q.wants, w)
		e.match(q)
	}
}

func (e *Endpoint) queue(s stream) *queue {
	q := e.streams[s]
	if q == nil {
		q = &queue{}
		e.streams[s] = q
	}
	return q
}

func (e *Endpoint) send(w want) {
	dst := e.net.all[w.op.Peer]
	if dst.closed {
		e.fail(&transport.PeerError{Peer: dst.rank, Op: "send", Err: io.ErrClosedPipe})
		return
	}
	m := Message{
		Src: e.rank, Dst: dst.rank, Path: w.op.Path, Request: w.op.Kind == transport.SendRequest, Head: w.op.Head, Body: w.op.Body,
	}
	q := dst.queue(stream{m.Src, m.Path, m.Request})
	if e.net.fault != nil || len(q.wants) == 0 { // else it arrives within this call
		m.Head, m.Body = slices.Clone(m.Head), slices.Clone(m.Body)
	}
	times := 1
	if e.net.fault != nil {
		times = map[Action]int{Deliver: 1, Drop: 0, Duplicate: 2}[e.net.fault(&m)]
	}
	for range times {
		q.came = append(q.came, m)
	}
	dst.match(q)
	e.finish(w, len(w.op.Body))
}

// match hands arrived messages to the waiting receives.
func (e *Endpoint) match(q *queue) {
	for len(q.came) > 0 && len(q.wants) > 0 && e.err == nil {
		m, w := q.came[0], q.wants[0]
		q.came, q.wants = slices.Delete(q.came, 0, 1), slices.Delete(q.wants, 0, 1)
		if room := max(len(w.op.Body), w.op.Drop); len(m.Body) > room {
			e.fail(&transport.PeerError{Peer: m.Src, Op: "receive", Err: fmt.Errorf(
				"%w: a body of %d bytes, room for %d", transport.ErrSize, len(m.Body), room)})
		} else {
			copy(w.op.Head, m.Head)
			copy(w.op.Body, m.Body)
			e.finish(w, len(m.Body))
		}
	}
	transport.Ring(e.bell)
}

func (e *Endpoint) finish(w want, n int) {
	if w.back != nil {
		w.back.N = n
		e.missing--
		return
	}
	w.op.N = n
	e.done = append(e.done, w.op)
}

// wait returns when ok, called under the lock, is true, or with an error.
func (e *Endpoint) wait(ctx context.Context, ok func() bool) error {
	for {
		if good, err := e.look(ctx, ok); good || err != nil {
			return err
		}
		select {
		case <-e.bell:
		case <-ctx.Done():
		}
	}
}

func (e *Endpoint) look(ctx context.Context, ok func() bool) (bool, error) {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if e.closed {
		return false, transport.ErrClosed
	}
	if ok() {
		return true, nil
	}
	if err := e.usable(ctx); err != nil {
		return false, err
	}
	return false, e.orphan()
}

// orphan fails the endpoint if it waits for data of a rank that has closed.
func (e *Endpoint) orphan() error {
	for s, q := range e.streams {
		if len(q.wants) > 0 && !s.request && e.net.all[s.src].closed {
			e.fail(&transport.PeerError{Peer: s.src, Op: "receive", Err: io.ErrUnexpectedEOF})
		}
	}
	return e.err
}

func (e *Endpoint) Poll(ctx context.Context, done []transport.Op) (int, error) {
	n := 0
	err := e.wait(ctx, func() bool {
		n = copy(done, e.done)
		e.done = slices.Delete(e.done, 0, n)
		woken := e.woken
		e.woken = false
		return n > 0 || woken
	})
	return n, err
}

func (e *Endpoint) Wake() {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.woken = true
	transport.Ring(e.bell)
}

func (e *Endpoint) Signal(ctx context.Context, to int, seq uint64) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if err := e.usable(ctx); err != nil {
		return err
	}
	dst := e.net.all[to]
	if dst.closed {
		return &transport.PeerError{Peer: to, Op: "signal", Err: io.ErrClosedPipe}
	}
	dst.signals[e.rank] = append(dst.signals[e.rank], seq)
	transport.Ring(dst.bell)
	return nil
}

func (e *Endpoint) Await(ctx context.Context, from int, seq uint64) error {
	var got uint64
	var gone bool
	err := e.wait(ctx, func() bool {
		q := e.signals[from]
		if len(q) == 0 {
			gone = e.net.all[from].closed
			return gone
		}
		got, e.signals[from] = q[0], q[1:]
		return true
	})
	switch {
	case err != nil:
		return err
	case gone:
		return &transport.PeerError{Peer: from, Op: "await", Err: io.ErrUnexpectedEOF}
	case got != seq:
		return &transport.PeerError{Peer: from, Op: "await", Err: fmt.Errorf("it is at barrier %d, this rank at %d", got, seq)}
	}
	return nil
}

// Close ends the endpoint; ranks that wait for it learn of it.
func (e *Endpoint) Close() error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.closed = true
	for _, other := range e.net.all {
		transport.Ring(other.bell)
	}
	return nil
}

// A Slow endpoint's links take time: each Exchange and each Poll first waits for that time.
type Slow struct {
	transport.Endpoint
	Time time.Duration
}

func (s Slow) Exchange(ctx context.Context, ops []transport.Op) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	return s.Endpoint.Exchange(ctx, ops)
}

func (s Slow) Poll(ctx context.Context, done []transport.Op) (int, error) {
	if err := s.pass(ctx); err != nil {
		return 0, err
	}
	return s.Endpoint.Poll(ctx, done)
}

func (s Slow) pass(ctx context.Context) error {
	t := time.NewTimer(s.Time)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
