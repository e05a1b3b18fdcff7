package rdma

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"evbench/transport"
)

// A key names a queue pair within an endpoint. This rank opened it to send data, or the peer did.
// For signals the path is barrierPath, and the lower rank opens it.
type key struct {
	peer, path int
	ours       bool
}

const barrierPath = transport.Single - 1

// A task is a message under way.
type task struct {
	op       transport.Op
	back     *transport.Op // in an Exchange: the caller's Op
	reported bool          // it was done when posted
	head     span
	body     span // of a dropped receive: empty
	begun    bool // its first part is posted
	posted   int  // bytes of its body, or of its room
	moved    int  // bytes of its body that have arrived, here or at the peer
	total    int  // bytes of an incoming body, known from its first part; -1 until then
}

// room is the longest body that a receive takes.
func (t *task) room() int { return max(len(t.op.Body), t.op.Drop) }

// A line of tasks: next is the first that is not fully posted.
type line struct {
	tasks  []*task
	next   int
	flying int // works that have not completed
}

// done removes the first task.
func (l *line) done() *task {
	t := l.tasks[0]
	l.tasks = slices.Delete(l.tasks, 0, 1)
	l.next = max(0, l.next-1)
	return t
}

// A conn is one queue pair. On one of ours data goes out and requests come in; on the peer's it is
// the other way round.
type conn struct {
	key
	id      int   // in Endpoint.conns
	q       queue // nil until the number of the peer's is known, unless ours
	way     way
	counter uint32 // of our first packet
	ready   bool
	left    bool // the peer has closed: nothing is sent any more
	out, in line
	sent    uint32 // messages of out that have arrived
	got     uint32 // messages of in

	// A body that does not fit into a packet is sent only when a receive is posted for it: a
	// message that comes too early costs the network as much as one in time.
	granted uint32 // of ours: messages for which the peer has posted receives
	begun   uint32 // of ours: messages posted
	placed  uint32 // of the peer's: messages for which receives are posted
	owes    bool   // placed has grown since the peer was told

	// Receives for requests and signals are posted in advance.
	heard  []uint64         // signals not awaited yet
	asked  [][headSize]byte // requests not received yet
	answer []*task          // receives of requests
}

// small reports whether incoming messages on it are requests or signals.
func (c *conn) small() bool { return c.ours || c.path == barrierPath }

// The id of a work holds the number of its conn, and whether it is a receive.
func (c *conn) sendID() uint64    { return uint64(c.id) << 1 }
func (c *conn) receiveID() uint64 { return c.sendID() | 1 }

func (c *conn) failed(op string, err error) error {
	return &transport.PeerError{Peer: c.peer, Op: op, Err: err}
}

// pump posts as many works as a queue pair has room for.
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

// grant tells peers about new receives for their messages.
func (e *Endpoint) grant() error {
	for _, c := range e.owing {
		if !c.owes || c.left {
			continue // a request has told the peer, or the peer has left
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

// posted reports a send of few bytes as done. The caller must not change them; the head is copied.
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

// ownKind is the kind of a task of this package, not of a caller.
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

// pumpIn posts receives. Behind a receive for a message of several parts it posts no more until the
// first part tells their number.
func (e *Endpoint) pumpIn(c *conn) error {
	for l := &c.in; l.next < len(l.tasks) && l.flying < depth; {
		t := l.tasks[l.next]
		whole := t.room()
		if t.begun {
			whole = t.total
		}
		if t.begun && t.posted >= whole { // whole is -1 if its length is unknown
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

// completed handles the end of a work.
func (e *Endpoint) completed(d *completion) error {
	c := e.conns[d.id>>1]
	l, came := &c.out, d.id&1 != 0
	if came {
		l = &c.in
	}
	l.flying--
	if c.left && (!came || d.status != fine) {
		return nil // the peer's note tells what has arrived there
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

// arrived handles a part that has arrived at the peer.
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

// whole marks the first message of out as arrived.
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

// leave handles a note that the peer has closed, and how many messages have arrived there: a lost
// acknowledgement is not sent again. Messages already reported as done are dropped.
func (e *Endpoint) leave(c *conn, arrived uint32) {
	if c.left = true; !c.ours || c.path == barrierPath {
		arrived = c.sent
	}
	for len(c.out.tasks) > 0 && (int32(arrived-c.sent) > 0 || c.out.tasks[0].reported) {
		e.whole(c)
	}
}

// came handles an incoming part.
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

// little handles a request, a signal or, without a head, the peer's count of posted receives, which
// requests carry too. Then it posts the receive again.
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

// match hands requests to their receivers.
func (e *Endpoint) match(c *conn) {
	for len(c.asked) > 0 && len(c.answer) > 0 {
		t := c.answer[0]
		copy(t.op.Head, c.asked[0][:])
		e.finished(t, 0)
		e.drop(t)
		c.asked, c.answer = slices.Delete(c.asked, 0, 1), slices.Delete(c.answer, 0, 1)
	}
}

// broken returns why a work has failed; nil if an earlier failure caused it.
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
		return c.failed(op, fmt.Errorf("over %v: it was sent %d times without an answer: is a link dead, or the server?", c.way, 1+retries))
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
