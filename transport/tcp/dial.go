package tcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"evbench/internal/port"
	"evbench/transport"
)

type call struct {
	preface
	to, from string // addresses; from may be ""
	port     uint16 // of from; 0: the kernel chooses
	token    string
	fd       int
	stage    stage
	got      int // bytes received of the greeting, or of the answer
	heard    [max(greetingSize, answerSize)]byte
	theirs   nonce
	said     []byte // the preface

	until time.Time // a missing route to the peer is tolerated until then
	again time.Time // when to try again; zero: the attempt is under way
}

// retryEvery is the interval of retries of a call without a route.
const retryEvery = 10 * time.Millisecond

// How long a route to a peer may be missing. A self-routing network settles during the set-up of a
// case, after changes of its links; later ctx sets the limit.
const (
	settling = 2 * time.Second
	always   = 365 * 24 * time.Hour
)

type stage int

const (
	connecting stage = iota
	hearing          // the greeting
	answering
	opened
)

// String says what a call is waiting for.
func (s stage) String() string {
	return [...]string{"not connected", "connected, not greeted", "greeted, not answered", "open"}[s]
}

func (e *Endpoint) calls(kind byte, paths []Path) []*call {
	var out []*call
	for _, p := range paths {
		c := &call{fd: -1, token: e.l.o.Token, preface: preface{
			kind: kind, group: e.group.ID, src: e.group.Rank, dst: p.Peer, path: p.Spine,
		}}
		at := p.Spine
		if e.group.Ports && at != transport.Single {
			at, c.port = transport.Single, uint16(p.Spine)
		}
		c.to = e.group.Peers[p.Peer].addr(at)
		c.from = source(e.group.Peers[e.group.Rank].addr(e.group.back(at)), c.port)
		out = append(out, c)
	}
	return out
}

// source returns the address to bind to, or "" if the own address is unspecified and any port will do.
func source(own string, port uint16) string {
	a, err := netip.ParseAddrPort(own)
	if err != nil || a.Addr().IsUnspecified() && port == 0 {
		return ""
	}
	return netip.AddrPortFrom(a.Addr(), port).String()
}

// callsUnderWay is how many calls of an endpoint are under way at once: if all servers of a large
// tree called all others at once, they would only slow each other down.
const callsUnderWay = 16

// dial opens all calls, in their order. On an error none stays open.
func (e *Endpoint) dial(ctx context.Context, calls []*call) (err error) {
	defer func() {
		if err != nil {
			for _, c := range calls {
				if c.fd >= 0 {
					_ = unix.Close(c.fd)
				}
			}
		}
	}()
	err = e.l.o.in(func() error {
		for _, c := range calls {
			if err := c.socket(&e.l.o); err != nil {
				return c.failed(err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return finish(ctx, calls, e.group.Moved)
}

// begin connects, or schedules a retry.
func (c *call) begin() error {
	c.again = time.Time{}
	return c.excuse(c.connect())
}

// excuse returns err, unless it is worth a retry.
func (c *call) excuse(err error) error {
	now := time.Now()
	if now.Before(c.until) && (errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH)) {
		c.again = now.Add(retryEvery)
		return nil
	}
	return err
}

// due begins the calls that are due, and returns whether any is waiting.
func due(calls []*call) (waiting bool, err error) {
	for _, c := range calls {
		if !c.again.IsZero() && time.Until(c.again) <= 0 {
			if err := c.begin(); err != nil {
				return false, c.failed(err)
			}
		}
		waiting = waiting || !c.again.IsZero()
	}
	return waiting, nil
}

func (c *call) failed(err error) error {
	return &transport.PeerError{Peer: c.dst, Op: "connect", Err: fmt.Errorf("%v at %s: %w", Path{c.dst, c.path}, c.to, outOfFiles(err))}
}

// socket makes the socket, bound to its source. Unless the plan has a port, it is chosen at connect, so that all sockets
// of a server can use all ports.
func (c *call) socket(o *Options) error {
	_, family, err := Sockaddr(c.to)
	if err != nil {
		return err
	}
	c.fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		c.fd = -1
		return err
	}
	if err := o.tune(c.fd); err != nil || c.from == "" {
		return err
	}
	from, _, err := Sockaddr(c.from)
	if err != nil {
		return err
	}
	if c.port > 0 {
		err = OfPort(c.fd, family)
	} else if err = unix.SetsockoptInt(c.fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		err = fmt.Errorf("IP_BIND_ADDRESS_NO_PORT: %w", err)
	}
	if err != nil {
		return err
	}
	if err := unix.Bind(c.fd, from); err != nil {
		return fmt.Errorf("bind to %s: %w", c.from, err)
	}
	return nil
}

// autoFlowLabel is IPV6_AUTOFLOWLABEL: by default the kernel draws a label for each connection, which switches hash, too.
const autoFlowLabel = 70

// OfPort readies a socket for a port that a plan has chosen: the next case wants it again at once, so it leaves no
// TIME_WAIT behind, and by then all bytes have arrived.
func OfPort(fd, family int) error {
	err := errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}),
	)
	if err == nil && family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, autoFlowLabel, 0)
	}
	return err
}

// connect begins an attempt. An attempt may survive the error that causes a retry: an ICMP message
// that arrived while the kernel held the socket is reported, and the attempt goes on.
func (c *call) connect() error {
	to, _, err := Sockaddr(c.to)
	if err != nil {
		return err
	}
	switch err := unix.Connect(c.fd, to); err {
	case unix.EINPROGRESS, unix.EALREADY, unix.EISCONN:
		return nil
	default:
		return err
	}
}

// finish begins the calls, in their order, and drives them until all are open or ctx ends. It calls
// moved, if not nil, for each opened call.
func finish(ctx context.Context, calls []*call, moved func()) error {
	all, calls := calls, calls[:0:0]
	bell, err := newBell()
	if err != nil {
		return outOfFiles(err)
	}
	defer bell.close()
	defer context.AfterFunc(ctx, bell.ring)()
	fds := make([]unix.PollFd, 0, 1+callsUnderWay)
	begun := 0
	for {
		calls = slices.DeleteFunc(calls, func(c *call) bool {
			if c.stage == opened && moved != nil {
				moved()
			}
			return c.stage == opened
		})
		for len(calls) < callsUnderWay && begun < len(all) {
			c := all[begun]
			if err := c.begin(); err != nil {
				return c.failed(err)
			}
			calls, begun = append(calls, c), begun+1
		}
		waiting, err := due(calls)
		if err != nil {
			return err
		}
		fds = append(fds[:0], unix.PollFd{Fd: int32(bell.fd), Events: unix.POLLIN})
		for _, c := range calls {
			if c.underWay() {
				fds = append(fds, unix.PollFd{Fd: int32(c.fd), Events: c.events()})
			}
		}
		timeout := -1
		if waiting {
			timeout = int(retryEvery.Milliseconds())
		} else if len(fds) == 1 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return notOpen(all, err)
		}
		if _, err := again(func() (int, error) { return unix.Poll(fds, timeout) }); err != nil {
			return fmt.Errorf("poll: %w", err)
		}
		if err := advance(calls, fds[1:]); err != nil {
			return err
		}
	}
}

func (c *call) underWay() bool { return c.stage != opened && c.again.IsZero() }

func advance(calls []*call, fds []unix.PollFd) error {
	for _, c := range calls {
		if !c.underWay() {
			continue
		}
		ready := fds[0].Revents != 0
		fds = fds[1:]
		if !ready {
			continue
		}
		if err := c.step(); err != nil {
			return c.failed(err)
		}
	}
	return nil
}

// notOpen names the first call that is not open, and their number.
func notOpen(calls []*call, err error) error {
	left := slices.DeleteFunc(slices.Clone(calls), func(c *call) bool { return c.stage == opened })
	return left[0].failed(fmt.Errorf("%v, %w (%d of %d connections are not open)", left[0].stage, err, len(left), len(calls)))
}

func (c *call) events() int16 {
	if c.stage == connecting {
		return unix.POLLOUT
	}
	return unix.POLLIN
}

func (c *call) step() error {
	switch c.stage {
	case connecting:
		if errno, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil {
			return err
		} else if errno != 0 {
			return c.excuse(unix.Errno(errno))
		}
		c.stage = hearing
	case hearing:
		if whole, err := c.hear(greetingSize); !whole {
			return err
		}
		return c.introduce()
	case answering:
		if whole, err := c.hear(answerSize); !whole {
			return err
		}
		c.stage = opened
		return readAnswer(c.heard[:answerSize], c.token, c.theirs, c.said)
	}
	return nil
}

// hear reads the available part of a message of size bytes, and reports whether it is complete.
func (c *call) hear(size int) (whole bool, err error) {
	n, err := unix.Read(c.fd, c.heard[c.got:size])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return false, nil
	case err != nil:
		return false, err
	case n == 0:
		return false, errors.New("the connection was closed without an answer")
	}
	c.got += n
	return c.got == size, nil
}

// introduce answers a greeting with the preface. A new connection has room for all of it.
func (c *call) introduce() (err error) {
	if c.theirs, err = readGreeting(c.heard[:greetingSize]); err != nil {
		return err
	}
	c.said = c.encode(c.token, c.theirs, port.Nonce())
	if n, err := unix.Write(c.fd, c.said); err != nil || n != prefaceSize {
		return errors.Join(err, errors.New("the preface could not be sent"))
	}
	c.stage, c.got = answering, 0
	return nil
}
