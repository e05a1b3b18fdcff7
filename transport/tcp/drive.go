package tcp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"evbench/transport"
)

// lookEvery is after how many busy rounds epoll is queried again.
const lookEvery = 16

// drive moves bytes until enough, or until the endpoint or ctx ends.
func (e *Endpoint) drive(ctx context.Context, enough func() bool) error {
	e.hook.Set(ctx, e.ring)
	for round := 1; ; round++ {
		switch {
		case e.closed.Load():
			return transport.ErrClosed
		case enough(): // done operations are reported before errors
			return nil
		case e.err != nil:
			return e.err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		e.err = e.once(round)
	}
}

// once does the work that is possible now or, if there is none, waits.
func (e *Endpoint) once(round int) error {
	wait := e.rouse()
	if len(e.leaving) > 0 {
		some, d := e.depart()
		if some {
			return nil // may be enough
		}
		if wait < 0 || wait > d {
			wait = d
		}
	}
	if len(e.active) == 0 {
		return e.wait(wait)
	}
	if err := e.pass(); err != nil {
		return err
	}
	if round%lookEvery == 0 {
		return e.wait(0)
	}
	return nil
}

// pass gives each active connection one call in each direction.
func (e *Endpoint) pass() error {
	still := e.active[:0]
	for i, c := range e.active {
		err := e.turn(c)
		if err != nil {
			e.active = append(still, e.active[i:]...)
			return err
		}
		if c.active = c.canSend() || c.canRead(); c.active {
			still = append(still, c)
		}
	}
	clear(e.active[len(still):])
	e.active = still
	return nil
}

func (e *Endpoint) turn(c *conn) error {
	if c.canSend() {
		if err := e.send(c); err != nil {
			return err
		}
	}
	if c.canRead() {
		return e.receive(c)
	}
	return nil
}

// wait sleeps until a socket is ready, the bell rings, or d has passed; a negative d means forever.
func (e *Endpoint) wait(d time.Duration) error {
	timeout := -1
	if d >= 0 {
		timeout = 0
	}
	if d > 0 { // epoll_wait counts in milliseconds, which is too coarse
		ts := unix.NsecToTimespec(int64(d))
		fds := [1]unix.PollFd{{Fd: int32(e.epoll), Events: unix.POLLIN}}
		if _, err := unix.Ppoll(fds[:], &ts, nil); err != nil && err != unix.EINTR {
			return fmt.Errorf("poll: %w", err)
		}
	}
	n, err := e.poll(timeout)
	if err != 0 {
		return fmt.Errorf("epoll: %w", err)
	}
	for _, ev := range e.events[:n] {
		if err := e.event(ev); err != nil {
			return err
		}
	}
	return nil
}

// poll returns the events of epoll. It first polls and sleeps without releasing the processor, if
// it may; it releases the processor only for a long sleep.
func (e *Endpoint) poll(timeout int) (int, unix.Errno) {
	short := timeout
	if timeout < 0 && alone() {
		short = nap
		n, errno := 0, unix.Errno(0)
		look := func() bool { n, errno = await(e.epoll, e.events, 0); return n > 0 || errno != 0 }
		if e.spin.until(look) {
			return n, notInterrupted(errno)
		}
	}
	if short >= 0 {
		n, errno := await(e.epoll, e.events, short)
		if n > 0 || short == timeout {
			return n, notInterrupted(errno)
		}
	}
	n, errno := errnoOf(unix.EpollWait(e.epoll, e.events, timeout))
	return n, notInterrupted(errno)
}

func notInterrupted(errno unix.Errno) unix.Errno {
	if errno == unix.EINTR {
		return 0
	}
	return errno
}

func (e *Endpoint) event(ev unix.EpollEvent) error {
	if ev.Fd == bellID {
		e.bell.quiet()
		return e.takeFresh()
	}
	c := e.conns[ev.Fd]
	const gone = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if ev.Events&gone != 0 {
		c.hup = true
	}
	if ev.Events&(unix.EPOLLIN|gone) != 0 {
		c.readable = true
	}
	if ev.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.writable = true
	}
	e.activate(c)
	return nil
}

// A bell wakes a thread that waits in poll. Any goroutine may ring it, even after its close.
type bell struct {
	mu     sync.Mutex
	fd     int
	closed bool
	count  [8]byte // for quiet, which one thread at a time calls
}

func newBell() (*bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &bell{fd: fd}, nil
}

var one = []byte{1, 0, 0, 0, 0, 0, 0, 0}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		_, _ = unix.Write(b.fd, one) // full means that it rings already
	}
}

// quiet makes poll wait again.
func (b *bell) quiet() {
	_, _ = unix.Read(b.fd, b.count[:]) // empty means that it is quiet already
}

func (b *bell) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		_ = unix.Close(b.fd)
	}
}

// A spinner checks again and again, for a short while, before a thread sleeps: waking a thread
// takes as long as a phase of small fragments. Between two checks it gives its processor to other
// threads that can run, so that ranks gain from it also where they share processors. After each
// miss twice as many waits go by without spinning.
type spinner struct {
	lasts  time.Duration // at most
	most   int           // misses that count: then one wait in 2^most spins
	misses int           // in a row
	skip   int           // waits without spinning left
}

// spinData is longer than most waits for 1 MiB on loopback. Many ranks that share processors wait for
// a signal longer than it takes to sleep, and would take turns in looking.
var (
	spinData   = spinner{lasts: time.Millisecond, most: 8}
	spinSignal = spinner{lasts: 200 * time.Microsecond, most: 6}
)

// until returns true as soon as ready does, and false if that takes too long or was skipped.
func (s *spinner) until(ready func() bool) bool {
	if s.skip > 0 {
		s.skip--
		return false
	}
	for began := time.Now(); time.Since(began) < s.lasts; {
		if ready() {
			s.misses = 0
			return true
		}
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	s.misses = min(s.misses+1, s.most)
	s.skip = 1<<s.misses - 1
	return false
}
