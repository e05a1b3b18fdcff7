package transporttest

import (
	"net"
	"sync"
)

// A Listener is a control port without sockets. Under testing/synctest, waiting for a connection,
// or on one, lets time pass.
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// Listen returns a port that Dial leads to.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener; it cannot be dialled.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "memnet", Net: "unix"} }

// Dial waits until it is accepted. On a closed port it returns a connection that has ended.
func (l *Listener) Dial() net.Conn {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
	case <-l.done:
		_ = there.Close()
	}
	return here
}
