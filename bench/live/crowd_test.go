package live_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evbench/bench/live"
	"evbench/internal/expect"
	"evbench/transport/transporttest"
)

// gone reports whether an error says that the other end has hung up.
func gone(err error) bool { return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) }

// A counter is a listener that knows how many connections are open. Each of errs is what one Accept returns.
type counter struct {
	net.Listener
	errs       chan error
	open, most atomic.Int32
}

func (c *counter) Accept() (net.Conn, error) {
	select {
	case err := <-c.errs:
		return nil, err
	default:
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.most.Store(max(c.most.Load(), c.open.Add(1)))
	return &counted{Conn: conn, closed: func() { c.open.Add(-1) }}, nil
}

type counted struct {
	net.Conn
	once   sync.Once
	closed func()
}

func (c *counted) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}

// counting serves a run, and counts connections.
func counting(t *testing.T, log slog.Handler, errs ...error) (*live.Server, *counter) {
	t.Helper()
	l, err := live.Listen(t.Context(), "127.0.0.1:0")
	expect.Must(t, err)
	c := &counter{Listener: l, errs: make(chan error, len(errs))}
	for _, err := range errs {
		c.errs <- err
	}
	return live.Serve(c, slog.New(log)), c
}

// Strangers who stay, with or without a word, get so many connections and no more; who
// follows the run stays, and who asks for something is answered.
func TestStrangersStay(t *testing.T) {
	s, all := counting(t, slog.DiscardHandler)
	x := live.NewStory(t, scenarioText, s.Take)
	watching, err := http.Get(s.URL() + "events")
	expect.Must(t, err)
	defer watching.Body.Close()
	var strangers []net.Conn
	for i := range 400 {
		c := expect.Value(net.Dial("tcp", strings.Trim(strings.TrimPrefix(s.URL(), "http://"), "/")))(t)
		strangers = append(strangers, c)
		const host = " HTTP/1.1\r\nHost: localhost\r\n"
		said := []string{"", "GET / HT", "GET /metrics" + host + "\r\n", "POST /" + host + "Content-Length: 9\r\n\r\n"}[i%4]
		if _, err := io.WriteString(c, said); err != nil && !gone(err) {
			t.Fatal(err)
		}
	}
	expect.Contains(t, get(t, s.URL()+"api/progress"), "evbench/progress/1")
	n := all.most.Load()
	expect.True(t, n <= 64, "%d connections were open at once", n)
	for _, c := range strangers { // else the end is put off for them
		c.Close()
	}
	x.Slice(1, 0, 5)
	expect.OK(t, s.End("over"))
	text, err := io.ReadAll(watching.Body)
	expect.True(t, err == nil && bytes.Contains(text, []byte("event: end")), "who followed the run was sent away: %v, %q", err, text)
}

// What is odd is logged, and not written to standard error.
func TestServerLogs(t *testing.T) {
	var log bytes.Buffer // read when nothing is served any more
	s, _ := counting(t, slog.NewTextHandler(&log, nil), &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)})
	get(t, s.URL())
	expect.OK(t, s.End(""))
	expect.Contains(t, log.String(), "level=WARN", "too many open files")
}

// ask sends a request on a connection of its own.
func ask(t *testing.T, l *transporttest.Listener, path string) net.Conn {
	t.Helper()
	c := l.Dial()
	expect.Must(t, expect.Err(io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")))
	return c
}

// Who does not take an answer loses the connection; the run is followed for as long as it goes on.
func TestAnswersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := transporttest.Listen()
		s := live.Serve(l, slog.New(slog.DiscardHandler))
		slow, follows := ask(t, l, "/"), ask(t, l, "/events")
		told := make(chan string)
		go func() {
			text, _ := io.ReadAll(follows)
			told <- string(text)
		}()
		time.Sleep(10 * time.Minute)
		if text, err := io.ReadAll(slow); len(text) > 0 || err != nil {
			t.Errorf("after ten minutes there is an answer still: %q, %v", text, err)
		}
		expect.OK(t, s.End("over"))
		expect.Contains(t, (<-told), "event: end")
	})
}
