package tcp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"evbench/transport"
)

// An Endpoint is one rank's place on the network; it is a transport.Endpoint
// and a barrier.Peer.
type Endpoint struct {
	l     *Listener
	group Group
	files int64 // of its connections
	pacer Pacer

	closed atomic.Bool
	woken  atomic.Bool
	bell   *bell
	ring   func() // bell.ring, made once

	newMu sync.Mutex
	fresh []arrival // not attached yet

	openMu sync.Mutex
	opened map[Path]bool // by this rank

	run   sync.Mutex // held by every call that uses the fields below
	moved []moved    // by peer
	conns []*conn
	find  map[key]*conn
	polling
	done    []transport.Op
	missing int   // operations of the Exchange under way
	err     error // why the endpoint has ended
	both    gather
	arena   *arena // nil: memory is the heap's
	hook    transport.Hook

	sig signals
}

// A moved is the Movement of a peer. Only the holder of run writes it.
type moved struct{ out, in, resent atomic.Uint64 }

// A polling is the connections that may continue, and the kernel's reports about them.
type polling struct {
	epoll   int
	events  []unix.EpollEvent
	active  []*conn // may be able to continue
	asleep  []*conn
	leaving []*conn
	perByte float64 // recent time of the kernel to send a byte of them, in ns
	spin    spinner
	stirred []*conn // that may have sent segments again since the last query
	resent  uint64  // segments sent again on conns; on all connections after Close
}

// Connect opens a group's endpoint: every connection that this rank needs is open when it returns.
// The endpoint accepts the connections of others from then on. Once Connect has returned on all
// ranks, all connections exist.
func (l *Listener) Connect(ctx context.Context, g Group) (*Endpoint, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	e, err := l.newEndpoint(g)
	if err != nil {
		return nil, err
	}
	err = CheckFiles(int(wanted.Add(e.files)))
	if err == nil {
		err = e.join(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// join opens the connections of a new endpoint and takes those opened by peers.
func (e *Endpoint) join(ctx context.Context) error {
	e.run.Lock()
	defer e.run.Unlock()
	if err := e.listen(e.bell.fd, bellID, unix.EPOLLIN); err != nil {
		return err
	}
	if err := e.l.enter(e); err != nil {
		return err
	}
	if err := e.open(ctx, e.group.Need, e.group.Partners, settling); err != nil {
		return err
	}
	return e.takeFresh()
}

// newEndpoint makes an endpoint without connections. Close frees it.
func (l *Listener) newEndpoint(g Group) (*Endpoint, error) {
	e := &Endpoint{l: l, group: g, files: g.files(), pacer: l.o.Pace, moved: make([]moved, len(g.Peers)), find: map[key]*conn{}, opened: map[Path]bool{}, polling: polling{events: make([]unix.EpollEvent, 128), spin: spinData}}
	e.sig.init(g.Partners)
	var err error
	if e.arena, err = g.memory(e.pacer != nil); err != nil {
		return nil, err
	}
	if e.bell, err = newBell(); err != nil {
		e.arena.close()
		return nil, outOfFiles(err)
	}
	e.ring = e.bell.ring
	if e.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		e.bell.close()
		e.arena.close()
		return nil, outOfFiles(err)
	}
	open.Add(1)
	return e, nil
}

// memory opens the arena: a file if payload is to go out by sendfile. If sendfile was not asked
// for, a system without it is no error.
func (g *Group) memory(paced bool) (*arena, error) {
	if g.io(paced) == Copy {
		if paced || g.Message > 0 && g.Message < leastHuge {
			return nil, nil
		}
		return &arena{fd: -1, moved: g.Moved}, nil
	}
	a, err := newArena()
	if err != nil && g.IO == "" {
		return nil, nil
	}
	return a, err
}

// Extend opens the further paths of a new plan; open paths stay open. While links fail, a path may
// have no route for a moment: Extend retries until ctx ends.
func (e *Endpoint) Extend(ctx context.Context, need []Path) error {
	e.run.Lock()
	defer e.run.Unlock()
	if err := e.usable(); err != nil {
		return err
	}
	if err := e.group.validateNeed(need); err != nil {
		return err
	}
	return e.open(ctx, need, nil, always)
}

// open opens the missing connections. A missing route to a peer is tolerated within patience.
func (e *Endpoint) open(ctx context.Context, need []Path, partners []int, patience time.Duration) error {
	var paths, pairs []Path
	seen := map[Path]bool{}
	for _, p := range need {
		if !seen[p] && e.find[key{p.Peer, p.Spine, true}] == nil {
			seen[p] = true
			paths = append(paths, p)
		}
	}
	for _, r := range partners {
		if r > e.group.Rank { // one connection serves both; the lower rank opens it
			pairs = append(pairs, Path{r, transport.Single})
		}
	}
	calls := append(e.calls(kindData, paths), e.calls(kindBarrier, pairs)...)
	until := time.Now().Add(patience)
	for _, c := range calls {
		c.until = until
	}
	if err := e.dial(ctx, calls); err != nil {
		return err
	}
	for _, c := range calls {
		if c.kind == kindBarrier {
			e.sig.add(c.dst, c.fd)
		} else if err := e.attach(e.conn(key{c.dst, c.path, true}), c.fd); err != nil {
			return err
		}
	}
	e.openMu.Lock()
	defer e.openMu.Unlock()
	for _, p := range paths {
		e.opened[p] = true
	}
	return nil
}

// Opened reports whether all these paths are open, so that Extend would do nothing. Any goroutine
// may call it at any time.
func (e *Endpoint) Opened(need []Path) bool {
	e.openMu.Lock()
	defer e.openMu.Unlock()
	return !slices.ContainsFunc(need, func(p Path) bool { return !e.opened[p] })
}

// conn returns a connection, which may not be open yet.
func (e *Endpoint) conn(k key) *conn {
	c := e.find[k]
	if c == nil {
		c = &conn{key: k, id: len(e.conns), fd: -1}
		e.find[k] = c
		e.conns = append(e.conns, c)
		e.stirred = slices.Grow(e.stirred, len(e.conns)-len(e.stirred)) // so that stir allocates nothing
	}
	return c
}

const bellID = -1

func (e *Endpoint) listen(fd, id int, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: int32(id)}
	if err := unix.EpollCtl(e.epoll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// attach gives an open socket to its connection. epoll reports only changes from then on, so that a
// phase needs no call to register interest.
func (e *Endpoint) attach(c *conn, fd int) error {
	c.fd = fd
	if err := bound(fd, e.group.SockBuf); err != nil {
		return err
	}
	if !c.ours {
		if err := urgent(fd); err != nil {
			return err
		}
	}
	c.readable, c.writable = true, true
	e.activate(c)
	e.ask(c) // opening may have taken several segments
	return e.listen(fd, c.id, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET)
}

// expects reports whether a peer may open such a connection to this rank.
func (e *Endpoint) expects(p preface) bool {
	return p.dst == e.group.Rank && p.src < len(e.group.Peers)
}

// arrive takes a connection that a peer has opened: at once, if the endpoint is idle. Otherwise its
// first phase would begin with the set-up of many connections.
func (e *Endpoint) arrive(a arrival) {
	if a.kind == kindBarrier {
		e.sig.add(a.src, a.fd)
		return
	}
	e.newMu.Lock()
	e.fresh = append(e.fresh, a)
	e.newMu.Unlock()
	if !e.run.TryLock() {
		e.bell.ring()
		return
	}
	defer e.run.Unlock()
	if err := e.takeFresh(); err != nil && e.err == nil {
		e.err = err
	}
}

func (e *Endpoint) takeFresh() error {
	e.newMu.Lock()
	as := e.fresh
	e.fresh = nil
	e.newMu.Unlock()
	var err error
	for _, a := range as {
		if err == nil {
			err = e.translated(a)
		}
		if c := e.conn(key{a.src, a.path, false}); err == nil {
			err = e.attach(c, a.fd)
		} else {
			_ = unix.Close(a.fd)
		}
	}
	return err
}

// translated returns an error for a connection that does not come from the address and the port of the plan: somebody on the
// way (NAT) writes other headers than those by which the switches were asked.
func (e *Endpoint) translated(a arrival) error {
	s, err := unix.Getpeername(a.fd)
	if !e.group.Ports || err != nil { // nobody is there any more
		return nil
	}
	var is netip.AddrPort
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		is = netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port))
	case *unix.SockaddrInet6:
		is = netip.AddrPortFrom(netip.AddrFrom16(s.Addr).Unmap(), uint16(s.Port))
	}
	own, _ := netip.ParseAddrPort(e.group.Peers[a.src].addr(transport.Single)) // it has connected to others
	want, port := own.Addr().WithZone("").Unmap(), is.Port()
	if a.path != transport.Single { // else its kernel has chosen the port
		port = uint16(a.path)
	}
	if is.Port() == port && (is.Addr() == want || want.IsUnspecified()) {
		return nil
	}
	return &transport.PeerError{Peer: a.src, Op: "accept", Err: fmt.Errorf("its connection comes from %v and left from %v: headers are changed on the way (NAT), so the paths asked for are not those of the connection", is, netip.AddrPortFrom(want, port))}
}

func (e *Endpoint) Rank() int { return e.group.Rank }

// IO returns how payload moves: Copy or Sendfile.
func (e *Endpoint) IO() string {
	if e.arena.ofFile() {
		return Sendfile
	}
	return Copy
}

// Alloc returns n bytes, which are invalid after Close. If IO is Sendfile, sent bytes may still be
// in transit without a copy: they must not change until Close. Receive buffers may be overwritten.
func (e *Endpoint) Alloc(n int) []byte {
	e.run.Lock()
	defer e.run.Unlock()
	if e.arena != nil && !e.closed.Load() {
		if b := e.arena.alloc(n); b != nil {
			return b
		}
	}
	return make([]byte, n)
}

func (e *Endpoint) usable() error {
	if e.closed.Load() {
		return transport.ErrClosed
	}
	return e.err
}

func (e *Endpoint) Exchange(ctx context.Context, ops []transport.Op) error {
	e.run.Lock()
	defer e.run.Unlock()
	if err := errors.Join(e.usable(), ctx.Err()); err != nil {
		return err
	}
	for i := range ops {
		if k := ops[i].Kind; k != transport.Send && k != transport.Recv {
			return fmt.Errorf("%v is not for an exchange", k)
		}
	}
	if err := e.check(ops); err != nil {
		return err
	}
	for i := range ops {
		e.missing++
		e.push(task{ops[i], &ops[i]})
	}
	err := e.drive(ctx, e.exchanged)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("an exchange was cut short: %w", err)
	}
	return err
}

func (e *Endpoint) exchanged() bool { return e.missing == 0 }

func (e *Endpoint) Post(ops []transport.Op) error {
	e.run.Lock()
	defer e.run.Unlock()
	if err := e.usable(); err != nil {
		return err
	}
	if err := e.check(ops); err != nil {
		return err
	}
	for i := range ops {
		e.push(task{op: ops[i]})
	}
	return nil
}

func (e *Endpoint) Poll(ctx context.Context, done []transport.Op) (int, error) {
	e.run.Lock()
	defer e.run.Unlock()
	if err := e.drive(ctx, e.reportable); err != nil {
		return 0, err
	}
	e.woken.Store(false)
	n := copy(done, e.done)
	rest := copy(e.done, e.done[n:])
	clear(e.done[rest:])
	e.done = e.done[:rest]
	return n, nil
}

func (e *Endpoint) reportable() bool { return len(e.done) > 0 || e.woken.Load() }

func (e *Endpoint) Wake() {
	e.woken.Store(true)
	e.bell.ring()
}

// ours reports whether an operation uses a connection that this rank opened.
func ours(k transport.Kind) bool { return k == transport.Send || k == transport.RecvRequest }

func (e *Endpoint) check(ops []transport.Op) error {
	for i := range ops {
		o := &ops[i]
		if err := o.Check(e.group.Rank, len(e.group.Peers)); err != nil {
			return err
		}
		if ours(o.Kind) && e.find[key{o.Peer, o.Path, true}] == nil {
			return fmt.Errorf("%v: no connection to %v has been opened", o.Kind, Path{o.Peer, o.Path})
		}
	}
	return nil
}

func (e *Endpoint) push(t task) {
	c := e.conn(key{t.op.Peer, t.op.Path, ours(t.op.Kind)})
	if t.op.Kind == transport.Send || t.op.Kind == transport.SendRequest {
		c.out.push(t)
	} else {
		c.in.push(t)
	}
	e.activate(c)
}

func (e *Endpoint) activate(c *conn) {
	if !c.active && (c.canSend() || c.canRead()) {
		c.active = true
		e.active = append(e.active, c)
	}
}

func (e *Endpoint) finished(t task, n int) {
	if t.back != nil {
		t.back.N = n
		if t.op.Kind == transport.Recv {
			t.back.Done = time.Now()
		}
		e.missing--
		return
	}
	t.op.N = n
	e.done = append(e.done, t.op)
}

func (e *Endpoint) Moved(peer int) transport.Movement {
	m := &e.moved[peer]
	return transport.Movement{Out: m.out.Load(), In: m.in.Load(), Resent: m.resent.Load()}
}

func (e *Endpoint) left(c *conn, n int) {
	if c.ours {
		e.moved[c.peer].out.Store(e.moved[c.peer].out.Load() + uint64(n))
	}
}

func (e *Endpoint) came(c *conn, n int) {
	if !c.ours {
		e.moved[c.peer].in.Store(e.moved[c.peer].in.Load() + uint64(n))
	}
}

func (e *Endpoint) stir(c *conn) {
	if !c.stirred {
		c.stirred = true
		e.stirred = append(e.stirred, c)
	}
}

// Retransmits returns the segments that the kernel sent again, over all connections. It queries
// only connections that have sent since the last query, or had unacknowledged bytes then: thousands
// may be open and idle.
func (e *Endpoint) Retransmits() uint64 {
	e.run.Lock()
	defer e.run.Unlock()
	if e.closed.Load() {
		return e.resent
	}
	return e.retransmits()
}

func (e *Endpoint) retransmits() uint64 {
	e.stirred = slices.DeleteFunc(e.stirred, func(c *conn) bool {
		c.stirred = e.ask(c)
		return !c.stirred
	})
	sum := e.resent
	e.sig.each(func(fd int) {
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			sum += uint64(info.Total_retrans)
		}
	})
	return sum
}

// ask counts the segments a connection sent again since the last query, and reports whether it may
// still send some again.
func (e *Endpoint) ask(c *conn) (more bool) {
	info, err := unix.GetsockoptTCPInfo(c.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return false
	}
	e.resent += uint64(info.Total_retrans - c.resent)
	c.resent = info.Total_retrans
	all := lost(info) // less than before where the receiver has told meanwhile
	e.moved[c.peer].resent.Store(e.moved[c.peer].resent.Load() + uint64(all) - uint64(c.lost))
	c.lost = all
	return info.Unacked+info.Notsent_bytes > 0
}

// lost is how many segments of a connection were sent again because the network had lost them: of the others the receiver says that they
// had come already (DSACK, RFC 2883). A sender that waits for a processor takes late acknowledgements for losses.
func lost(info *unix.TCPInfo) uint32 {
	return info.Total_retrans - min(info.Dsack_dups, info.Total_retrans)
}

// Close unblocks every call and closes all connections.
func (e *Endpoint) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	e.l.leave(e) // no connection arrives from now on
	e.bell.ring()
	e.sig.shutdown()
	e.run.Lock()
	defer e.run.Unlock()
	e.hook.Clear()
	_ = e.takeFresh() // closed with the others below
	e.resent = e.retransmits()
	for _, c := range e.conns {
		if c.fd >= 0 {
			_ = unix.Close(c.fd)
			c.fd = -1
		}
	}
	e.sig.close()
	e.bell.close()
	e.arena.close()
	open.Add(-1)
	wanted.Add(-e.files)
	return unix.Close(e.epoll)
}
