package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// A Conn carries messages in both directions, in order. One goroutine may call Receive while others
// call Send. Any goroutine may call Close, which unblocks both.
type Conn interface {
	Send(m Message) error
	Receive() (Message, error)
	Close() error
}

const sendTimeout = 10 * time.Second

// A NetConn is a Conn over a byte stream.
type NetConn struct {
	c     net.Conn
	in    *bufio.Reader
	limit int // of received frames

	turn chan struct{} // has an element while Send writes, which may wait: no mutex, which would stop virtual time
	buf  []byte
}

// NewConn returns a Conn over c that accepts frames of up to limit bytes.
func NewConn(c net.Conn, limit int) *NetConn {
	return &NetConn{c: c, in: bufio.NewReader(c), limit: limit, turn: make(chan struct{}, 1)}
}

// Send writes one message. It fails if the peer does not read.
func (c *NetConn) Send(m Message) error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	b, err := Append(c.buf[:0], m)
	if err != nil {
		return err
	}
	if cap(b) <= 64<<10 { // larger buffers, as for the row of a plan, are not kept
		c.buf = b
	}
	if err := c.c.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return fmt.Errorf("send %T: %w", m, err)
	}
	if _, err := c.c.Write(b); err != nil {
		return fmt.Errorf("send %T: %w", m, err)
	}
	return nil
}

func (c *NetConn) Receive() (Message, error) { return Read(c.in, c.limit) }

// setLimit changes the largest accepted frame, between two Receives.
func (c *NetConn) setLimit(n int) { c.limit = n }

// SetDeadline bounds Receive; the zero time removes the bound.
func (c *NetConn) SetDeadline(t time.Time) error { return c.c.SetReadDeadline(t) }

// Close closes the stream at once: the closing message of TLS could wait for a peer that does not
// read.
func (c *NetConn) Close() error {
	if t, ok := c.c.(*tls.Conn); ok {
		return t.NetConn().Close()
	}
	return c.c.Close()
}

// ErrAddress reports an invalid control address.
var ErrAddress = errors.New(`control address must be "unix:PATH", "tcp:HOST:PORT" or "tls:HOST:PORT"`)

// SplitAddress returns the kind of a control address (unix, tcp, tls), and the rest.
func SplitAddress(addr string) (kind, rest string, err error) {
	kind, rest, _ = strings.Cut(addr, ":")
	if rest == "" || kind != "unix" && kind != "tcp" && kind != "tls" {
		return "", "", fmt.Errorf("%q: %w", addr, ErrAddress)
	}
	if kind == "unix" && len(rest) > maxUnixPath {
		return "", "", fmt.Errorf("%q: a Unix socket has a path of at most %d bytes, not %d", addr, maxUnixPath, len(rest))
	}
	return kind, rest, nil
}

// WithTLS returns a control address with TLS in place of TCP.
func WithTLS(addr string) (string, error) {
	kind, rest, err := SplitAddress(addr)
	if err == nil && kind == "unix" {
		err = fmt.Errorf("%s leads to this machine only, where TLS protects nothing", addr)
	}
	return "tls:" + rest, err
}

// network is the name of a kind in package net.
func network(kind string) string {
	if kind == "tls" {
		return "tcp"
	}
	return kind
}

// maxUnixPath is the longest path that the kernel accepts, without the 0 at the end.
const maxUnixPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// CheckAddress reports whether addr is valid for Listen and Dial.
func CheckAddress(addr string) error {
	_, _, err := SplitAddress(addr)
	return err
}

// Listen listens on "unix:PATH", "tcp:HOST:PORT" or "tls:HOST:PORT". Only the user
// may connect to the path.
func Listen(addr string) (net.Listener, error) {
	kind, rest, err := SplitAddress(addr)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen(network(kind), rest)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "unix":
		err = os.Chmod(rest, 0o600)
	case "tls":
		var t net.Listener
		if t, err = encrypted(l); err == nil {
			return t, nil
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func Dial(ctx context.Context, addr string) (*NetConn, error) {
	kind, rest, err := SplitAddress(addr)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network(kind), rest)
	if err == nil && kind == "tls" {
		c, err = encrypt(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	return NewConn(c, MaxFrame), nil
}
