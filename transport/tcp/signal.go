package tcp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"evbench/transport"
)

// signals are the connections to the partners in a barrier. Their sockets block, so that the kernel
// wakes the waiting thread directly. To end a wait, all of them are shut down.
type signals struct {
	mu    sync.Mutex
	fds   map[int]int     // by rank: -1 until it is open
	bell  chan struct{}   // holds a token when fds or dead has changed
	inUse bool            // a call is under way
	done  <-chan struct{} // its end ends the call
	dead  bool

	hook transport.Hook // of the current call, as are spin and word
	spin spinner
	word [8]byte
}

func (s *signals) init(partners []int) {
	s.bell = make(chan struct{}, 1)
	s.fds, s.spin = map[int]int{}, spinSignal
	for _, r := range partners {
		s.fds[r] = -1
	}
}

func (s *signals) add(rank, fd int) {
	err := errors.Join(unix.SetNonblock(fd, false), napping(fd), urgent(fd))
	impatient(fd)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, partner := s.fds[rank]; s.dead || err != nil || !partner || old >= 0 {
		_ = unix.Close(fd)
		return
	}
	s.fds[rank] = fd
	transport.Ring(s.bell)
}

// napping makes reads of a blocking socket return after a nap, or when the runtime needs the
// thread: without a time-out a read would resume after the runtime's signal.
func napping(fd int) error {
	tv := unix.NsecToTimeval(nap * int64(time.Millisecond))
	return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv)
}

// tcpRTOMin is TCP_RTO_MIN_US, new in Linux in 2025 (6.18 has it, 6.12 does not).
const tcpRTOMin = 45

// signalRTO is how soon a lost signal is sent again. No later segment would show the gap, so all
// ranks would stand still for the time-out of bulk data, 200 ms or more. A duplicate of a late
// signal is harmless.
const signalRTO = 20 * time.Millisecond

// impatient makes the kernel send lost signals again soon, if it can.
func impatient(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, tcpRTOMin, int(signalRTO.Microseconds()))
}

func (s *signals) get(rank int) (fd int, partner bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fd, partner = s.fds[rank]
	return fd, partner
}

// each calls f for every socket; the endpoint's run lock is held.
func (s *signals) each(f func(fd int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fd := range s.fds {
		if fd >= 0 {
			f(fd)
		}
	}
}

func (s *signals) shutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

func (s *signals) kill() {
	s.dead = true
	for _, fd := range s.fds {
		if fd >= 0 {
			_ = unix.Shutdown(fd, unix.SHUT_RDWR)
		}
	}
	transport.Ring(s.bell)
}

func (s *signals) close() {
	s.hook.Clear()
	s.each(func(fd int) { _ = unix.Close(fd) })
	clear(s.fds)
}

func (s *signals) enter(ctx context.Context) {
	s.mu.Lock()
	s.inUse, s.done = true, ctx.Done()
	s.mu.Unlock()
	if !s.hook.On(ctx) {
		s.hook.Set(ctx, s.killer(ctx.Done()))
	}
}

// killer returns the function that ends the call under way, if it still has that context: a context
// may end after its calls have returned.
func (s *signals) killer(done <-chan struct{}) func() {
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.inUse && s.done == done {
			s.kill()
		}
	}
}

func (s *signals) leave() {
	s.mu.Lock()
	s.inUse = false
	s.mu.Unlock()
}

// Signal implements barrier.Peer. If ctx ends during Signal or Await, all barriers of the endpoint
// end.
func (e *Endpoint) Signal(ctx context.Context, to int, seq uint64) error {
	e.run.Lock()
	defer e.run.Unlock()
	fd, err := e.partner(ctx, to)
	defer e.sig.leave()
	if err == nil {
		binary.LittleEndian.PutUint64(e.sig.word[:], seq)
		err = e.sig.write(fd)
	}
	return e.signalled(ctx, to, "signal", err)
}

// Await implements barrier.Peer.
func (e *Endpoint) Await(ctx context.Context, from int, seq uint64) error {
	e.run.Lock()
	defer e.run.Unlock()
	fd, err := e.partner(ctx, from)
	defer e.sig.leave()
	if err == nil {
		err = e.sig.read(fd)
	}
	if got := binary.LittleEndian.Uint64(e.sig.word[:]); err == nil && got != seq {
		err = fmt.Errorf("it is at barrier %d, this rank at %d", got, seq)
	}
	return e.signalled(ctx, from, "await", err)
}

// partner starts a call and returns the socket towards a rank.
func (e *Endpoint) partner(ctx context.Context, rank int) (int, error) {
	e.sig.enter(ctx)
	for {
		if err := e.alive(ctx); err != nil {
			return -1, err
		}
		fd, partner := e.sig.get(rank)
		if !partner {
			return -1, errors.New("it is not a partner in this barrier")
		}
		if fd >= 0 {
			return fd, nil
		}
		select { // the partner opens it, and has not yet
		case <-e.sig.bell:
		case <-ctx.Done():
		}
	}
}

// signalled returns the error of a call: the error of ctx or Close, if they ended it.
func (e *Endpoint) signalled(ctx context.Context, rank int, op string, err error) error {
	if err == nil {
		return nil
	}
	if why := e.alive(ctx); why != nil {
		return why
	}
	return &transport.PeerError{Peer: rank, Op: op, Err: err}
}

func (e *Endpoint) alive(ctx context.Context) error {
	if err := e.usable(); err != nil {
		return err
	}
	return ctx.Err()
}

func (s *signals) write(fd int) error {
	for at := 0; at < len(s.word); {
		n, errno := transmit(fd, s.word[at:], unix.MSG_DONTWAIT)
		if errno == unix.EAGAIN { // the peer does not read: block from now on
			n, errno = errnoOf(unix.Write(fd, s.word[at:]))
		}
		if errno != 0 && errno != unix.EINTR {
			return errno
		}
		at += n
	}
	return nil
}

// read first polls and sleeps without releasing the processor, if it may.
func (s *signals) read(fd int) error {
	hold := alone()
	for at := 0; at < len(s.word); {
		n, errno := s.hear(fd, s.word[at:], hold)
		switch {
		case errno == unix.EINTR || errno == unix.EAGAIN:
			hold = false // a nap is over
		case errno != 0:
			return errno
		case n == 0:
			return fmt.Errorf("the connection was closed: %w", io.ErrUnexpectedEOF)
		}
		at += n
	}
	return nil
}

// hear waits for bytes of a signal; while holding the processor, at most for a nap.
func (s *signals) hear(fd int, b []byte, hold bool) (int, unix.Errno) {
	if !hold {
		return errnoOf(unix.Read(fd, b))
	}
	n, errno := 0, unix.Errno(0)
	look := func() bool { n, errno = take(fd, b, unix.MSG_DONTWAIT); return errno != unix.EAGAIN }
	if s.spin.until(look) {
		return n, errno
	}
	return take(fd, b, 0)
}

// errnoOf splits the result of a call like the calls of this package.
func errnoOf(n int, err error) (int, unix.Errno) {
	if err != nil {
		return 0, err.(unix.Errno)
	}
	return n, 0
}
