package tcp

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"evbench/transport"
)

// A key names a connection within an endpoint. This rank opened it to send data, or the peer did.
type key struct {
	peer, path int
	ours       bool
}

type task struct {
	op   transport.Op
	back *transport.Op
}

// A queue of tasks reuses its memory.
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
	q.tasks[q.first] = task{} // releases the buffers
	if q.first++; q.first == len(q.tasks) {
		q.tasks, q.first = q.tasks[:0], 0
	}
	return t
}

// A conn is one connection. Each direction carries one stream. On one of ours, data goes out and
// requests come in; on the peer's, it is the other way round.
type conn struct {
	key
	id int // in Endpoint.conns
	fd int // -1 until the peer has opened it

	// What epoll has reported since the last EAGAIN. It reports only changes.
	readable, writable bool
	hup                bool // the peer will send no more: epoll reports no further change
	quiet              bool // hup is no error here
	active             bool // is in Endpoint.active
	asleep             bool // is in Endpoint.asleep: the Pacer does not permit a write yet
	leaving            bool // is in Endpoint.leaving: the first message of out is fully written
	drain              drain

	out, in         queue
	outHead, inHead [frameSize]byte
	sent, got       int  // of the first message of out and in, its frame included
	begun           bool // the head of the first message of in has been parsed
	size            int  // of the incoming body, once its head has been parsed
	pace            pacing

	filled int             // messages in a row that filled their buffers
	behind [frameSize]byte // buffer for bytes read behind a message
	ahead  []byte          // bytes of later messages that were read but not delivered

	stirred bool   // is in Endpoint.stirred
	resent  uint32 // segments, at the last query
	lost    uint32 // of these
}

func (c *conn) kinds() (out, in byte) {
	if c.ours {
		return frameData, frameRequest
	}
	return frameRequest, frameData
}

func (c *conn) canSend() bool { return c.writable && !c.asleep && !c.leaving && !c.out.empty() }
func (c *conn) canRead() bool { return (c.readable && !c.quiet || c.ready()) && !c.in.empty() }

// ready reports whether bytes read earlier are left to process: an unparsed head, or more.
func (c *conn) ready() bool { return !c.begun && c.got >= frameSize || len(c.ahead) > 0 }

func (c *conn) failed(op string, err error) error {
	return &transport.PeerError{Peer: c.peer, Op: op, Err: err}
}

// send writes as much of the first message as one call accepts.
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
	n, errno := e.move(c, t.op.Body, limit)
	switch {
	case errno == unix.EAGAIN:
		c.writable = false
		return nil
	case errno == unix.EINTR:
		c.writable = true
		return nil
	case errno != 0:
		return c.failed("send", errno)
	}
	c.sent += n
	e.left(c, n)
	e.stir(c)
	if e.pacer != nil {
		c.pace.allowed -= n
	}
	switch {
	case c.sent < total:
	case e.group.Departed && e.pacer == nil && t.op.Kind == transport.Send:
		c.leaving, c.drain = true, drain{}
		e.leaving = append(e.leaving, c)
	default:
		e.sent(c)
	}
	return nil
}

func (e *Endpoint) sent(c *conn) {
	c.sent = 0
	c.pace.asked = 0
	t := c.out.pop()
	e.finished(t, len(t.op.Body))
}

// The time to the next query whether the kernel has sent its bytes, predicted from its recent rate,
// lies between these bounds.
const (
	leastLook = 100 * time.Microsecond
	mostLook  = 2 * time.Millisecond
)

// A drain measures how fast the kernel sends the bytes of a connection.
type drain struct {
	bytes int // unsent
	at    time.Time
}

// depart finishes the messages that the kernel has sent. It reports whether there were any, and how
// long to wait before the next query.
func (e *Endpoint) depart() (some bool, wait time.Duration) {
	now := time.Now()
	wait = mostLook
	e.leaving = slices.DeleteFunc(e.leaving, func(c *conn) bool {
		n := unsent(c.fd)
		if d := now.Sub(c.drain.at); n < c.drain.bytes && d > 0 {
			e.perByte = float64(d) / float64(c.drain.bytes-n)
			e.left(c, c.drain.bytes-n)
		}
		c.drain = drain{n, now}
		if n > 0 {
			wait = min(wait, max(time.Duration(e.perByte*float64(n)), leastLook))
			return false
		}
		c.leaving = false
		some = true
		e.sent(c)
		e.activate(c)
		return true
	})
	return some, wait
}

// move writes up to limit bytes of the first message, from its current position.
func (e *Endpoint) move(c *conn, body []byte, limit int) (int, unix.Errno) {
	if offset, found := e.mapped(body); found {
		return e.writeFile(c, offset, limit)
	}
	n, errno := e.write(c, body, limit)
	if n < limit {
		c.writable = false // the buffer is full: epoll reports when it has room
	}
	return n, errno
}

func (e *Endpoint) write(c *conn, body []byte, limit int) (int, unix.Errno) {
	if at := c.sent - frameSize; at >= 0 {
		return transmit(c.fd, body[at:at+limit], unix.MSG_DONTWAIT)
	}
	head := c.outHead[c.sent:]
	if len(body) == 0 || limit <= len(head) {
		return transmit(c.fd, head[:min(limit, len(head))], unix.MSG_DONTWAIT)
	}
	return e.both.transmit(c.fd, head, body[:limit-len(head)])
}

// mapped returns the offset of a body in the arena, if sendfile should send it.
func (e *Endpoint) mapped(body []byte) (offset int64, found bool) {
	if !e.arena.ofFile() || len(body) < e.group.least() {
		return 0, false
	}
	return e.arena.find(body)
}

// writeFile writes from a body in the arena. A head before it waits in the socket for the body. A
// short count of sendfile does not mean a full buffer: a signal may end the call.
func (e *Endpoint) writeFile(c *conn, offset int64, limit int) (int, unix.Errno) {
	if at := c.sent - frameSize; at >= 0 {
		return sendFile(c.fd, e.arena.fd, offset+int64(at), limit)
	}
	head := c.outHead[c.sent:]
	n, errno := transmit(c.fd, head[:min(limit, len(head))], unix.MSG_DONTWAIT|unix.MSG_MORE)
	if errno != 0 || n < len(head) || n == limit {
		return n, errno
	}
	k, errno := sendFile(c.fd, e.arena.fd, offset, limit-n)
	if errno == unix.EAGAIN || errno == unix.EINTR {
		errno = 0 // the next call gets it again
	}
	return n + k, errno
}
