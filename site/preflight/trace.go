package preflight

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"evbench/controller/wire"
)

// longest is how long a switch may take for its answer: some take tens of milliseconds, as their processor makes it. After
// the first answers to a host, patience times the slowest of them is enough, but no less than shortest.
const (
	longest, shortest = 300 * time.Millisecond, 50 * time.Millisecond
	first, patience   = 16, 4
)

// silences is how many switches in a row may stay without an answer before the rest of a way is given up.
const silences = 2

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
		t.end(cmp.Or(p.of, p), nil)
	}
	return t.seen
}

// A trail is a socket bound to a source port, which asks one switch after the other.
type trail struct {
	wire.Trail
	at   int // in the result
	fd   int
	six  bool
	to   unix.Sockaddr
	ttl  int
	sent time.Time
	none int // switches in a row without an answer
	// Of UDP, which a destination may take without a word: a connection that is begun where no switch answers, which tells
	// whether the destination is that near.
	end   *trail
	of    *trail // end's
	asked bool   // end, at this TTL
}

// autoFlowLabel is IPV6_AUTOFLOWLABEL: by default the kernel draws a flow label for each connection, which switches hash, too.
const autoFlowLabel = 70

func newTrail(t wire.Trail) (*trail, error) {
	to, err := netip.ParseAddrPort(t.To)
	if err != nil {
		return nil, err
	}
	from, err := netip.ParseAddr(t.From)
	if err != nil {
		return nil, err
	}
	p := &trail{Trail: t, six: to.Addr().Is6(), to: sockaddr(to), ttl: t.First}
	family, kind := unix.AF_INET, unix.SOCK_STREAM
	if t.UDP {
		kind = unix.SOCK_DGRAM
	}
	if p.six {
		family = unix.AF_INET6
	}
	if p.fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return nil, err
	}
	err = errors.Join(
		unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.SetsockoptLinger(p.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}), // no TIME_WAIT: the port is wanted soon
	)
	if p.six {
		err = errors.Join(err, unix.SetsockoptInt(p.fd, unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1), unix.SetsockoptInt(p.fd, unix.IPPROTO_IPV6, autoFlowLabel, 0))
	} else {
		err = errors.Join(err, unix.SetsockoptInt(p.fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1))
	}
	if err == nil {
		err = unix.Bind(p.fd, sockaddr(netip.AddrPortFrom(from, uint16(t.Port))))
	}
	if err == nil && t.UDP {
		if err = unix.Connect(p.fd, p.to); err == nil {
			p.end, err = newTrail(wire.Trail{From: t.From, To: t.To, Wait: t.Wait})
		}
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(p.fd))
	}
	if t.UDP {
		p.end.of = p
	}
	return p, nil
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	s := &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	if i, err := net.InterfaceByName(a.Addr().Zone()); err == nil {
		s.ZoneId = uint32(i.Index)
	}
	return s
}

// datagram is one that no adapter takes for a packet of RoCE: its checksum is wrong.
var datagram = make([]byte, 16)

// send begins a connection that the TTL ends, or sends a datagram.
func (p *trail) send() error {
	if p.ttl > p.First {
		if !p.UDP {
			p.disconnect()
		}
		_, _, _ = p.answer() // to the question before, when it came too late: it is none to this one
	}
	var err error
	if p.six {
		err = unix.SetsockoptInt(p.fd, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, p.ttl)
	} else {
		err = unix.SetsockoptInt(p.fd, unix.IPPROTO_IP, unix.IP_TTL, p.ttl)
	}
	if err != nil {
		return err
	}
	if p.UDP {
		if _, err = unix.Write(p.fd, datagram); err != nil { // that of a late answer, which is told once
			_, err = unix.Write(p.fd, datagram)
		}
		return err
	}
	if err = unix.Connect(p.fd, p.to); err == unix.EINPROGRESS || err == unix.ECONNREFUSED {
		err = nil
	}
	return err
}

// answer returns what the socket has heard: the address of a switch, or that the destination is reached.
func (p *trail) answer() (hop string, reached bool, err error) {
	errno, e := unix.GetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_ERROR) // before the queue, which takes it with it
	body, control := make([]byte, 256), make([]byte, 512)
	for {
		_, n, _, _, e := unix.Recvmsg(p.fd, body, control, unix.MSG_ERRQUEUE)
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
	case errno == 0 && p.UDP:
		return "", false, nil
	case errno == 0 || unix.Errno(errno) == unix.ECONNREFUSED:
		return "", true, nil
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
		t.expire(now)
		for len(t.pending) > 0 && !t.next.After(now) {
			p := t.pending[0]
			t.pending = t.pending[1:]
			if t.next = t.next.Add(t.gap); t.next.Before(now) {
				t.next = now.Add(t.gap)
			}
			p.sent = now
			if err := p.send(); err != nil {
				t.end(cmp.Or(p.of, p), err)
				continue
			}
			t.flight = append(t.flight, p)
		}
		t.poll(now)
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
		if fds[i].Fd = int32(p.fd); !p.UDP { // of a datagram errors alone are heard
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
		case p.of != nil:
			t.ends(p.of, reached)
		case err != nil:
			t.end(p, err)
		case reached:
			t.seen[p.at].Reached = true
			t.end(p, nil)
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
		switch {
		case p.of != nil:
			t.ends(p.of, false)
		case p.UDP && !p.asked:
			p.asked, p.end.ttl = true, p.ttl
			t.pending = append(t.pending, p.end)
		default:
			p.none++
			t.heard(p, "")
		}
	}
	t.flight = rest
}

// ends takes what a connection says of a datagram's silence.
func (t *tracer) ends(p *trail, reached bool) {
	if reached {
		t.seen[p.at].Reached = true
		t.end(p, nil)
		return
	}
	p.none++
	t.heard(p, "")
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
	if p.end != nil {
		_ = unix.Close(p.end.fd)
	}
}

// disconnect ends an attempt that nobody has answered: connect to an address of no family (connect(2)), for which
// package unix has no form. The port stays bound.
func (p *trail) disconnect() {
	none := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	_, _, _ = unix.Syscall(unix.SYS_CONNECT, uintptr(p.fd), uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(none)) // else the next connect fails, and says so
}
