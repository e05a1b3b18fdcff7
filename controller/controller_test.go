package controller_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
)

// A logbook is what the controller said of its control port.
type logbook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func listen(t *testing.T) (*controller.Controller, *logbook) {
	t.Helper()
	var log logbook
	c := controller.New(controller.Options{
		Token: "secret", Servers: []int{3, 5, 8}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	expect.Must(t, c.Listen("unix:"+filepath.Join(t.TempDir(), "control")))
	t.Cleanup(func() { _ = c.Close() })
	return c, &log
}

func dial(t *testing.T, c *controller.Controller) net.Conn {
	t.Helper()
	conn := expect.Value(net.Dial("unix", strings.TrimPrefix(c.Addr(), "unix:")))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// hello joins as a server.
func hello(t *testing.T, c *controller.Controller, token string, server int) (*wire.NetConn, error) {
	t.Helper()
	w := wire.NewConn(dial(t, c), wire.MaxFrame)
	return w, w.Introduce(token, wire.Hello{Server: server})
}

// Strangers are refused with a line in the log, and harm nothing: a worker that
// has joined stays, and another can still join.
func TestStrangers(t *testing.T) {
	c, log := listen(t)
	expect.Must(t, expect.Err(hello(t, c, "secret", 3)))
	frame := func(m wire.Message) []byte {
		b := expect.Value(wire.Append(nil, m))(t)
		return b
	}
	other := frame(wire.Hello{Server: 5})
	other[4]++
	otherVersion := fmt.Sprintf("version %d, want %d", wire.Version+1, wire.Version)
	for _, tt := range []struct {
		name, log, answer string
		bytes             []byte
	}{
		{"nothing", "EOF", "", nil},
		{"web browser", "other protocol version", "other protocol version", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"other version", otherVersion, otherVersion, other},
		{"too long", "length 1048576", "", append(binary.BigEndian.AppendUint32(nil, 1<<20), wire.Version, 1)},
		{"not a hello", "began with wire.Ping", "", frame(wire.Ping{})},
		{"no nonce", "a nonce of 0 characters", "a nonce of 0 characters", frame(wire.Hello{Server: 5})},
		{"no proof", "wrong token", "wrong token", frame(wire.Hello{Nonce: strings.Repeat("0", 32), Server: 5})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn := dial(t, c)
			expect.Must(t, expect.Err(conn.Write(tt.bytes)))
			expect.Must(t, conn.(*net.UnixConn).CloseWrite())
			if m, err := wire.Read(conn, wire.MaxHello); err != nil {
				t.Error(err)
			} else if _, ok := m.(wire.Challenge); !ok {
				t.Errorf("greeted by %#v", m)
			}
			answer, err := wire.Read(conn, wire.MaxHello)
			expect.False(t, tt.answer == "" && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && answer != nil,
				"answered %#v, %v", answer, err)
			r, _ := answer.(wire.Refused)
			expect.True(t, strings.Contains(r.Reason, tt.answer), "answered %#v, want %q", answer, tt.answer)
			_, _ = io.ReadAll(conn) // returns once the controller has hung up, politely or not
			waitFor(t, log, tt.log)
		})
	}
	for _, tt := range []struct {
		token  string
		server int
		want   string
	}{
		{"Secret", 5, "wrong token"}, {"", 5, "wrong token"}, {"secret", -1, "not a position"},
		{"secret", 4, "server 4 is not part"}, {"secret", 3, "has joined already"},
	} {
		if _, err := hello(t, c, tt.token, tt.server); !errors.Is(err, wire.ErrRefused) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("server %d with token %q: %v, want %q", tt.server, tt.token, err, tt.want)
		}
		waitFor(t, log, tt.want)
	}
	expect.OK(t, expect.Err(hello(t, c, "secret", 8)), "after the strangers")
	got := c.Hosts()
	expect.True(t, len(got) == 2 && got[0].Server == 3 && got[1].Server == 8, "joined %+v", got)
}

// waitFor returns once the log holds text; the test's own time-out bounds it.
func waitFor(t *testing.T, log *logbook, text string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(log.String(), text) {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("no %q in the log:\n%s", text, log)
		}
	}
}

// Join names who is missing.
func TestJoin(t *testing.T) {
	c, _ := listen(t)
	hello(t, c, "secret", 5)
	expect.OK(t, c.Join(t.Context(), 1))
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("no more patience"))
	defer cancel()
	err := c.Join(ctx, 0)
	expect.True(t, err != nil && err.Error() == "1 of 3 servers joined, missing: server 3, server 8: no more patience", "Join = %v", err)
	done := make(chan error)
	go func() { done <- c.Join(t.Context(), 0) }()
	hello(t, c, "secret", 3)
	hello(t, c, "secret", 8)
	expect.OK(t, <-done)
}

// Join says who was refused, and why: a worker that is missing may have tried.
func TestJoinRefused(t *testing.T) {
	c, log := listen(t)
	hello(t, c, "secret", 5)
	for _, refused := range []struct {
		token  string
		server int
		want   string
	}{{"Secret", 3, "server 3: wrong token"}, {"secret", 4, "server 4 is not part"}, {"Secret", 8, "server 8: wrong token"}, {"secret", 5, "has joined already"}} {
		expect.Is(t, expect.Err(hello(t, c, refused.token, refused.server)), wire.ErrRefused)
		waitFor(t, log, refused.want)
	}
	expect.OK(t, expect.Err(hello(t, c, "secret", 8)), "with the right token") // no longer refused
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more patience"))
	err := c.Join(ctx, 0)
	want := "2 of 3 servers joined, missing: server 3: no more patience; refused: server 4 is not part of this run; server 3: wrong token; server 5 has joined already"
	expect.True(t, err != nil && err.Error() == want, "Join = %v", err)
}

// A worker that has left may come back.
func TestRejoin(t *testing.T) {
	c, log := listen(t)
	w, _ := hello(t, c, "secret", 5)
	expect.Must(t, w.Close())
	waitFor(t, log, "worker left")
	expect.OK(t, expect.Err(hello(t, c, "secret", 5)))
}

func TestPortTaken(t *testing.T) {
	c, _ := listen(t)
	err := controller.New(controller.Options{}).Listen(c.Addr())
	expect.True(t, err != nil && strings.Contains(err.Error(), "control port") && strings.Contains(err.Error(), "address already in use"),
		"Listen on a taken path: %v", err)
}

// serve starts a controller on a port.
func serve(l net.Listener) *controller.Controller {
	c := controller.New(controller.Options{Token: "secret"})
	c.Serve(l)
	return c
}

// joins has a worker say hello, be welcome and leave.
func joins(t *testing.T, conn net.Conn, server int) {
	t.Helper()
	w := wire.NewConn(conn, wire.MaxFrame)
	expect.OK(t, w.Introduce("secret", wire.Hello{Server: server}))
	expect.OK(t, w.Close())
}

// Who sends a byte now and then does not hold a place for ever, nor keep others from joining.
func TestSlowStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := transporttest.Listen()
		c := serve(p)
		b := expect.Value(wire.Append(nil, wire.Hello{Server: 1}))(t)
		began, slow, sent := time.Now(), p.Dial(), 0
		expect.Must(t, expect.Err(wire.Read(slow, wire.MaxHello)))
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for range tick.C {
			if _, err := slow.Write(b[sent : sent+1]); err != nil {
				break
			}
			sent++
		}
		d := time.Since(began)
		expect.True(t, d <= 10*time.Second && sent >= 3, "cut off after %v and %d bytes", d, sent)
		joins(t, p.Dial(), 1)
		expect.OK(t, errors.Join(slow.Close(), c.Close()))
	})
}

// A failing port has no connection to give for a while: the process is out of files.
type failing struct {
	*transporttest.Listener
	errs chan error
}

func (f failing) Accept() (net.Conn, error) {
	select {
	case err := <-f.errs:
		return nil, err
	default:
		return f.Listener.Accept()
	}
}

// The control port outlives a time without files: a stranger who holds one has to go,
// and who comes later can join.
func TestOutOfFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := failing{transporttest.Listen(), make(chan error, 3)}
		c := serve(p)
		began, idle := time.Now(), p.Dial()
		for range cap(p.errs) {
			p.errs <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		}
		joins(t, p.Dial(), 1) // taken by the Accept that was under way
		if _, err := io.Copy(io.Discard, idle); err != nil || time.Since(began) > time.Second {
			t.Errorf("the stranger stayed for %v, %v", time.Since(began), err)
		}
		joins(t, p.Dial(), 2)
		expect.OK(t, c.Close())
	})
}

// More strangers than there are places keep no worker out: the first of them have to go.
func TestStrangersTakeAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := transporttest.Listen()
		c := serve(p)
		for range 1500 {
			defer p.Dial().Close()
		}
		joins(t, p.Dial(), 1)
		expect.OK(t, c.Close())
	})
}

// Workers that take a while to look see that the session is over, as long as one more does.
func TestSlowLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := transporttest.Listen()
		c := serve(p)
		var all sync.WaitGroup
		for server := range 3 {
			w := wire.NewConn(p.Dial(), wire.MaxFrame)
			expect.Must(t, w.Introduce("secret", wire.Hello{Server: server}))
			all.Go(func() {
				defer w.Close()
				time.Sleep(time.Duration(server+1) * time.Second)
				m, err := w.Receive()
				expect.True(t, m == (wire.Quit{}), "server %d sees %v, %v", server, m, err)
			})
		}
		expect.OK(t, c.Close())
		all.Wait()
	})
}

// A case that cannot run says why before anybody is told.
func TestRefusedCases(t *testing.T) {
	c, _ := listen(t)
	hello(t, c, "secret", 3)
	good := controller.Case{Case: wire.Case{Setting: builder.Setting{Name: "x", Mode: modes.Unsync, Duration: time.Second}, Peers: []wire.Peer{{Server: 3}, {Server: 5}}}}
	for _, tt := range []struct {
		want   string
		change func(*controller.Case)
	}{
		{`mode "": must be`, func(c *controller.Case) { c.Mode = "" }},
		{"two servers at least", func(c *controller.Case) { c.Peers = c.Peers[:1] }},
		{"not connected: server 5, server 8", func(c *controller.Case) { c.Peers = nil }}, // who is to join is known
		{"rows: 0 for 2 servers", func(c *controller.Case) { c.Mode = modes.Sync }},
		{"duration: must be above 0", func(c *controller.Case) { c.Duration = 0 }},
		{"standby: paths of 1 servers", func(c *controller.Case) { c.Standby = make([][]wire.Path, 1) }},
		{"async credits: 2", func(c *controller.Case) { c.AsyncCredits = 2 }},
		{"timeout and interval", func(c *controller.Case) { c.Interval = -1 }},
		{"not connected: server 5", func(*controller.Case) {}},
	} {
		cs := good
		tt.change(&cs)
		expect.Error(t, expect.Err(c.RunCase(t.Context(), cs)), `case "x": `, tt.want)
	}
}
