package preflight

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"evbench/controller/wire"
	"evbench/transport/tcp"
)

// longest is how long a switch may take for its answer: some take tens of milliseconds, as their processor makes it. After
// the first answers to a host, patience times the slowest of them is enough, but no less than shortest.
const (
	longest, shortest = 300 * time.Millisecond, 50 * time.Millisecond
	first, patience   = 16, 4
)

// silences is how many switches in a row may stay without an answer before the rest of a way is given up.
const silences = 2

// behind is how many questions late a host may be and catch up, at once: where processors are busy it wakes late.
const behind = 4

// Trace follows trails for package ports, questions gap apart. in runs a function inside the network namespace for sockets; nil calls it
// directly. The result has the order of trails.
func Trace(ctx context.Context, in func(func() error) error, trails []wire.Trail, gap time.Duration) []wire.Seen {
	t := tracer{seen: make([]wire.Seen, len(trails)), gap: gap, wait: longest}
	open := func() error {
		for i, t1 := range trails {
			p, err := newTrail(t1)
			switch {
			case err == nil:
				p.at = i
				t.pending = append(t.pending, p)
			case errors.Is(err, unix.EADDRINUSE):
				t.seen[i].InUse = true
			default:
				t.seen[i].Err = err.Error()
			}
		}
		return nil
	}
	if in == nil {
		in = func(f func() error) error { return f() }
	}
	if err := in(open); err != nil {
		for i := range t.seen {
			t.seen[i] = wire.Seen{Err: err.Error()}
		}
		return t.seen
	}
	t.run(ctx)
	for _, p := range append(t.pending, t.flight...) {
		t.end(p, nil)
	}
	return t.seen
}

// A trail is a socket bound to a source port, which asks one switch after the other.
type trail struct {
	wire.Trail
	at     int // in the result
	family int
	fd     int
	to     unix.Sockaddr
	ttl    int
	sent   time.Time
	none   int // switches in a row without an answer
	// Of UDP, which a destination may take without a word: the socket of a connection that is begun where no switch answers, which
	// tells whether the destination is that near; asked: it is, at this TTL.
	end   int
	asked bool
}

func newTrail(t wire.Trail) (*trail, error) {
	to, family, err := tcp.Sockaddr(t.To)
	if err != nil {
		return nil, err
	}
	p := &trail{Trail: t, family: family, to: to, ttl: t.First}
	if !t.UDP {
		p.fd, err = p.socket(unix.SOCK_STREAM, t.Port)
		return p, err
	}
	if p.fd, err = p.socket(unix.SOCK_DGRAM, t.Port); err != nil {
		return nil, err
	}
	if err = unix.Connect(p.fd, p.to); err == nil {
		p.end, err = p.socket(unix.SOCK_STREAM, 0)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(p.fd))
	}
	return p, nil
}

// socket makes one bound to a port, 0 any, for which the kernel keeps what switches answer.
func (p *trail) socket(kind, port int) (int, error) {
	fd, err := unix.Socket(p.family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	err = errors.Join(tcp.OfPort(fd, p.family), set(fd, unix.IP_RECVERR, unix.IPV6_RECVERR, 1))
	if err == nil && p.From != "" {
		var from unix.Sockaddr
		if from, _, err = tcp.Sockaddr(net.JoinHostPort(p.From, strconv.Itoa(port))); err == nil {
			err = unix.Bind(fd, from)
		}
	}
	if err != nil {
		return 0, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// socketNow is that of the question under way; stream reports whether it begins a connection.
func (p *trail) socketNow() (fd int, stream bool) {
	if p.asked {
		return p.end, true
	}
	return p.fd, !p.UDP
}

// datagram is one that no adapter takes for a packet of RoCE: its checksum is wrong.
var datagram = make([]byte, 16)

// send begins a connection that the TTL ends, or sends a datagram.
func (p *trail) send() error {
	fd, stream := p.socketNow()
	if p.ttl > p.First || p.asked {
		if stream {
			disconnect(fd)
		}
		_, _, _ = p.answer() // to the question before, when it came too late: it is none to this one
	}
	if err := set(fd, unix.IP_TTL, unix.IPV6_UNICAST_HOPS, p.ttl); err != nil {
		return err
	}
	if !stream {
		_, err := unix.Write(fd, datagram)
		if err != nil { // that of a late answer, which is told once
			_, err = unix.Write(fd, datagram)
		}
		return err
	}
	if err := unix.Connect(fd, p.to); err != unix.EINPROGRESS && err != unix.ECONNREFUSED {
		return err
	}
	return nil
}

// answer returns what the socket has heard: the address of a switch, or that the destination is reached.
func (p *trail) answer() (hop string, reached bool, err error) {
	fd, stream := p.socketNow()
	errno, e := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR) // before the queue, which takes it with it
	body, control := make([]byte, 256), make([]byte, 512)
	for {
		_, n, _, _, e := unix.Recvmsg(fd, body, control, unix.MSG_ERRQUEUE)
		if e != nil {
			break
		}
		if a := offender(control[:n]); a != "" {
			hop = a
		}
	}
	switch {
	case hop != "":
		return hop, false, nil
	case e != nil:
		return "", false, e
	case errno == 0 || unix.Errno(errno) == unix.ECONNREFUSED:
		return "", stream || errno != 0, nil
	}
	return "", false, unix.Errno(errno)
}

type tracer struct {
	seen            []wire.Seen
	pending, flight []*trail
	gap             time.Duration
	next            time.Time // of the next question
	answered        int
	slowest, wait   time.Duration // the slowest answer, and how long one may take
}

func (t *tracer) run(ctx context.Context) {
	for len(t.pending)+len(t.flight) > 0 && ctx.Err() == nil {
		now := time.Now()
		for len(t.pending) > 0 && !t.next.After(now) {
			p := t.pending[0]
			t.pending = t.pending[1:]
			if t.next = t.next.Add(t.gap); t.next.Before(now.Add(-behind * t.gap)) {
				t.next = now.Add(-behind * t.gap)
			}
			p.sent = now
			if err := p.send(); err != nil {
				t.end(p, err)
				continue
			}
			t.flight = append(t.flight, p)
		}
		t.poll(now)
		t.expire(time.Now())
	}
}

// poll waits for answers, the next question or the end of a wait.
func (t *tracer) poll(now time.Time) {
	until := now.Add(t.wait)
	if len(t.pending) > 0 && t.next.Before(until) {
		until = t.next
	}
	fds := make([]unix.PollFd, len(t.flight))
	for i, p := range t.flight {
		fd, stream := p.socketNow()
		if fds[i].Fd = int32(fd); stream { // of a datagram errors alone are heard
			fds[i].Events = unix.POLLOUT
		}
		if late := t.late(p); late.Before(until) {
			until = late
		}
	}
	limit := unix.NsecToTimespec(max(0, until.Sub(now)).Nanoseconds())
	if n, err := unix.Ppoll(fds, &limit, nil); err != nil || n == 0 {
		return
	}
	now = time.Now()
	rest := t.flight[:0:0]
	for i, p := range t.flight {
		if fds[i].Revents == 0 {
			rest = append(rest, p)
			continue
		}
		t.slowest, t.answered = max(t.slowest, now.Sub(p.sent)), t.answered+1
		if t.answered >= first {
			t.wait = min(max(shortest, patience*t.slowest), longest)
		}
		hop, reached, err := p.answer()
		switch {
		case reached:
			t.seen[p.at].Reached = true
			t.end(p, nil)
		case p.asked: // the way of that connection is another
			p.none++
			t.heard(p, "")
		case err != nil:
			t.end(p, err)
		default:
			p.none = 0
			t.heard(p, hop)
		}
	}
	t.flight = rest
}

func (t *tracer) expire(now time.Time) {
	rest := t.flight[:0:0]
	for _, p := range t.flight {
		if t.late(p).After(now) {
			rest = append(rest, p)
			continue
		}
		if p.UDP && !p.asked {
			p.asked = true
			t.pending = append(t.pending, p)
			continue
		}
		p.none++
		t.heard(p, "")
	}
	t.flight = rest
}

// late is when the wait for an answer ends.
func (t *tracer) late(p *trail) time.Time { return p.sent.Add(min(t.wait, cmp.Or(p.Wait, longest))) }

// heard notes the answer of a switch, "" for none, and asks the next one.
func (t *tracer) heard(p *trail, hop string) {
	t.seen[p.at].Hops = append(t.seen[p.at].Hops, hop)
	p.asked = false
	if p.ttl++; p.ttl > p.Last || p.none >= silences {
		t.end(p, nil)
		return
	}
	t.pending = append(t.pending, p)
}

func (t *tracer) end(p *trail, err error) {
	if err != nil {
		t.seen[p.at].Err = err.Error()
	}
	_ = unix.Close(p.fd)
	if p.UDP {
		_ = unix.Close(p.end)
	}
}

// disconnect ends an attempt that nobody has answered: connect to an address of no family (connect(2)), for which
// package unix has no form. The port stays bound.
func disconnect(fd int) {
	none := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	_, _, _ = unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(none)) // else the next connect fails, and says so
}
