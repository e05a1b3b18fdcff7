package wire_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"evbench/controller/wire"
	"evbench/results"
	"evbench/testing/expect"
)

// A meeting is how a handshake went on both sides.
type meeting struct {
	hello              wire.Hello
	worker, controller error
}

// meet has a worker and a controller with a token each shake hands over two
// connections, which may be the ends of one.
func meet(here, there net.Conn, worker, controller string) (m meeting) {
	done := make(chan error)
	go func() {
		defer here.Close()
		done <- wire.NewConn(here, wire.MaxFrame).Introduce(worker, wire.Hello{Server: 17, Data: "10.0.0.1:7000"})
	}()
	c := wire.NewConn(there, wire.MaxHello)
	h, w, err := c.Examine(controller)
	if err == nil {
		err = c.Send(w)
	}
	m.hello, m.controller = h, err
	if err != nil {
		_ = there.Close()
	}
	m.worker = <-done
	return m
}

// A recorder keeps what is written to a connection.
type recorder struct {
	net.Conn
	said bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) {
	r.said.Write(p)
	return r.Conn.Write(p)
}

func TestHandshake(t *testing.T) {
	for _, tt := range []struct {
		name, worker, controller string
		want                     error
	}{
		{"the same token", "secret", "secret", nil},
		{"none, as over MPI", "", "", nil},
		{"another token", "secret", "Secret", wire.ErrToken},
		{"a token and none", "secret", "", wire.ErrToken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			here, there := net.Pipe()
			a, b := &recorder{Conn: here}, &recorder{Conn: there}
			m := meet(a, b, tt.worker, tt.controller)
			expect.True(t, errors.Is(m.controller, tt.want), "controller: %v, want %v", m.controller, tt.want)
			expect.False(t, tt.want != nil && (!errors.Is(m.worker, wire.ErrRefused) || !strings.Contains(m.worker.Error(), "wrong token")),
				"worker: %v", m.worker)
			expect.False(t, tt.want == nil && (m.worker != nil || m.hello.Server != 17 || m.hello.Data != "10.0.0.1:7000"),
				"hello %+v; worker: %v", m.hello, m.worker)
			said := a.said.String() + b.said.String()
			expect.True(t, !strings.Contains(said, "secret") && !strings.Contains(said, "Secret"), "the token was sent: %q", said)
		})
	}
}

// A controller that does not know the token is none, whatever it says.
func TestImpostor(t *testing.T) {
	for name, welcome := range map[string]func(h wire.Hello) wire.Message{
		"no proof":                  func(wire.Hello) wire.Message { return wire.Welcome{} },
		"what the worker has said":  func(h wire.Hello) wire.Message { return wire.Welcome{Proof: h.Proof} },
		"the beginning of anything": func(h wire.Hello) wire.Message { return wire.Welcome{Proof: h.Proof[:32]} },
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			go func() {
				c := wire.NewConn(there, wire.MaxHello)
				_ = c.Send(wire.Challenge{Nonce: strings.Repeat("00", 16)})
				if h, err := c.Receive(); err == nil {
					_ = c.Send(welcome(h.(wire.Hello)))
				}
			}()
			err := wire.NewConn(here, wire.MaxFrame).Introduce("secret", wire.Hello{Server: 1})
			expect.True(t, errors.Is(err, wire.ErrToken) && strings.Contains(err.Error(), "the controller does not know the secret"), "got %v", err)
		})
	}
}

// A Hello that was recorded, or is for another server, opens nothing.
func TestReplay(t *testing.T) {
	here, there := net.Pipe()
	m := meet(here, there, "secret", "secret")
	expect.MustTrue(t, m.worker == nil && m.controller == nil, "%v %v", m.worker, m.controller)
	for name, say := range map[string]func(wire.Challenge) wire.Hello{
		"recorded": func(wire.Challenge) wire.Hello { return m.hello },
		"its nonces the other way round": func(c wire.Challenge) wire.Hello {
			return wire.Hello{Nonce: c.Nonce, Proof: m.hello.Proof, Server: 17}
		},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			go func() {
				c := wire.NewConn(here, wire.MaxFrame)
				if m, err := c.Receive(); err == nil {
					_ = c.Send(say(m.(wire.Challenge)))
					_, _ = c.Receive() // the refusal
				}
			}()
			expect.Is(t, expect.Err2(wire.NewConn(there, wire.MaxHello).Examine("secret")), wire.ErrToken)
		})
	}
}

// The position is proved: who changes it on the way is found out.
func TestPositionIsProved(t *testing.T) {
	a, b := net.Pipe()
	c, d := net.Pipe()
	go func() { // between b and c
		worker, controller := wire.NewConn(b, wire.MaxFrame), wire.NewConn(c, wire.MaxFrame)
		for from, to := controller, worker; ; from, to = to, from {
			m, err := from.Receive()
			if err != nil {
				return
			}
			if h, ok := m.(wire.Hello); ok {
				h.Server++
				m = h
			}
			_ = to.Send(m)
		}
	}()
	if m := meet(a, d, "secret", "secret"); !errors.Is(m.controller, wire.ErrToken) {
		t.Errorf("%+v", m)
	}
}

// listenTLS listens, and returns the connections that come.
func listenTLS(t *testing.T) (addr string, accepted <-chan net.Conn) {
	t.Helper()
	l := expect.Value(wire.Listen("tls:127.0.0.1:0"))(t)
	conns := make(chan net.Conn, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := l.Accept(); err == nil {
			conns <- c
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "tls:" + l.Addr().String(), conns
}

// introduce joins over TLS.
func introduce(t *testing.T, addr string) <-chan error {
	out := make(chan error, 1)
	go func() {
		c, err := wire.Dial(t.Context(), addr)
		if err == nil {
			err = c.Introduce("secret", wire.Hello{Server: 17})
			_ = c.Close()
		}
		out <- err
	}()
	return out
}

func TestTLS(t *testing.T) {
	addr, conns := listenTLS(t)
	joined := introduce(t, addr)
	c := wire.NewConn(<-conns, wire.MaxHello)
	defer c.Close()
	_, w, err := c.Examine("secret")
	if err == nil {
		err = c.Send(w)
	}
	expect.OK(t, errors.Join(err, <-joined))
}

// Somebody between the two, who speaks TLS with both and hands on what they say, is found out.
func TestSomebodyBetween(t *testing.T) {
	between, fromWorker := listenTLS(t)
	addr, fromBetween := listenTLS(t)
	joined := introduce(t, between)
	over := make(chan struct{})
	defer func() { <-over }()
	go func() {
		defer close(over)
		worker := wire.NewConn(<-fromWorker, wire.MaxFrame)
		controller, err := wire.Dial(t.Context(), addr)
		if err != nil {
			t.Error(err)
			return
		}
		defer worker.Close()
		defer controller.Close()
		for from, to := controller, worker; ; from, to = to, from {
			m, err := from.Receive()
			if err != nil {
				return
			}
			_ = to.Send(m)
			if _, over := m.(wire.Refused); over {
				return
			}
		}
	}()
	c := wire.NewConn(<-fromBetween, wire.MaxHello)
	defer c.Close()
	expect.Is(t, expect.Err2(c.Examine("secret")), wire.ErrToken)
	if err := <-joined; !errors.Is(err, wire.ErrRefused) && !errors.Is(err, wire.ErrToken) {
		t.Errorf("worker: %v", err)
	}
}

// Who has no TLS is told so.
func TestNoTLSThere(t *testing.T) {
	l := expect.Value(wire.Listen("tcp:127.0.0.1:0"))(t)
	defer l.Close()
	joined := introduce(t, "tls:"+l.Addr().String())
	c := expect.Value(l.Accept())(t)
	defer c.Close()
	_, _, _ = wire.NewConn(c, wire.MaxHello).Examine("secret") // what it hears is no frame
	expect.Error(t, <-joined, "TLS with 127.0.0.1:")
}

// What others say to people is bounded where it comes in.
func TestTextsAreCut(t *testing.T) {
	long := strings.Repeat("é", 1<<15)
	h := results.Host{Host: long, Version: long, Interface: long, NIC: long, Governor: long, CPU: long, CPUs: long, Kernel: long, Addresses: []string{long}}
	for _, m := range []wire.Message{
		wire.Hello{Host: h}, wire.Refused{Reason: long}, wire.Ready{IO: long},
		wire.Samples{Sample: results.Sample{Case: long}}, wire.Finished{At: wire.Position{Stage: long}}, wire.Error{Text: long, At: wire.Position{Stage: "here"}},
		wire.Probed{Reached: []wire.Reach{{Addr: "a", Err: long}}},
	} {
		b := encode(t, m)
		m := expect.Value(wire.Read(bytes.NewReader(b), wire.MaxFrame))(t)
		n := len(encode(t, m))
		expect.True(t, n <= 9*wire.MaxText+2000, "%T: %d bytes are left of %d", m, n, len(b))
	}
	short, err := wire.Read(bytes.NewReader(encode(t, wire.Error{Text: long[:wire.MaxText]})), wire.MaxFrame)
	e, ok := short.(wire.Error)
	expect.True(t, err == nil && ok && e.Text == long[:wire.MaxText], "a text of the bound was cut")
}

// A script is a connection on which somebody says something, whatever it hears.
type script struct{ io.Reader }

func (script) Write(p []byte) (int, error)      { return len(p), nil }
func (script) Close() error                     { return nil }
func (script) LocalAddr() net.Addr              { return nil }
func (script) RemoteAddr() net.Addr             { return nil }
func (script) SetDeadline(time.Time) error      { return nil }
func (script) SetReadDeadline(time.Time) error  { return nil }
func (script) SetWriteDeadline(time.Time) error { return nil }

// Whatever a stranger says, it is no controller.
func FuzzIntroduce(f *testing.F) {
	challenge := wire.Challenge{Nonce: strings.Repeat("0f", 16)}
	for _, m := range []wire.Message{wire.Welcome{Proof: strings.Repeat("0f", 32)}, wire.Refused{Reason: "why not"}, wire.Ping{}} {
		f.Add(append(encode(f, challenge), encode(f, m)...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		expect.True(t, wire.NewConn(script{bytes.NewReader(b)}, wire.MaxFrame).Introduce("secret", wire.Hello{}) != nil, "welcome")
	})
}

// Whatever a stranger says, it is no worker.
func FuzzExamine(f *testing.F) {
	f.Add(encode(f, wire.Hello{Nonce: strings.Repeat("0f", 16), Proof: strings.Repeat("0f", 32), Server: 3, Data: "10.0.0.1:7000"}))
	f.Add(encode(f, wire.Hello{Nonce: "0f"}))
	f.Add(encode(f, wire.Ping{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, _, err := wire.NewConn(script{bytes.NewReader(b)}, wire.MaxHello).Examine("secret")
		expect.True(t, err != nil, "%+v may join", h)
	})
}
