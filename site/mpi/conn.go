//go:build mpi

package mpi

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"evbench/transport"
)

type addr int

func (addr) Network() string  { return "mpi" }
func (a addr) String() string { return strconv.Itoa(int(a)) }

// A conn is one end of a stream between two ranks.
type conn struct {
	c    *control
	rank int // the rank of the other end
	ours uint32

	readable, writable, opened chan struct{} // hold a token after a change
	over                       chan struct{} // closed by Close
	once                       sync.Once
	writing                    sync.Mutex // orders Write
	reads, writes              deadline

	mu     sync.Mutex
	theirs uint32
	open   bool
	buf    []byte // received
	at     int    // bytes of buf read
	told   int    // bytes read since the last window frame
	room   int    // free bytes at the other side
	end    error  // io.EOF once the other side has closed, or the failure
}

func newConn(c *control, rank int, ours uint32) *conn {
	k := &conn{
		c: c, rank: rank, ours: ours, room: window, over: make(chan struct{}),
		readable: make(chan struct{}, 1), writable: make(chan struct{}, 1), opened: make(chan struct{}, 1),
	}
	k.reads.init()
	k.writes.init()
	return k
}

// Dial opens a control connection to a rank. It waits for that rank to listen.
func (w *World) Dial(ctx context.Context, rank int) (net.Conn, error) {
	if rank < 0 || rank >= w.size {
		return nil, fmt.Errorf("mpi: dial rank %d of %d", rank, w.size)
	}
	c := &w.control
	c.mu.Lock()
	k := c.conn(rank)
	err := c.err
	c.mu.Unlock()
	if err == nil {
		err = c.say(rank, frame{kind: frameOpen, from: k.ours}, nil)
	}
	if err == nil {
		err = k.await(ctx)
	}
	if err != nil {
		_ = k.Close()
		return nil, &net.OpError{Op: "dial", Net: "mpi", Addr: addr(rank), Err: err}
	}
	return k, nil
}

// await returns when the other side has accepted.
func (k *conn) await(ctx context.Context) error {
	select {
	case <-k.opened:
	case <-k.over:
		return net.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.open {
		return errRefused
	}
	return nil
}

func (k *conn) accepted(theirs uint32) {
	k.mu.Lock()
	k.theirs, k.open = theirs, true
	k.mu.Unlock()
	transport.Ring(k.opened)
}

// errWindow: the other side has sent, or allowed, more than the window.
var errWindow = fmt.Errorf("more than the %d bytes that may be on their way: %w", window, errFrame)

func (k *conn) arrived(b []byte) {
	k.mu.Lock()
	over := len(k.buf)-k.at+len(b) > window
	if !over {
		k.buf = append(k.buf, b...)
	}
	k.mu.Unlock()
	if over {
		k.broke(errWindow)
	}
	transport.Ring(k.readable)
}

func (k *conn) widened(n int) {
	k.mu.Lock()
	over := k.room+n > window
	if !over {
		k.room += n
	}
	k.mu.Unlock()
	if over {
		k.broke(errWindow)
	}
	transport.Ring(k.writable)
}

func (k *conn) ended() { k.broke(io.EOF) }

func (k *conn) broke(err error) {
	k.mu.Lock()
	k.end = cmp.Or(k.end, err)
	k.mu.Unlock()
	transport.Ring(k.opened)
	transport.Ring(k.readable)
	transport.Ring(k.writable)
}

func (k *conn) error(op string, err error) error {
	return &net.OpError{Op: op, Net: "mpi", Source: k.LocalAddr(), Addr: k.RemoteAddr(), Err: err}
}

// Read waits for at least one byte.
func (k *conn) Read(p []byte) (int, error) {
	for {
		expired := k.reads.expired()
		if err := ended(k.over, expired); err != nil {
			return 0, k.error("read", err)
		}
		n, give, err := k.take(p)
		if give > 0 {
			_ = k.c.say(k.rank, frame{kind: frameWindow, to: k.peer(), from: k.ours, n: give}, nil) // a broken world fails the next call
		}
		if err == io.EOF || n > 0 || len(p) == 0 {
			return n, err
		}
		if err != nil {
			return 0, k.error("read", err)
		}
		select {
		case <-k.readable:
		case <-expired:
		case <-k.over:
		}
	}
}

// ended returns an error if a call must not continue.
func ended(over, expired <-chan struct{}) error {
	select {
	case <-over:
		return net.ErrClosed
	default:
	}
	select {
	case <-expired:
		return os.ErrDeadlineExceeded
	default:
		return nil
	}
}

// take reads received bytes. give is how many more bytes the other side may send.
func (k *conn) take(p []byte) (n, give int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n = copy(p, k.buf[k.at:])
	k.at += n
	k.told += n
	if k.at == len(k.buf) {
		k.buf, k.at = k.buf[:0], 0
	}
	if k.told >= window/2 && k.end == nil {
		give, k.told = k.told, 0
	}
	if n == 0 {
		err = k.end
	}
	return n, give, err
}

func (k *conn) peer() uint32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.theirs
}

// Write blocks while the other side does not read.
func (k *conn) Write(p []byte) (int, error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	sent := 0
	for sent < len(p) {
		n, err := k.reserve(min(len(p)-sent, frameBody))
		if err == nil {
			err = k.c.say(k.rank, frame{kind: frameData, to: k.peer(), from: k.ours, n: n}, p[sent:sent+n])
		}
		if err != nil {
			return sent, k.error("write", err)
		}
		sent += n
	}
	return sent, nil
}

func (k *conn) reserve(n int) (int, error) {
	for {
		expired := k.writes.expired()
		if err := ended(k.over, expired); err != nil {
			return 0, err
		}
		got, err := k.book(n)
		if got > 0 || err != nil {
			return got, err
		}
		select {
		case <-k.writable:
		case <-expired:
		case <-k.over:
		}
	}
}

func (k *conn) book(n int) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.end == io.EOF {
		return 0, io.ErrClosedPipe
	}
	n = min(n, k.room)
	k.room -= n
	return n, k.end
}

// Close lets the other side read everything written, and then io.EOF.
func (k *conn) Close() error {
	k.once.Do(func() {
		close(k.over)
		k.c.forget(k)
		if theirs := k.peer(); theirs != 0 {
			_ = k.c.say(k.rank, frame{kind: frameEnd, to: theirs, from: k.ours}, nil)
		}
	})
	return nil
}

func (k *conn) LocalAddr() net.Addr { return addr(k.c.w.rank) }

func (k *conn) RemoteAddr() net.Addr { return addr(k.rank) }

func (k *conn) SetDeadline(t time.Time) error {
	k.reads.set(t)
	k.writes.set(t)
	return nil
}

func (k *conn) SetReadDeadline(t time.Time) error {
	k.reads.set(t)
	return nil
}

func (k *conn) SetWriteDeadline(t time.Time) error {
	k.writes.set(t)
	return nil
}

type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	past  chan struct{}
}

func (d *deadline) init() { d.past = make(chan struct{}) }

func (d *deadline) expired() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.past
}

// set changes the deadline, also for calls that wait already.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		d.past = make(chan struct{}) // the old channel is closed or about to be: its waiters check again
	}
	d.timer = nil
	if t.IsZero() {
		return
	}
	past := d.past
	d.timer = time.AfterFunc(max(time.Until(t), 0), func() { close(past) })
}
