package rdma

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"evbench/transport"
	"evbench/transport/tcp"
)

// An Endpoint is one rank's place on the network; it is a transport.Endpoint and a barrier.Peer.
type Endpoint struct {
	port  device
	group Group
	d     domain
	setup *setup

	closed atomic.Bool
	woken  atomic.Bool

	run  sync.Mutex // held by every call
	hook transport.Hook

	mu      sync.Mutex // guards the fields below; not held by a waiting call
	mem     memory
	find    map[key]*conn
	conns   []*conn
	spare   []*task
	came1   []completion // room for the results of poll
	done    []transport.Op
	owing   []*conn
	missing int    // operations of the Exchange under way
	unsent  int    // sends that are done but have not arrived
	opening int    // queue pairs whose peer has not answered
	gone    []bool // ranks known to have closed
	err     error  // why the endpoint has ended
	before  uint64 // packets sent again by the port before the endpoint was opened
}

func (e *Endpoint) Rank() int { return e.group.Rank }

// Alloc returns n bytes that are registered, and locked in memory. If that fails, the endpoint
// ends, and its next call returns the error.
func (e *Endpoint) Alloc(n int) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.usable() != nil {
		return make([]byte, n)
	}
	b, err := e.mem.alloc(n, e.group.moved)
	if err != nil {
		e.end(err)
		return make([]byte, n)
	}
	return b
}

func (e *Endpoint) usable() error {
	if e.closed.Load() {
		return transport.ErrClosed
	}
	return e.err
}

// end records why the endpoint has ended, once.
func (e *Endpoint) end(err error) {
	e.err = cmp.Or(e.err, err)
}

func (e *Endpoint) Exchange(ctx context.Context, ops []transport.Op) error {
	e.run.Lock()
	defer e.run.Unlock()
	for i := range ops {
		if k := ops[i].Kind; k != transport.Send && k != transport.Recv {
			return fmt.Errorf("%v is not for an exchange", k)
		}
	}
	if err := e.start(ctx, ops, true); err != nil {
		return err
	}
	err := e.drive(ctx, func() bool { return e.missing == 0 })
	if err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.end(fmt.Errorf("an exchange was cut short: %w", err))
	}
	return err
}

func (e *Endpoint) Post(ops []transport.Op) error {
	e.run.Lock()
	defer e.run.Unlock()
	return e.start(context.Background(), ops, false)
}

// start checks and queues operations: all, or on an error none.
func (e *Endpoint) start(ctx context.Context, ops []transport.Op, exchange bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := errors.Join(e.usable(), ctx.Err()); err != nil {
		return err
	}
	for i := range ops {
		if err := e.check(&ops[i]); err != nil {
			return err
		}
	}
	for i := range ops {
		t := e.task()
		t.op = ops[i]
		if exchange {
			t.back = &ops[i]
			e.missing++
		}
		if err := e.push(t); err != nil {
			e.end(err)
			return err
		}
	}
	err := e.grant()
	if err != nil {
		e.end(err)
	}
	return err
}

// ours reports whether an operation uses a queue pair that this rank opened.
func ours(k transport.Kind) bool { return k == transport.Send || k == transport.RecvRequest }

func (e *Endpoint) check(o *transport.Op) error {
	if err := o.Check(e.group.Rank, len(e.group.Peers)); err != nil {
		return err
	}
	if c := e.find[key{o.Peer, o.Path, true}]; ours(o.Kind) && (c == nil || !c.ready) {
		return fmt.Errorf("%v: no queue pair to %v has been opened", o.Kind, tcp.Path{Peer: o.Peer, Spine: o.Path})
	}
	_, err := e.mem.find(o.Body)
	return err
}

func (e *Endpoint) task() *task {
	if len(e.spare) == 0 {
		return &task{total: -1}
	}
	t := e.spare[len(e.spare)-1]
	e.spare = e.spare[:len(e.spare)-1]
	return t
}

// drop keeps a task for reuse.
func (e *Endpoint) drop(t *task) {
	*t = task{total: -1}
	e.spare = append(e.spare, t)
}

// push queues a task.
func (e *Endpoint) push(t *task) (err error) {
	o := &t.op
	c := e.conn(key{o.Peer, o.Path, ours(o.Kind)})
	if t.body, err = e.mem.find(o.Body); err != nil {
		return err
	}
	switch o.Kind {
	case transport.RecvRequest:
		c.answer = append(c.answer, t)
		e.match(c)
		return nil
	case transport.Recv:
		c.in.tasks = append(c.in.tasks, t)
		return e.pump(c)
	}
	if t.head, err = e.mem.head(); err != nil {
		return err
	}
	copy(t.head.b, o.Head)
	c.out.tasks = append(c.out.tasks, t)
	return e.pump(c)
}

func (e *Endpoint) conn(k key) *conn {
	c := e.find[k]
	if c == nil {
		c = &conn{key: k, id: len(e.conns)}
		e.find[k] = c
		e.conns = append(e.conns, c)
	}
	return c
}

func (e *Endpoint) Poll(ctx context.Context, done []transport.Op) (int, error) {
	e.run.Lock()
	defer e.run.Unlock()
	n := 0
	err := e.drive(ctx, func() bool {
		n = copy(done, e.done)
		e.done = slices.Delete(e.done, 0, n)
		return e.woken.Swap(false) || n > 0
	})
	return n, err
}

func (e *Endpoint) Wake() {
	e.woken.Store(true)
	e.d.interrupt()
}

// drive handles completions until enough, or until the endpoint or ctx ends.
func (e *Endpoint) drive(ctx context.Context, enough func() bool) error {
	e.hook.Set(ctx, e.d.interrupt)
	for armed := false; ; {
		some, over, err := e.step(ctx, enough)
		switch {
		case over || err != nil:
			return err
		case some:
			armed = false
		case !armed:
			armed, err = true, e.d.arm()
		default:
			armed, err = false, e.d.sleep()
		}
		if err != nil {
			return err
		}
	}
}

// step handles completions, and checks whether they are enough.
func (e *Endpoint) step(ctx context.Context, enough func() bool) (some, over bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return false, false, transport.ErrClosed
	}
	for e.reap() { // all, to include messages sent before a rank closed
		some = true
	}
	if enough() { // done operations are reported before errors
		return some, true, nil
	}
	e.orphaned()
	if e.err != nil {
		return false, false, e.err
	}
	return some, false, ctx.Err()
}

// reap handles the completions so far.
func (e *Endpoint) reap() (some bool) {
	n, err := e.d.poll(e.came1)
	for i := range e.came1[:n] {
		if failed := e.completed(&e.came1[i]); err == nil {
			err = failed
		}
	}
	if err == nil {
		err = e.grant()
	}
	if err != nil {
		e.end(err)
	}
	return n > 0
}

// orphaned ends the endpoint if it waits for a rank that has closed. Receives of requests from that
// rank just stay pending.
func (e *Endpoint) orphaned() {
	for _, c := range e.conns {
		switch {
		case !e.gone[c.peer]:
		case c.waitsToSend():
			e.end(c.failed("send", io.ErrClosedPipe))
		case !c.small() && len(c.in.tasks) > 0:
			e.end(c.failed("receive", io.ErrUnexpectedEOF))
		}
	}
}

func (c *conn) waitsToSend() bool {
	return slices.ContainsFunc(c.out.tasks, func(t *task) bool { return !t.reported && t.op.Kind != ownKind })
}

func (e *Endpoint) Signal(ctx context.Context, to int, seq uint64) error {
	e.run.Lock()
	defer e.run.Unlock()
	c, err := e.partner(ctx, to)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone[to] {
		return c.failed("signal", io.ErrClosedPipe)
	}
	t := e.task()
	if t.head, err = e.mem.head(); err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(t.head.b, seq)
	t.op.Kind = ownKind
	c.out.tasks = append(c.out.tasks, t)
	return e.pump(c)
}

func (e *Endpoint) Await(ctx context.Context, from int, seq uint64) error {
	e.run.Lock()
	defer e.run.Unlock()
	c, err := e.partner(ctx, from)
	if err != nil {
		return err
	}
	var got uint64
	gone := false
	err = e.drive(ctx, func() bool {
		if len(c.heard) == 0 {
			gone = e.gone[from]
			return gone
		}
		got = c.heard[0]
		c.heard = slices.Delete(c.heard, 0, 1)
		return true
	})
	switch {
	case err != nil:
		return err
	case gone:
		return c.failed("await", io.ErrUnexpectedEOF)
	case got != seq:
		return c.failed("await", fmt.Errorf("it is at barrier %d, this rank at %d", got, seq))
	}
	return nil
}

// partner returns the queue pair for signals of a rank.
func (e *Endpoint) partner(ctx context.Context, rank int) (*conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := errors.Join(e.usable(), ctx.Err()); err != nil {
		return nil, err
	}
	c := e.find[key{rank, barrierPath, e.group.Rank < rank}]
	if c == nil {
		return nil, fmt.Errorf("rank %d is not a partner in this barrier", rank)
	}
	return c, nil
}

// Retransmits returns how many packets the port has sent again, for all its users, since the
// endpoint was opened, if the driver counts them.
func (e *Endpoint) Retransmits() uint64 { return e.port.resent() - e.before }

// Moved is 0: the adapter reports whole messages.
func (e *Endpoint) Moved(int) transport.Movement { return transport.Movement{} }

// closing is how long Close waits for messages that are done but have not arrived: signals, and
// short messages without a receiver.
const closing = time.Second

// Close unblocks every call and frees what was opened.
func (e *Endpoint) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	e.d.interrupt()
	e.run.Lock()
	defer e.run.Unlock()
	e.flush()
	e.hook.Clear()
	e.bye()
	err := e.setup.close() // from now on the domain has no other user
	return errors.Join(err, e.d.close())
}

// bye tells the peers how many of their messages have arrived here.
func (e *Endpoint) bye() {
	e.mu.Lock()
	defer e.mu.Unlock()
	met := make([]bool, len(e.gone))
	for _, c := range e.conns {
		if c.ready {
			met[c.peer] = true
			kind := noteLeft
			if c.ours {
				kind = noteLeftOurs
			}
			e.setup.tell(note{kind, c.peer, c.path, 0, c.got})
		}
	}
	for peer, ever := range met {
		if ever {
			e.setup.tell(note{kind: noteGone, peer: peer})
		}
	}
}

// flush waits until all messages that are done have arrived.
func (e *Endpoint) flush() {
	late := false
	timer := time.AfterFunc(closing, func() {
		e.mu.Lock()
		late = true
		e.mu.Unlock()
		e.d.interrupt()
	})
	defer timer.Stop()
	for armed := false; ; armed = !armed {
		e.mu.Lock()
		for e.reap() {
		}
		over := late || e.unsent == 0 || e.err != nil
		e.mu.Unlock()
		if over {
			return
		}
		wait := e.d.arm
		if armed {
			wait = e.d.sleep
		}
		if wait() != nil {
			return
		}
	}
}
