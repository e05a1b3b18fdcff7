package rdma

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"evbench/transport"
)

// A key names a queue pair within an endpoint. We opened it to send data, or the peer did. That
// of signals has path barrierPath, and is ours at the lower rank.
type key struct {
	peer, path int
	ours       bool
}

const barrierPath = transport.Single - 1

// A task is a message under way.
type task struct {
	op       transport.Op
	back     *transport.Op // in an Exchange: the caller's
	reported bool          // it was done when it was posted
	head     span
	body     span // of a receive that is to be dropped: none
	begun    bool // its first part is posted
	posted   int  // bytes of its body, or of the room for it
	moved    int  // bytes of its body that have come, or arrived at the peer
	total    int  // bytes of a body that comes, once its first part is there; -1 until then
}

// room is the longest body that a receive takes.
func (t *task) room() int { return max(len(t.op.Body), t.op.Drop) }

// A line of tasks: next is the first that is not posted as far as it can be.
type line struct {
	tasks  []*task
	next   int
	flying int // works that have not completed
}

// done takes the first task away.
func (l *line) done() *task {
	t := l.tasks[0]
	l.tasks = slices.Delete(l.tasks, 0, 1)
	l.next = max(0, l.next-1)
	return t
}

// A conn is one queue pair; on one that is ours data goes out and requests come in, on one that is the
// peer's the other way round.
type conn struct {
	key
	id      int   // in Endpoint.conns
	q       queue // nil until the peer's is known, or it is
	way     way
	counter uint32 // of our first packet
	ready   bool
	left    bool // the peer has closed: nothing is sent any more
	out, in line
	sent    uint32 // messages of out that have arrived
	got     uint32 // messages of in

	// A body that does not fit into a packet is sent only when there is a receive for it: a message that
	// comes too early costs the network as much as one that does not.
	granted uint32 // of ours: for how many messages the peer has posted receives
	begun   uint32 // of ours: how many have been posted
	placed  uint32 // of the peer's: for how many receives are posted
	owes    bool   // … which the peer has to be told

	// Requests and signals have receives before anybody asks for them.
	heard  []uint64         // signals that nobody has awaited yet
	asked  [][headSize]byte // requests that nobody has received yet
	answer []*task          // receives of requests
}

// small reports whether what comes on it are requests or signals.
func (c *conn) small() bool { return c.ours || c.path == barrierPath }

// Works carry the number of their conn, and whether they are receives.
func (c *conn) sendID() uint64    { return uint64(c.id) << 1 }
func (c *conn) receiveID() uint64 { return c.sendID() | 1 }

func (c *conn) failed(op string, err error) error {
	return &transport.PeerError{Peer: c.peer, Op: op, Err: err}
}

// pump posts what a queue pair has room for.
func (e *Endpoint) pump(c *conn) error {
	if !c.ready || c.left {
		return nil
	}
	if err := e.pumpOut(c); err != nil {
		return c.failed("send", err)
	}
	if err := e.pumpIn(c); err != nil {
		return c.failed("receive", err)
	}
	return nil
}

func (e *Endpoint) pumpOut(c *conn) error {
	for l := &c.out; l.next < len(l.tasks) && l.flying < depth; {
		t := l.tasks[l.next]
		if c.ours && len(t.body.b) > eager && !t.begun && int32(c.granted-c.begun) <= 0 {
			return nil
		}
		w := work{id: c.sendID(), body: part(t, len(t.body.b)), total: uint32(len(t.body.b))}
		if !t.begun {
			w.head = t.head
			c.begun++
		}
		if !c.ours {
			w.total, c.owes = c.placed, false
		}
		if err := c.q.send(w); err != nil {
			return err
		}
		l.flying++
		if t.begun = true; t.posted == len(t.body.b) {
			l.next++
			e.posted(t)
		}
	}
	return nil
}

// grant tells the peers of receives that they may send to.
func (e *Endpoint) grant() error {
	for _, c := range e.owing {
		if !c.owes || c.left {
			continue // a request has told, or nobody wants to know
		}
		t := e.task()
		t.op.Kind = ownKind
		c.out.tasks = append(c.out.tasks, t)
		if err := e.pumpOut(c); err != nil {
			return c.failed("send", err)
		}
	}
	clear(e.owing)
	e.owing = e.owing[:0]
	return nil
}

// posted reports a send of few bytes as done: they may not be changed, and the head is copied.
func (e *Endpoint) posted(t *task) {
	if t.op.Kind == transport.Send && (e.group.Departed || len(t.body.b) > eager) {
		return
	}
	t.reported = true
	e.unsent++
	if t.op.Kind != ownKind {
		e.finished(t, len(t.body.b))
	}
}

// ownKind is that of a task which is no caller's operation.
const ownKind = transport.RecvRequest + 1

// part returns the next part of a body of n bytes.
func part(t *task, n int) span {
	from := t.posted
	t.posted = min(n, from+partMost)
	if t.body.b == nil {
		return span{}
	}
	return span{t.body.b[from:t.posted], t.body.key}
}

// pumpIn posts receives. Behind one that may take a message of several parts it posts no more until
// the first part has told how many there are.
func (e *Endpoint) pumpIn(c *conn) error {
	for l := &c.in; l.next < len(l.tasks) && l.flying < depth; {
		t := l.tasks[l.next]
		whole := t.room()
		if t.begun {
			whole = t.total
		}
		if t.begun && t.posted >= whole { // if its length is not known, that is -1
			if t.total < 0 && t.room() > partMost {
				return nil
			}
			l.next++
			continue
		}
		if err := e.receive(c, t, whole); err != nil {
			return err
		}
		l.flying++
	}
	return nil
}

func (e *Endpoint) receive(c *conn, t *task, whole int) (err error) {
	w := work{id: c.receiveID()}
	if !t.begun {
		if t.head, err = e.mem.head(); err != nil {
			return err
		}
		w.head = t.head
		if c.placed++; t.room() > eager && !c.owes {
			c.owes = true
			e.owing = append(e.owing, c)
		}
	}
	before := t.posted
	w.body = part(t, whole)
	if n := t.posted - before; t.op.Drop > 0 && n > 0 {
		if w.body, err = e.mem.nowhere(n); err != nil {
			return err
		}
	}
	t.begun = true
	return c.q.receive(w)
}

// completed takes note of the end of a work.
func (e *Endpoint) completed(d *completion) error {
	c := e.conns[d.id>>1]
	l, came := &c.out, d.id&1 != 0
	if came {
		l = &c.in
	}
	l.flying--
	if c.left && (!came || d.status != fine) {
		return nil // the peer has said what has arrived there
	}
	if d.status != fine {
		return e.broken(c, d, came)
	}
	var err error
	if came {
		err = e.came(c, d)
	} else {
		e.arrived(c)
	}
	if err != nil {
		return err
	}
	return e.pump(c)
}

// arrived takes note of a part that has arrived at the peer.
func (e *Endpoint) arrived(c *conn) {
	t := c.out.tasks[0]
	t.moved = min(len(t.body.b), t.moved+partMost)
	if t.moved < len(t.body.b) {
		return
	}
	if t.head.b != nil {
		e.mem.free(t.head)
	}
	e.drop(e.whole(c))
}

// whole takes the first message of out as arrived.
func (e *Endpoint) whole(c *conn) *task {
	t := c.out.done()
	c.sent++
	if t.reported {
		e.unsent--
	} else if t.op.Kind != ownKind {
		e.finished(t, len(t.body.b))
	}
	return t
}

// leave takes note that the peer has closed, and of how many messages have arrived there: an acknowledgement
// that was lost is not sent again. Nobody waits for what it was only told.
func (e *Endpoint) leave(c *conn, arrived uint32) {
	if c.left = true; !c.ours || c.path == barrierPath {
		arrived = c.sent
	}
	for len(c.out.tasks) > 0 && (int32(arrived-c.sent) > 0 || c.out.tasks[0].reported) {
		e.whole(c)
	}
}

// came takes note of a part that has come.
func (e *Endpoint) came(c *conn, d *completion) error {
	t := c.in.tasks[0]
	if c.small() {
		e.little(c, d)
		return nil
	}
	if t.total < 0 {
		t.total = int(d.total)
		d.n -= headSize
		copy(t.op.Head, t.head.b)
		if d.n < 0 || t.total > t.room() {
			return c.failed("receive", fmt.Errorf("%w: a body of %d bytes, room for %d", transport.ErrSize, t.total, t.room()))
		}
	}
	t.moved += d.n
	if t.moved < t.total {
		if d.n < partMost {
			return c.failed("receive", fmt.Errorf("a part of %d bytes, %d of %d have come", d.n, t.moved, t.total))
		}
		return nil
	}
	e.mem.free(t.head)
	e.finished(t, t.total)
	e.drop(c.in.done())
	c.got++
	return nil
}

// little takes a request, a signal or, without a head, the peer's word that it has posted receives, which
// requests bring, too. The receive then waits for a later one.
func (e *Endpoint) little(c *conn, d *completion) {
	t := c.in.done()
	switch {
	case c.path == barrierPath:
		c.heard = append(c.heard, binary.LittleEndian.Uint64(t.head.b))
	case d.n == headSize:
		c.asked = append(c.asked, [headSize]byte(t.head.b))
		e.match(c)
		fallthrough
	default:
		c.granted = d.total
	}
	e.mem.free(t.head)
	*t = task{total: -1}
	c.in.tasks = append(c.in.tasks, t)
}

// match hands requests to those who receive them.
func (e *Endpoint) match(c *conn) {
	for len(c.asked) > 0 && len(c.answer) > 0 {
		t := c.answer[0]
		copy(t.op.Head, c.asked[0][:])
		e.finished(t, 0)
		e.drop(t)
		c.asked, c.answer = slices.Delete(c.asked, 0, 1), slices.Delete(c.answer, 0, 1)
	}
}

// broken returns why a work has failed, nil where something else has failed before.
func (e *Endpoint) broken(c *conn, d *completion, came bool) error {
	op := "send"
	if came {
		op = "receive"
	}
	switch {
	case d.status == flushed:
		return nil
	case d.status == tooLong && came:
		return c.failed(op, fmt.Errorf("%w: a message longer than the room for it (%s)", transport.ErrSize, d.why))
	case d.status == refused:
		return c.failed(op, fmt.Errorf("%w: it refuses a message that is longer than the room for it", transport.ErrSize))
	case d.status == noAnswer:
		return c.failed(op, fmt.Errorf("over %v: it was sent %d times, and nobody answered: is a link dead, or the server?", c.way, 1+retries))
	}
	return c.failed(op, fmt.Errorf("over %v: %s", c.way, d.why))
}

func (e *Endpoint) finished(t *task, n int) {
	if t.back != nil {
		t.back.N = n
		if t.op.Kind == transport.Recv {
			t.back.Done = time.Now()
		}
		e.missing--
		return
	}
	t.op.N = n
	e.done = append(e.done, t.op)
}
