package tcp

import (
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"evbench/transport"
)

// receive reads the head of the next message, or the available part of its body, straight into the
// caller's memory.
func (e *Endpoint) receive(c *conn) error {
	if !c.begun && c.got < frameSize {
		if err := e.receiveHead(c); err != nil || c.got < frameSize {
			return err
		}
	}
	if !c.begun {
		if err := e.begin(c, c.in.front()); err != nil {
			return err
		}
		c.putBack()
	}
	switch {
	case c.got == frameSize+c.size:
		e.received(c)
	case c.readable || c.ready():
		return e.receiveBody(c)
	}
	return nil
}

// alike is how many messages in a row must fill their buffers before the next is expected to do so,
// too.
const alike = 8

// receiveHead reads the available part of a head. If the message is likely to fill its buffer, the
// body is read in the same call, which saves a call for each message. putBack handles a wrong
// guess.
func (e *Endpoint) receiveHead(c *conn) error {
	var body, behind []byte
	if room := c.in.front().op.Body; c.filled >= alike && len(room) > 0 && c.got == 0 && len(c.ahead) == 0 {
		body, behind = room, c.behind[:]
	}
	n, errno := e.read(c, c.inHead[c.got:], body, behind)
	if n == 0 {
		return e.blocked(c, errno)
	}
	c.got += n
	e.came(c, n)
	return nil
}

// putBack keeps the bytes read beyond the end of a message, for the next one.
func (c *conn) putBack() {
	over := c.got - frameSize - c.size
	if over <= 0 {
		return
	}
	c.got -= over
	room := c.in.front().op.Body[c.size:]
	switch k := min(over, len(room)); k {
	case 0:
		c.ahead = c.behind[:over]
	default: // not as long as expected: the only case that allocates
		c.ahead = slices.Concat(room[:k], c.behind[:over-k])
	}
}

// receiveBody reads the available part of a body and the head behind it: under load that saves a
// call for each message.
func (e *Endpoint) receiveBody(c *conn) error {
	op := &c.in.front().op
	rest := frameSize + c.size - c.got
	var n int
	var errno unix.Errno
	if op.Drop > 0 {
		n, errno = c.discard(rest)
	} else {
		n, errno = e.read(c, op.Body[c.size-rest:c.size], c.inHead[:], nil)
	}
	if n == 0 {
		return e.blocked(c, errno)
	}
	c.got += n
	e.came(c, n)
	if n >= rest {
		e.received(c)
	} else if rest-n <= op.Near {
		op.Near = 0
		e.done = append(e.done, *op)
		e.done[len(e.done)-1].Coming = true
	}
	return nil
}

// read fills up to three pieces of memory from the bytes read ahead or, if there are none, from the
// socket.
func (e *Endpoint) read(c *conn, x, y, z []byte) (n int, errno unix.Errno) {
	if len(c.ahead) > 0 {
		for _, piece := range [...][]byte{x, y, z} {
			k := copy(piece, c.ahead)
			c.ahead = c.ahead[k:]
			n += k
		}
		return n, 0
	}
	if len(y) == 0 {
		n, errno = take(c.fd, x, unix.MSG_DONTWAIT)
	} else {
		n, errno = e.both.take(c.fd, x, y, z)
	}
	c.emptied(n, len(x)+len(y)+len(z))
	return n, errno
}

func (c *conn) discard(most int) (n int, errno unix.Errno) {
	if n = min(most, len(c.ahead)); n > 0 {
		c.ahead = c.ahead[n:]
		return n, 0
	}
	n, errno = discard(c.fd, most)
	c.emptied(n, most)
	return n, errno
}

func (e *Endpoint) blocked(c *conn, errno unix.Errno) error {
	switch errno {
	case unix.EAGAIN:
		c.readable = false
		return nil
	case unix.EINTR:
		return nil
	}
	return e.ended(c, errno)
}

// emptied notes that a read returned less than wanted: the socket is empty, and epoll reports new
// bytes.
func (c *conn) emptied(n, wanted int) {
	if 0 < n && n < wanted && !c.hup {
		c.readable = false
	}
}

// received finishes the first message. Bytes read beyond it belong to the head of the next one.
func (e *Endpoint) received(c *conn) {
	c.got -= frameSize + c.size
	c.begun = false
	t := c.in.pop()
	if len(t.op.Body) == c.size {
		c.filled++
	} else {
		c.filled = 0
	}
	e.finished(t, c.size)
}

func (e *Endpoint) begin(c *conn, t *task) error {
	_, kind := c.kinds()
	size, err := bodySize(&c.inHead, kind)
	if err != nil {
		return c.failed("receive", err)
	}
	if room := max(len(t.op.Body), t.op.Drop); size > room {
		return c.failed("receive", fmt.Errorf("%w: a body of %d bytes, room for %d", transport.ErrSize, size, room))
	}
	c.size, c.begun = size, true
	if t.back != nil && t.op.Kind == transport.Recv {
		t.back.Began = time.Now()
	}
	copy(t.op.Head, c.inHead[8:])
	return nil
}

// ended handles a connection without further bytes. The end of a stream of requests is no error.
func (e *Endpoint) ended(c *conn, errno unix.Errno) error {
	if c.ours && c.got == 0 {
		c.quiet = true
		return nil
	}
	var err error = errno
	if errno == 0 {
		err = fmt.Errorf("the connection was closed: %w", io.ErrUnexpectedEOF)
	}
	return c.failed("receive", err)
}
