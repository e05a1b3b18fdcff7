//go:build mpi

package mpi

// #include "engine.h"
import "C"

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"unsafe"

	"evbench/transport"
)

// control carries the byte streams between ranks: frames on a communicator of their own. Each end
// has its own number for a stream.
type control struct {
	w *World

	mu       sync.Mutex
	conns    map[uint32]*conn
	last     uint32 // last number given
	backlog  []*conn
	listener *listener
	refuse   bool // no listener any more
	closed   bool // no new listener either
	err      error
}

const frameBody = C.EVB_FRAME - frameHead

var errRefused = errors.New("connection refused")

func (c *control) init(w *World) { c.w, c.conns = w, map[uint32]*conn{} }

func (c *control) say(rank int, f frame, body []byte) error {
	c.w.lock()
	defer c.w.unlock()
	return c.sayNow(rank, f, body)
}

// sayNow is say; the caller holds the token.
func (c *control) sayNow(rank int, f frame, body []byte) error {
	if c.w.left {
		return net.ErrClosed
	}
	head := f.head()
	rc := C.evb_say(c.w.c, C.int(rank), unsafe.Pointer(&head[0]), frameHead, unsafe.Pointer(unsafe.SliceData(body)), C.int(len(body)))
	if rc != C.MPI_SUCCESS {
		return &callError{Code: int(rc), Text: text(rc)}
	}
	return nil
}

// serve takes all received frames. The caller holds the token.
func (c *control) serve() {
	w := c.w.c
	for {
		rc := C.evb_pump(w)
		if rc == C.MPI_SUCCESS && w.frame != nil {
			c.take(int(w.from), unsafe.Slice((*byte)(unsafe.Pointer(w.frame)), int(w.bytes)))
			rc = C.evb_next(w)
		}
		if rc != C.MPI_SUCCESS {
			c.fail(&callError{Code: int(rc), Text: text(rc)})
		}
		if rc != C.MPI_SUCCESS || w.frame == nil {
			return
		}
	}
}

func (c *control) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for _, k := range c.conns {
		k.broke(err)
	}
}

// take handles a frame. It drops an invalid one: its stream will end by itself.
func (c *control) take(rank int, b []byte) {
	f, err := parseFrame(b)
	if err != nil {
		return
	}
	if f.kind == frameOpen {
		c.knock(rank, f.from)
		return
	}
	c.mu.Lock()
	k := c.conns[f.to]
	c.mu.Unlock()
	if k == nil || k.rank != rank {
		if f.kind == frameAccept { // its dialler has given up
			_ = c.sayNow(rank, frame{kind: frameEnd, to: f.from, from: f.to}, nil)
		}
		return
	}
	switch f.kind {
	case frameAccept:
		k.accepted(f.from)
	case frameData:
		k.arrived(f.body)
	case frameWindow:
		k.widened(f.n)
	case frameEnd:
		k.ended()
	}
}

// knock handles a rank's request to open a stream. Before Listen the request waits.
func (c *control) knock(rank int, theirs uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse {
		_ = c.sayNow(rank, frame{kind: frameEnd, to: theirs}, nil)
		return
	}
	k := c.conn(rank)
	k.theirs = theirs
	c.backlog = append(c.backlog, k)
	if c.listener != nil {
		transport.Ring(c.listener.bell)
	}
}

func (c *control) conn(rank int) *conn {
	c.last++
	k := newConn(c, rank, c.last)
	c.conns[k.ours] = k
	return k
}

func (c *control) forget(k *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, k.ours)
}

// close ends all streams and refuses new ones.
func (c *control) close() {
	c.mu.Lock()
	c.refuse, c.closed = true, true
	l := c.listener
	all := slices.Collect(maps.Values(c.conns))
	c.mu.Unlock()
	if l != nil {
		_ = l.Close()
	}
	for _, k := range all {
		_ = k.Close()
	}
}

type listener struct {
	c    *control
	bell chan struct{}
	once sync.Once
	over chan struct{}
}

// Listen accepts the control connections of other ranks, including those that dialled before. There
// is one listener at a time.
func (w *World) Listen() (net.Listener, error) {
	c := &w.control
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener != nil || c.closed {
		return nil, errors.New("mpi: this rank listens already, or has ended")
	}
	c.refuse = false
	c.listener = &listener{c: c, bell: make(chan struct{}, 1), over: make(chan struct{})}
	transport.Ring(c.listener.bell)
	return c.listener, nil
}

// Accept waits for the next stream.
func (l *listener) Accept() (net.Conn, error) {
	for {
		if k := l.next(); k != nil {
			if err := l.c.say(k.rank, frame{kind: frameAccept, to: k.theirs, from: k.ours}, nil); err != nil {
				_ = k.Close()
				return nil, l.error(err)
			}
			return k, nil
		}
		select {
		case <-l.bell:
		case <-l.over:
			return nil, l.error(net.ErrClosed)
		}
	}
}

func (l *listener) error(err error) error {
	return &net.OpError{Op: "accept", Net: "mpi", Addr: l.Addr(), Err: err}
}

func (l *listener) next() *conn {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.c.listener != l || len(l.c.backlog) == 0 {
		return nil
	}
	k := l.c.backlog[0]
	l.c.backlog = l.c.backlog[1:]
	return k
}

func (l *listener) Close() error {
	l.once.Do(func() {
		c := l.c
		c.mu.Lock()
		waiting := slices.Clone(c.backlog)
		c.backlog, c.listener, c.refuse = nil, nil, true
		c.mu.Unlock()
		close(l.over)
		for _, k := range waiting {
			_ = k.Close()
		}
	})
	return nil
}

func (l *listener) Addr() net.Addr { return addr(l.c.w.rank) }
