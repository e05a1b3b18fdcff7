package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"evbench/internal/port"
)

// handshakeTime bounds the handshake of a new connection.
const handshakeTime = 10 * time.Second

// A Listener takes the connections of one server's endpoints, one group after the other.
// Connections for a group that is not open here yet wait for it.
type Listener struct {
	o    Options
	ln   *net.TCPListener
	quit chan struct{}
	work sync.WaitGroup // the accepting goroutine and one for each handshake

	mu      sync.Mutex
	closed  bool
	shaking port.Strangers
	taken   map[preface]bool // accepted, of groups that are not over
	waiting map[uint32][]arrival
	open    map[uint32]*Endpoint
	over    int64 // groups up to this one are over; -1: none
}

type arrival struct {
	preface
	fd int
}

func Listen(o Options) (*Listener, error) {
	l := &Listener{
		o: o, quit: make(chan struct{}), over: -1,
		taken: map[preface]bool{}, waiting: map[uint32][]arrival{}, open: map[uint32]*Endpoint{},
	}
	if _, _, err := Sockaddr(o.Addr); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	lc := net.ListenConfig{KeepAlive: -1, Control: func(_, _ string, c syscall.RawConn) error {
		var tuned error
		if err := c.Control(func(fd uintptr) { tuned = o.tune(int(fd)) }); err != nil {
			return err
		}
		return tuned
	}}
	err := o.in(func() error {
		ln, err := lc.Listen(context.Background(), "tcp", o.Addr)
		if err == nil {
			l.ln = ln.(*net.TCPListener)
		}
		return err
	})
	if err != nil {
		return nil, outOfFiles(err) // it names the operation and the address
	}
	l.work.Go(l.accept)
	return l, nil
}

// Addr returns the listening address, "ip:port".
func (l *Listener) Addr() string { return l.ln.Addr().String() }

// Close stops accepting and closes connections that no endpoint has taken. Open endpoints keep
// theirs.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.quit)
	err := l.ln.Close()
	for _, g := range l.shaking {
		_ = g.Conn.Close()
	}
	l.mu.Unlock()
	l.work.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, as := range l.waiting {
		closeArrivals(as)
	}
	clear(l.waiting)
	return err
}

func closeArrivals(as []arrival) {
	for _, a := range as {
		_ = unix.Close(a.fd)
	}
}

func (l *Listener) accept() {
	port.Accept(l.ln.AcceptTCP, l.quit, func(c *net.TCPConn) {
		if l.come(c) {
			l.work.Go(func() { l.shake(c) }) // its own goroutine: a slow stranger delays no other
		}
	}, l.crowded)
}

// come registers a new connection, unless the listener is closed. If there are too many, it closes
// one of them.
func (l *Listener) come(c *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = c.Close()
		return false
	}
	if g, full := l.shaking.Come(port.Stranger{Conn: c, From: port.From(c)}); full {
		_ = g.Conn.Close()
	}
	return true
}

// crowded closes a stranger's connection when accept fails: files may have run out, and strangers
// use some.
func (l *Listener) crowded(err error) {
	l.o.log("%s: accept: %v", l.Addr(), outOfFiles(err))
	l.mu.Lock()
	defer l.mu.Unlock()
	if g, found := l.shaking.Go(); found {
		_ = g.Conn.Close()
	}
}

// shake does the handshake of a new connection.
func (l *Listener) shake(c *net.TCPConn) {
	defer func() { _ = c.Close() }()
	a, err := l.greet(c)
	l.mu.Lock()
	here := l.shaking.Leave(c)
	l.mu.Unlock()
	switch {
	case errors.Is(err, errLooked):
		return
	case err != nil && !here:
		err = errCrowd
	}
	if err != nil {
		l.o.log("%s: connection from %s: %v", l.Addr(), c.RemoteAddr(), err)
		return
	}
	l.deliver(a)
}

// errCrowd: the place was needed for another connection.
var errCrowd = errors.New("too many unknown connections")

// errLooked: the peer closed without sending; it only checked whether the port is open.
var errLooked = errors.New("nothing was said")

// greet sends a greeting, answers the peer's preface, and detaches the socket from the runtime.
func (l *Listener) greet(c *net.TCPConn) (arrival, error) {
	if err := c.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		return arrival{}, err
	}
	p, own, err := l.ask(c)
	if err != nil {
		return arrival{}, err
	}
	if _, err := c.Write(answer(accepted, own)); err != nil {
		l.forget(p)
		return arrival{}, fmt.Errorf("answer: %w", err)
	}
	fd, err := detach(c)
	if err != nil {
		l.forget(p)
		return arrival{}, outOfFiles(err)
	}
	return arrival{p, fd}, nil
}

// ask returns the preface of an admitted peer, and the proof to send to it.
func (l *Listener) ask(c *net.TCPConn) (preface, proof, error) {
	ours := port.Nonce()
	if _, err := c.Write(greeting(ours)); err != nil {
		return preface{}, proof{}, errLooked
	}
	b := make([]byte, prefaceSize)
	switch n, err := io.ReadFull(c, b); {
	case n == 0 && (errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET)):
		return preface{}, proof{}, errLooked
	case err != nil:
		return preface{}, proof{}, fmt.Errorf("preface: %w", err)
	}
	p, own, err := decode(b, l.o.Token, ours)
	if err == nil {
		err = l.admit(p)
	}
	if err != nil {
		if r := err.(refusal); r != stranger {
			_, _ = c.Write(answer(r, proof{})) // a courtesy; the connection ends anyway
		}
	}
	return p, own, err
}

// detach returns a descriptor of the connection that the runtime's poller does not know; closing c
// removes the other one.
func detach(c *net.TCPConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	fd, dupErr := -1, error(nil)
	if err := raw.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return 0, err
	}
	return fd, dupErr
}

// admit decides whether to accept a connection with a valid token. Its error is a refusal.
func (l *Listener) admit(p preface) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.open[p.group]
	switch {
	case int64(p.group) <= l.over:
		return over
	case l.taken[p]:
		return twice
	case e != nil && !e.expects(p):
		return badField
	}
	l.taken[p] = true
	return nil
}

func (l *Listener) forget(p preface) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.taken, p)
}

// deliver gives the connection to its endpoint, or keeps it until the endpoint exists.
func (l *Listener) deliver(a arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := l.open[a.group]; {
	case l.closed || int64(a.group) <= l.over:
		_ = unix.Close(a.fd)
	case e != nil:
		e.arrive(a)
	default:
		l.waiting[a.group] = append(l.waiting[a.group], a)
	}
}

// enter makes e the endpoint of its group and gives it the waiting connections.
func (l *Listener) enter(e *Endpoint) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := e.group.ID
	switch {
	case l.closed:
		return net.ErrClosed
	case int64(id) <= l.over || l.open[id] != nil:
		return fmt.Errorf("group %d has been opened before", id)
	}
	l.open[id] = e
	for _, a := range l.waiting[id] {
		if !e.expects(a.preface) {
			l.o.log("%s: connection from rank %d to rank %d: this is rank %d of %d", l.Addr(), a.src, a.dst, e.group.Rank, len(e.group.Peers))
			_ = unix.Close(a.fd)
			continue
		}
		e.arrive(a)
	}
	delete(l.waiting, id)
	return nil
}

// leave ends e's group and all earlier groups that are not open.
func (l *Listener) leave(e *Endpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[e.group.ID] != e {
		return // e was refused
	}
	delete(l.open, e.group.ID)
	l.over = max(l.over, int64(e.group.ID))
	for id, as := range l.waiting {
		if int64(id) <= l.over {
			closeArrivals(as)
			delete(l.waiting, id)
		}
	}
	maps.DeleteFunc(l.taken, func(p preface, _ bool) bool { return int64(p.group) <= l.over })
}
