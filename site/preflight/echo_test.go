package preflight

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"evbench/internal/port"
	"evbench/testing/expect"
)

// dataPort is a place where TCP connections are taken, as a data listener.
func dataPort(t *testing.T, addr string) string {
	t.Helper()
	l := expect.Value(net.Listen("tcp", addr))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// serve echoes at an address, or skips the test of a machine on which another program has that port for UDP.
func echoAt(t *testing.T, token string, addrs ...string) {
	t.Helper()
	s, err := Listen(addrs, token)
	t.Cleanup(func() {
		expect.OK(t, s.Close())
	})
	if err != nil {
		t.Skip(err)
	}
}

func TestProbe(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(at, func(t *testing.T) {
			if l, err := net.Listen("tcp", at); err != nil {
				t.Skip("no such address here")
			} else {
				l.Close()
			}
			a, b := dataPort(t, at), dataPort(t, at)
			echoAt(t, "secret", a, b)
			for i, r := range NewProber("secret").Probe(t.Context(), []string{a, b}, false) {
				expect.True(t, r.Addr == []string{a, b}[i] && r.Err == "" && r.Hops == 0 && r.RTT > 0, "got %+v, want no hops and a time", r)
			}
		})
	}
}

// Without an echo, or with one for another token, it is still known that the server is reached.
func TestProbeWithoutEcho(t *testing.T) {
	a, b := dataPort(t, "127.0.0.1:0"), dataPort(t, "127.0.0.1:0")
	echoAt(t, "another", b)
	for _, addr := range []string{a, b} {
		r := NewProber("secret").Probe(t.Context(), []string{addr}, false)
		expect.True(t, len(r) == 1 && r[0].Err == "" && r[0].Hops == -1 && r[0].RTT == 0, "%s: got %+v", addr, r)
	}
}

// After three peers that do not echo, nobody is asked any more; one that does begins the count anew.
func TestProbeGivesUp(t *testing.T) {
	quiet, loud := dataPort(t, "127.0.0.1:0"), dataPort(t, "127.0.0.1:0")
	echoAt(t, "secret", loud)
	p := NewProber("secret")
	for i, step := range []struct {
		addr  string
		times bool
	}{{quiet, false}, {quiet, false}, {loud, true}, {quiet, false}, {quiet, false}, {quiet, false}, {loud, false}} {
		r := p.Probe(t.Context(), []string{step.addr}, false)[0]
		expect.True(t, r.RTT > 0 == step.times && r.Err == "", "step %d: got %+v, want times %v", i, r, step.times)
	}
}

func TestProbeUnreachable(t *testing.T) {
	const closed = "127.0.0.1:1" // is nobody's
	p := NewProber("secret")
	r := p.Probe(t.Context(), []string{closed}, false)[0]
	expect.True(t, r.Err == "connection refused" && r.Hops == -1 && r.RTT == 0, "got %+v", r)
	if r := p.Probe(t.Context(), []string{"no port"}, false)[0]; r.Err == "" {
		t.Errorf("got %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := p.Probe(ctx, []string{closed}, false)[0]; r.Err == "" {
		t.Errorf("after the end: %+v", r)
	}
}

func TestServeSaysWhere(t *testing.T) {
	s, err := Listen([]string{"192.0.2.77:7", "no port"}, "secret") // addresses of nobody
	expect.True(t, err != nil, "no error")
	expect.OK(t, s.Close())
}

func TestParse(t *testing.T) {
	n := port.Nonce()
	good := newPacket("secret", request, 61, 7, n)
	h, ok := parse(good[:], "secret", request)
	expect.True(t, ok && h == (heard{61, 7, n}), "got %+v, %v", h, ok)
	for name, b := range map[string][]byte{"empty": nil, "short": good[:packetSize-1], "long": append(good[:], 0)} {
		if _, ok := parse(b, "secret", request); ok {
			t.Errorf("%s: taken", name)
		}
	}
	if _, ok := parse(good[:], "secret", reply); ok {
		t.Error("a request is taken for a reply")
	}
	if _, ok := parse(good[:], "other", request); ok {
		t.Error("a request with another token is taken")
	}
	for i := range good {
		other := good
		other[i] ^= 1
		if _, ok := parse(other[:], "secret", request); ok {
			t.Errorf("byte %d is changed, and nobody has noticed", i)
		}
	}
}

// A reply that was recorded answers no later request.
func TestOldReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		e := exchange{conn: here, token: "secret", nonce: port.Nonce()}
		go func() {
			b := make([]byte, packetSize)
			expect.OK(t, expect.Err(io.ReadFull(there, b)))
			for _, n := range []nonce{port.Nonce(), e.nonce} { // the second one is of this request
				p := newPacket("secret", reply, n[0], 0, n)
				expect.OK(t, expect.Err(there.Write(p[:])))
			}
		}()
		ttl, _, err := e.once()
		expect.True(t, err == nil && ttl == e.nonce[0], "answered by %d, %v; want %d", ttl, err, e.nonce[0])
	})
}

func FuzzParse(f *testing.F) {
	good := newPacket("t", request, 61, 7, nonce{1})
	f.Add(good[:], byte(request), true)
	f.Add(good[:], byte(request), false)
	f.Fuzz(func(t *testing.T, b []byte, kind byte, proven bool) {
		if proven && len(b) == packetSize { // else nothing gets past it
			own := port.Proof("t", role, b[:proofAt])
			copy(b[proofAt:], own[:])
		}
		h, ok := parse(b, "t", kind)
		if !ok {
			return
		}
		again := newPacket("t", kind, h.ttl, h.number, h.nonce)
		expect.Equal(t, string(again[:]), string(b), "%x is written as", b)
	})
}
