package tcp

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"evbench/transport"
)

// A key names a connection within an endpoint. We opened it to send data, or the
// peer did.
type key struct {
	peer, path int
	ours       bool
}

// A task is an Op under way. back is the caller's own Op in an Exchange.
type task struct {
	op   transport.Op
	back *transport.Op
}

// A queue of tasks keeps its memory.
type queue struct {
	tasks []task
	first int
}

func (q *queue) empty() bool  { return q.first == len(q.tasks) }
func (q *queue) front() *task { return &q.tasks[q.first] }

func (q *queue) push(t task) {
	if q.first > 0 && len(q.tasks) == cap(q.tasks) {
		n := copy(q.tasks, q.tasks[q.first:])
		clear(q.tasks[n:])
		q.tasks, q.first = q.tasks[:n], 0
	}
	q.tasks = append(q.tasks, t)
}

func (q *queue) pop() task {
	t := q.tasks[q.first]
	q.tasks[q.first] = task{} // lets go of the buffers
	if q.first++; q.first == len(q.tasks) {
		q.tasks, q.first = q.tasks[:0], 0
	}
	return t
}

// A conn is one connection. Each direction carries one stream: on one that is
// ours, data goes out and requests come in; on one that is the peer's, the
// other way round.
type conn struct {
	key
	id int // in Endpoint.conns
	fd int // -1 until the peer has opened it

	// What epoll has told since the last EAGAIN. It tells only changes.
	readable, writable bool
	hup                bool // the peer will send no more: no further change will tell
	quiet              bool // … and that is fine
	active             bool // is in Endpoint.active
	asleep             bool // is in Endpoint.asleep: the Pacer lets nothing through yet

	out, in         queue
	outHead, inHead [frameSize]byte
	sent, got       int // of the first message of out and in, its frame included
	size            int // of the body that comes in, once its head is here
	pace            pacing
}

func (c *conn) kinds() (out, in byte) {
	if c.ours {
		return frameData, frameRequest
	}
	return frameRequest, frameData
}

func (c *conn) canSend() bool { return c.writable && !c.asleep && !c.out.empty() }
func (c *conn) canRead() bool { return c.readable && !c.quiet && !c.in.empty() }

func (c *conn) failed(op string, err error) error {
	return &transport.PeerError{Peer: c.peer, Op: op, Err: err}
}

// send writes as much of the first message as one call takes.
func (e *Endpoint) send(c *conn) error {
	t := c.out.front()
	if c.sent == 0 {
		kind, _ := c.kinds()
		putFrame(&c.outHead, kind, t.op.Head, len(t.op.Body))
	}
	total := frameSize + len(t.op.Body)
	limit := total - c.sent
	if e.pacer != nil {
		if limit = min(limit, e.allowed(c, total)); limit == 0 {
			e.sleep(c)
			return nil
		}
	}
	n, err := e.write(c, t.op.Body, limit)
	switch {
	case err == unix.EAGAIN:
		c.writable = false
		return nil
	case err == unix.EINTR:
		return nil
	case err != nil:
		return c.failed("send", err)
	}
	c.sent += n
	if e.pacer != nil {
		c.pace.allowed -= n
	}
	if n < limit {
		c.writable = false // the buffer is full: epoll will tell when it no longer is
	}
	if c.sent == total {
		c.sent = 0
		c.pace.asked = 0
		t := c.out.pop()
		e.finished(t, len(t.op.Body))
	}
	return nil
}

// write writes up to limit bytes of the first message, from where it stands.
func (e *Endpoint) write(c *conn, body []byte, limit int) (int, error) {
	if c.sent >= frameSize {
		at := c.sent - frameSize
		return unix.Write(c.fd, body[at:at+limit])
	}
	head := c.outHead[c.sent:]
	if len(body) == 0 || limit <= len(head) {
		return unix.Write(c.fd, head[:min(limit, len(head))])
	}
	e.vec[0], e.vec[1] = head, body[:limit-len(head)]
	return unix.Writev(c.fd, e.vec[:])
}

// receive reads the head of the next message, or what there is of its body,
// straight to where the caller wants it.
func (e *Endpoint) receive(c *conn) error {
	t := c.in.front()
	dst := c.inHead[min(c.got, frameSize):]
	if c.got >= frameSize {
		dst = t.op.Body[c.got-frameSize : c.size]
	}
	n, err := unix.Read(c.fd, dst)
	switch {
	case err == unix.EAGAIN:
		c.readable = false
		return nil
	case err == unix.EINTR:
		return nil
	case err != nil || n == 0:
		return e.ended(c, err)
	}
	if n < len(dst) && !c.hup {
		c.readable = false // all there was; epoll will tell when there is more
	}
	before := c.got
	c.got += n
	if before < frameSize && c.got >= frameSize {
		if err := e.begin(c, t); err != nil {
			return err
		}
	}
	if c.got >= frameSize && c.got == frameSize+c.size {
		c.got = 0
		e.finished(c.in.pop(), c.size)
	}
	return nil
}

// begin looks at the head of a message that comes in.
func (e *Endpoint) begin(c *conn, t *task) error {
	_, kind := c.kinds()
	size, err := bodySize(&c.inHead, kind)
	if err != nil {
		return c.failed("receive", err)
	}
	if size > len(t.op.Body) {
		return c.failed("receive", fmt.Errorf("%w: a body of %d bytes, room for %d", transport.ErrSize, size, len(t.op.Body)))
	}
	c.size = size
	copy(t.op.Head, c.inHead[8:])
	return nil
}

// ended deals with a connection that gives no more bytes. That no further
// request comes is nothing bad.
func (e *Endpoint) ended(c *conn, err error) error {
	if c.ours && c.got == 0 {
		c.quiet = true
		return nil
	}
	if err == nil {
		err = fmt.Errorf("the connection was closed: %w", io.ErrUnexpectedEOF)
	}
	return c.failed("receive", err)
}
