package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"evbench/testing/expect"
	"evbench/transport"
)

// logbook collects what a Listener logs.
type logbook struct {
	mu    sync.Mutex
	lines []string
	news  chan struct{}
}

func newLogbook() *logbook { return &logbook{news: make(chan struct{}, 100)} }

func (l *logbook) log(format string, args ...any) {
	l.mu.Lock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
	l.mu.Unlock()
	l.news <- struct{}{}
}

func (l *logbook) last() string {
	<-l.news
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[len(l.lines)-1]
}

func listen(t *testing.T, o Options) *Listener {
	t.Helper()
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	l := expect.Value(Listen(o))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// pair returns the groups of two ranks, each of which sends to the other.
func pair(id uint32, ls ...*Listener) (a, b Group) {
	peers := []Peer{{[]string{ls[0].Addr()}}, {[]string{ls[1].Addr()}}}
	return Group{ID: id, Rank: 0, Peers: peers, Need: []Path{{1, transport.Single}}},
		Group{ID: id, Rank: 1, Peers: peers, Need: []Path{{0, transport.Single}}}
}

func connect(t *testing.T, l *Listener, g Group) *Endpoint {
	t.Helper()
	e := expect.Value(l.Connect(t.Context(), g))(t)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func op(k transport.Kind, peer, path int, body string) transport.Op {
	return transport.Op{Kind: k, Peer: peer, Path: path, Head: make([]byte, transport.HeadSize), Body: []byte(body)}
}

// carries sends one message and checks that it arrives.
func carries(t *testing.T, from, to *Endpoint, path int) {
	t.Helper()
	expect.Must(t, from.Post([]transport.Op{op(transport.Send, to.Rank(), path, "hello")}))
	expect.Must(t, expect.Err(from.Poll(t.Context(), make([]transport.Op, 1))))
	in := []transport.Op{op(transport.Recv, from.Rank(), path, ".....")}
	if err := to.Exchange(t.Context(), in); err != nil || string(in[0].Body) != "hello" {
		t.Errorf("received %q, %v", in[0].Body, err)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	book := newLogbook()
	ls := []*Listener{listen(t, Options{Token: "right", Log: book.log}), listen(t, Options{Token: "right"})}
	say := func(b string) (answer []byte) {
		c := expect.Value(net.Dial("tcp", ls[0].Addr()))(t)
		defer func() { _ = c.Close() }()
		expect.Must(t, expect.Err(io.WriteString(c, b)))
		if len(b) < prefaceSize { // it has hung up: there will be no more
			_ = c.(*net.TCPConn).CloseWrite()
		}
		expect.OK(t, expect.Err(io.ReadFull(c, make([]byte, greetingSize))))
		answer, _ = io.ReadAll(c) // a reset is a refusal too
		return answer
	}
	got := say("GET / HTTP/1.1\r\nHost: " + strings.Repeat("x", prefaceSize))
	expect.True(t, len(got) == 0, "a stranger was told %q", got)
	expect.Contains(t, book.last(), "not a connection of this protocol")
	if say("evbench\n"); !strings.Contains(book.last(), "preface") {
		t.Error("half a preface was not logged")
	}
	// One who says nothing at all keeps nobody from connecting.
	silent := expect.Value(net.Dial("tcp", ls[0].Addr()))(t)
	defer func() { _ = silent.Close() }()
	a, b := pair(1, ls...)
	e, f := connect(t, ls[0], a), connect(t, ls[1], b)
	carries(t, e, f, transport.Single)
	carries(t, f, e, transport.Single)
}

// More silent strangers than there are places keep no peer out, and each place is a file: the
// first of them have to go.
func TestSilentStrangers(t *testing.T) {
	const strangers = 1200
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil || lim.Cur < 3*strangers {
		t.Skipf("a process may open %d files, %v", lim.Cur, err)
	}
	ls := []*Listener{listen(t, Options{Token: "right"}), listen(t, Options{Token: "right"})}
	for range strangers {
		c := expect.Value(net.Dial("tcp", ls[0].Addr()))(t)
		defer func() { _ = c.Close() }()
	}
	a, b := pair(1, ls...)
	e, f := connect(t, ls[0], a), connect(t, ls[1], b)
	carries(t, e, f, transport.Single)
	carries(t, f, e, transport.Single)
	ls[0].mu.Lock()
	here := len(ls[0].shaking)
	ls[0].mu.Unlock()
	expect.True(t, here <= 1024, "%d strangers are here", here)
}

func TestWrongTokenIsToldSo(t *testing.T) {
	book := newLogbook()
	ls := []*Listener{listen(t, Options{Token: "wrong"}), listen(t, Options{Token: "right", Log: book.log})}
	a, _ := pair(1, ls...)
	_, err := ls[0].Connect(t.Context(), a)
	var pe *transport.PeerError
	expect.True(t, errors.Is(err, badToken) && errors.As(err, &pe) && pe.Peer == 1, "Connect() = %v, want a PeerError of rank 1 about the token", err)
	line := book.last()
	expect.True(t, strings.Contains(line, "token") && !strings.Contains(line, "wrong\""), "logged %q", line)
}

// Who accepts everybody, without knowing the token, is not taken for a peer.
func TestImpostorIsNotAPeer(t *testing.T) {
	l := listen(t, Options{Token: "right"})
	impostor, err := net.Listen("tcp", "127.0.0.1:0")
	expect.Must(t, err)
	done := make(chan error, 1)
	defer func() {
		_ = impostor.Close()
		expect.OK(t, <-done)
	}()
	go func() {
		c, err := impostor.Accept()
		if err == nil {
			defer func() { _ = c.Close() }()
			_, err = c.Write(greeting(nonce{}))
		}
		if err == nil {
			_, err = io.ReadFull(c, make([]byte, prefaceSize))
		}
		if err == nil {
			_, err = c.Write(answer(accepted, proof{}))
		}
		done <- err
	}()
	peers := []Peer{{[]string{l.Addr()}}, {[]string{impostor.Addr().String()}}}
	_, err = l.Connect(t.Context(), Group{Peers: peers, Need: []Path{{1, transport.Single}}})
	expect.True(t, errors.Is(err, badToken) && strings.Contains(err.Error(), "does not know the secret"), "Connect() = %v", err)
}

// The connections of one case are not taken for those of another.
func TestGroupsFollowEachOther(t *testing.T) {
	ls := []*Listener{listen(t, Options{}), listen(t, Options{})}
	a1, b1 := pair(1, ls...)
	a2, b2 := pair(2, ls...)
	e1, f1 := connect(t, ls[0], a1), connect(t, ls[1], b1)
	e2 := connect(t, ls[0], a2) // rank 1 is still in the first case
	carries(t, e1, f1, transport.Single)
	_ = f1.Close()
	f2 := connect(t, ls[1], b2)
	carries(t, e2, f2, transport.Single)
	carries(t, f2, e2, transport.Single)
	expect.True(t, expect.Err(ls[1].Connect(t.Context(), b1)) != nil, "a group was opened twice")
	_ = e1.Close()
	_ = e2.Close()
	a3, _ := pair(3, ls...)
	_ = connect(t, ls[0], a3)
	_ = f2.Close()
	expect.True(t, expect.Err(ls[1].Connect(t.Context(), b2)) != nil, "a group that is over was opened again")
}

// Who waits for an endpoint learns of each connection and each part of its memory.
func TestMoved(t *testing.T) {
	ls := []*Listener{listen(t, Options{}), listen(t, Options{})}
	g, _ := pair(1, ls...)
	moved := 0
	g.Moved, g.Partners = func() { moved++ }, []int{1}
	e := connect(t, ls[0], g)
	expect.Equal(t, moved, 2, "connections told of")
	if moved = 0; len(e.Alloc(2*populated+1)) != 2*populated+1 || moved != 3 {
		t.Errorf("told of %d parts of memory, want 3", moved)
	}
}

func TestExtend(t *testing.T) {
	eps := group(t, 2, Options{}, "", transport.Single, 0)
	expect.True(t, eps[0].Post([]transport.Op{op(transport.Send, 1, 3, "x")}) != nil, "a message was taken for a path that is not open")
	// A receive may be posted before the peer has opened the path.
	expect.Must(t, eps[1].Post([]transport.Op{op(transport.Recv, 0, 3, ".....")}))
	expect.True(t, !eps[0].Opened([]Path{{1, 3}, {1, 0}}), "a path counts as open that is not")
	expect.Must(t, eps[0].Extend(t.Context(), []Path{{1, 3}, {1, 0}, {1, 3}}))
	expect.True(t, eps[0].Opened([]Path{{1, 3}, {1, 0}, {1, transport.Single}}), "open paths do not count as open")
	expect.Must(t, eps[0].Exchange(t.Context(), []transport.Op{op(transport.Send, 1, 3, "hello")}))
	done := make([]transport.Op, 1)
	n, err := eps[1].Poll(t.Context(), done)
	expect.True(t, n == 1 && err == nil && string(done[0].Body) == "hello", "Poll() = %d, %v: %q", n, err, done[0].Body)
	carries(t, eps[0], eps[1], 0)
	expect.True(t, eps[0].Extend(t.Context(), []Path{{0, 1}}) != nil, "a path to the rank itself was taken")
}

// Each connection leaves from the own address of its path.
func TestSourceAddress(t *testing.T) {
	eps := group(t, 2, Options{}, "", transport.Single, 1)
	for path, want := range map[int][4]byte{transport.Single: {127, 1, 0, 1}, 1: {127, 1, 2, 1}} {
		eps[0].run.Lock() // peers' connections may still come in
		sa, err := unix.Getsockname(eps[0].find[key{1, path, true}].fd)
		eps[0].run.Unlock()
		expect.Must(t, err)
		expect.Equal(t, sa.(*unix.SockaddrInet4).Addr, want, "path %d leaves from", path)
	}
}

// Where answers take another path, a connection leaves from the address of that, and requests go
// over it.
func TestAnswersOnAnotherPath(t *testing.T) {
	s := &script{}
	eps := groupOf(t, 2, Options{Pace: s}, Group{Back: []int{1, 0}}, "", 0, 1)
	eps[0].run.Lock()
	sa, err := unix.Getsockname(eps[0].find[key{1, 0, true}].fd)
	eps[0].run.Unlock()
	expect.Must(t, err)
	expect.Equal(t, sa.(*unix.SockaddrInet4).Addr, [4]byte{127, 1, 2, 1}, "path 0 leaves from")
	carries(t, eps[0], eps[1], 0)
	expect.Must(t, postAndPoll(t.Context(), eps[1], []transport.Op{op(transport.SendRequest, 0, 0, "")}, make([]transport.Op, 1)))
	s.mu.Lock()
	defer s.mu.Unlock()
	expect.True(t, len(s.bytes) == 2 && s.bytes[[3]int{0, 1, 0}] > 0 && s.bytes[[3]int{1, 0, 1}] > 0, "the pacer was asked for %v", s.bytes)
	g, _ := pair(2, listen(t, Options{}), listen(t, Options{}))
	g.Back = []int{2, 0}
	expect.Error(t, g.validate(), "answers on path 0 take path 2, of 2")
}

func TestConnectNamesWhoIsMissing(t *testing.T) {
	l := listen(t, Options{})
	nobody, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0) // holds a port, but does not listen
	expect.Must(t, err)
	defer func() { _ = unix.Close(nobody) }()
	expect.Must(t, unix.Bind(nobody, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	sa := expect.Value(unix.Getsockname(nobody))(t)
	port := sa.(*unix.SockaddrInet4).Port
	peers := []Peer{{[]string{l.Addr()}}, {[]string{fmt.Sprintf("127.0.0.1:%d", port)}}}
	_, err = l.Connect(t.Context(), Group{Peers: peers, Need: []Path{{1, 2}}})
	expect.True(t, errors.Is(err, unix.ECONNREFUSED) && strings.Contains(err.Error(), "rank 1 via spine 2"), "Connect() = %v", err)
}

// A peer that takes the connection and says nothing holds Connect until ctx ends.
func TestConnectEndsWithContext(t *testing.T) {
	l := listen(t, Options{})
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	expect.Must(t, err)
	defer func() { _ = mute.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		c, err := mute.Accept()
		if err == nil {
			_, err = c.Write(greeting(nonce{}))
		}
		if err == nil {
			_, err = io.ReadFull(c, make([]byte, prefaceSize))
		}
		expect.OK(t, err)
		cancel()
	}()
	peers := []Peer{{[]string{l.Addr()}}, {[]string{mute.Addr().String()}}}
	_, err = l.Connect(ctx, Group{Peers: peers, Need: []Path{{1, transport.Single}}})
	expect.True(t, errors.Is(err, context.Canceled) && strings.Contains(err.Error(), "greeted, not answered") && strings.Contains(err.Error(), "1 of 1 connections are not open"), "Connect() = %v", err)
}

func TestSocketsAreMadeInside(t *testing.T) {
	inside, calls := false, 0
	in := func(f func() error) error {
		inside, calls = true, calls+1
		defer func() { inside = false }()
		return f()
	}
	ls := []*Listener{listen(t, Options{In: in}), listen(t, Options{})}
	a, b := pair(1, ls...)
	e, f := connect(t, ls[0], a), connect(t, ls[1], b)
	carries(t, e, f, transport.Single)
	if calls != 2 || inside { // to listen and to connect
		t.Errorf("In was called %d times", calls)
	}
	errNo := errors.New("no such namespace")
	expect.Is(t, expect.Err(Listen(Options{Addr: "127.0.0.1:0", In: func(func() error) error { return errNo }})), errNo)
}

func TestBadOptions(t *testing.T) {
	expect.Error(t, expect.Err(Listen(Options{Addr: "localhost"})), `"localhost"`)
	expect.Error(t, expect.Err(Listen(Options{Addr: "127.0.0.1:0", congestion: "no-such"})), "no-such")
	l := listen(t, Options{congestion: "reno"})
	expect.Is(t, expect.Err(Listen(Options{Addr: l.Addr()})), unix.EADDRINUSE)
	for name, g := range map[string]Group{
		"rank":       {Rank: 2, Peers: make([]Peer, 2)},
		"no address": {Peers: make([]Peer, 2)},
		"need":       {Peers: []Peer{{[]string{"x"}}}, Need: []Path{{1, 0}}},
		"spine":      {Peers: []Peer{{[]string{"x"}}, {[]string{"y"}}}, Need: []Path{{1, -2}}},
		"partner":    {Peers: []Peer{{[]string{"x"}}}, Partners: []int{0}},
		"peer's":     {Peers: []Peer{{[]string{l.Addr()}}, {[]string{"y"}}}, Need: []Path{{1, 0}}},
	} {
		g.ID = 100 // one that fails is over, too
		expect.True(t, expect.Err(l.Connect(t.Context(), g)) != nil, "%s: Connect gave no error", name)
	}
}

func TestSockBuf(t *testing.T) {
	ls := []*Listener{listen(t, Options{}), listen(t, Options{})}
	a, b := pair(0, ls...)
	a.SockBuf, b.SockBuf = 32<<10, 32<<10
	var eps [2]*Endpoint
	var wg sync.WaitGroup
	for r, g := range []Group{a, b} {
		wg.Go(func() {
			var err error
			if eps[r], err = ls[r].Connect(t.Context(), g); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, e := range eps {
		e.run.Lock() // peers' connections may still come in
		for _, c := range e.conns {
			for _, opt := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
				// The kernel doubles it.
				n, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, opt)
				expect.True(t, err == nil && n == 64<<10, "option %d is %d, %v; want %d", opt, n, err, 64<<10)
			}
		}
		e.run.Unlock()
		e.Close()
	}
}

func TestCheckFiles(t *testing.T) {
	expect.OK(t, CheckFiles(10))
	expect.Error(t, CheckFiles(1<<40), "ulimit")
}

func TestCloseLeavesNoFiles(t *testing.T) {
	count := func() int {
		n := 0
		for fd := range 1024 {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
				n++
			}
		}
		return n
	}
	before, asked := count(), wanted.Load()
	ls, peers := listeners(t, 3, Options{}, []int{0})
	for id := range uint32(3) {
		var wg sync.WaitGroup
		for r, l := range ls {
			wg.Go(func() {
				g := Group{ID: id, Rank: r, Peers: peers, Partners: []int{(r + 1) % 3, (r + 2) % 3}}
				for p := range 3 {
					if p != r {
						g.Need = append(g.Need, Path{p, 0})
					}
				}
				e, err := l.Connect(t.Context(), g)
				if err == nil {
					err = e.Close()
				}
				if err != nil && !errors.Is(err, over) { // a faster peer may be through already
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	for _, l := range ls {
		expect.OK(t, l.Close())
	}
	expect.Equal(t, wanted.Load(), asked, "files counted")
	// The poller of the runtime keeps two or three for itself.
	after := count()
	expect.True(t, after <= before+3, "%d files open before, %d after", before, after)
}
