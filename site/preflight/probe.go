package preflight

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"evbench/controller/wire"
	"evbench/internal/port"
)

const (
	// connectTime tolerates the loss of the first packet of a connection.
	connectTime = 2500 * time.Millisecond
	// leastAway is the least delay of a time-out that shows that the machine stood still, and
	// connects is the number of attempts then.
	leastAway = 100 * time.Millisecond
	connects  = 3
	// pings is how many packets are sent; the fastest counts.
	pings = 20
	// pingTime is the wait for an answer to one.
	pingTime = 300 * time.Millisecond
	// maxSilent is how many in a row may stay without answer, and how many silent peers end all
	// pings.
	maxSilent = 3
)

// A Prober measures how other servers are reached.
type Prober struct {
	token  string
	silent atomic.Int32 // peers in a row without an echo
}

// NewProber returns a Prober for servers with the same token.
func NewProber(token string) *Prober { return &Prober{token: token} }

// Probe connects to every address, all at once, and then sends small packets to the addresses that
// accept, one after the other. If a peer's first address does not echo, Probe sends it no more
// packets, and after three such peers in a row none to any peer. With routers set it asks for the
// router half way to each address but the first, whose path is up to routing tables.
func (p *Prober) Probe(ctx context.Context, addrs []string, routers bool) []wire.Reach {
	out := make([]wire.Reach, len(addrs))
	var wg sync.WaitGroup
	for i, a := range addrs {
		wg.Go(func() { out[i] = wire.Reach{Addr: a, Err: connect(ctx, a), Hops: -1} })
	}
	wg.Wait()
	if p.silent.Load() >= maxSilent {
		return out
	}
	for i := range out {
		if out[i].Err != "" {
			continue
		}
		out[i].Hops, out[i].RTT = ping(ctx, out[i].Addr, p.token)
		if out[i].RTT == 0 {
			p.silent.Add(1)
			return out
		}
		p.silent.Store(0)
		if h := out[i].Hops; routers && i > 0 && h > 1 && h%2 == 1 {
			out[i].Router = router(ctx, out[i].Addr, (h+1)/2)
		}
	}
	return out
}

func connect(ctx context.Context, addr string) (reason string) {
	d := net.Dialer{Timeout: connectTime}
	for range connects {
		began := time.Now()
		c, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			_ = c.Close()
			return ""
		}
		if reason = why(err); reason != timedOut || time.Since(began) < connectTime+leastAway {
			break
		}
	}
	return reason
}

const timedOut = "timed out"

// why is the reason in a network error, without the addresses: the same for all failures of one
// kind.
func why(err error) string {
	var errno syscall.Errno
	var timeout net.Error
	var op *net.OpError
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return timedOut
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// ping returns the number of routers on the way to an address (-1: not known) and the shortest
// round trip (0: no answer).
func ping(ctx context.Context, addr, token string) (hops int, rtt time.Duration) {
	hops = -1
	d := net.Dialer{Timeout: connectTime, Control: sendTTL}
	conn, err := d.DialContext(ctx, "udp", addr)
	if err != nil {
		return hops, 0
	}
	defer conn.Close()
	e := exchange{conn: conn, token: token, nonce: port.Nonce()}
	for silent := 0; e.sent < pings && silent < maxSilent && ctx.Err() == nil; {
		ttl, took, err := e.once()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			silent++
			continue
		case err != nil:
			return hops, rtt // the other machine says that the port is closed
		}
		silent = 0
		if rtt == 0 || took < rtt {
			rtt = took
		}
		if ttl > 0 && ttl <= startTTL {
			hops = startTTL - int(ttl)
		}
	}
	return hops, rtt
}

type exchange struct {
	conn  net.Conn
	token string
	nonce nonce
	at    [pings]time.Time // when each was sent
	sent  int
}

// once sends the next packet and returns the data of the first answer, which may be a late one to
// an earlier packet.
func (e *exchange) once() (ttl byte, took time.Duration, err error) {
	p := newPacket(e.token, request, 0, uint32(e.sent), e.nonce)
	began := time.Now()
	e.at[e.sent] = began
	e.sent++
	if _, err := e.conn.Write(p[:]); err != nil {
		return 0, 0, err
	}
	if err := e.conn.SetReadDeadline(began.Add(pingTime)); err != nil {
		return 0, 0, err
	}
	for b := make([]byte, packetSize+1); ; {
		n, err := e.conn.Read(b)
		now := time.Now()
		if err != nil {
			return 0, 0, err
		}
		if h, ok := parse(b[:n], e.token, reply); ok && h.nonce == e.nonce && h.number < uint32(e.sent) {
			return h.ttl, max(now.Sub(e.at[h.number]), 1), nil
		}
	}
}
