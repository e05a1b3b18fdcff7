package worker

import (
	"errors"
	"sync/atomic"
	"testing"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
	"evbench/transport/tcp"
)

// Two whole workers over TCP allocate nothing either, however payload moves.
//
//gate:race
func TestWorkersOverTCPAllocateNothing(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Sync, modes.Unsync, modes.FreeRunning} {
		for _, deliver := range []string{builder.DeliverBuffer, builder.DeliverDiscard} {
			for _, io := range []string{tcp.Copy, tcp.Sendfile} {
				t.Run(string(mode)+"/"+deliver+"/"+io, func(t *testing.T) { overTCP(t, mode, deliver, io) })
			}
		}
	}
}

func overTCP(t *testing.T, mode modes.Mode, deliver, io string) {
	const n, warm, runs = 2, 10, 100
	eps := tcpEndpoints(t, n, io)
	begin, end := make(chan bool), make(chan error)
	var built atomic.Int64
	var loops []*loop
	for rank, ep := range eps {
		c := testCase(mode, n)
		c.Rank, c.Fragment, c.Deliver = rank, 100_000, deliver
		c.Row = []wire.Step{{To: 1 - rank, ToSpine: single, From: 1 - rank, FromSpine: single}}
		if deliver == builder.DeliverDiscard {
			c.Check = builder.CheckHeader
		}
		build, l := builderOf(t, c, ep, eps[1-rank], &built)
		loops = append(loops, l)
		go func() {
			for range begin {
				end <- build()
			}
		}()
	}
	defer close(begin)
	all := func() {
		for range n {
			begin <- true
		}
		for range n {
			expect.Must(t, <-end)
		}
	}
	for range warm {
		all()
	}
	got := testing.AllocsPerRun(runs, all)
	expect.True(t, got == 0, "%v allocations per event of each of %d servers", got, n)
	for rank, l := range loops {
		if got := l.meter.events.Load(); got != warm+runs+1 || l.fragments.asm.Count(builder.Corrupt) != 0 {
			t.Errorf("rank %d built %d events, want %d", rank, got, warm+runs+1)
		}
	}
}

// builderOf returns a function that builds one event while another worker does
// the same; built counts the events of both.
func builderOf(t *testing.T, c wire.Configure, ep *tcp.Endpoint, other transport.Endpoint, built *atomic.Int64) (func() error, *loop) {
	expect.Must(t, check(c, 0))
	ctx, d := t.Context(), newMailbox()
	l := newLoop(c, Connections{Endpoint: ep, Signals: ep}, d, newReporter(nil, c), nil)
	switch c.Mode {
	case modes.Sync:
		s := expect.Value(newSynchronised(l))(t)
		return func() error { return s.exchange(ctx) }, l
	case modes.FreeRunning:
		f, until := newFreeRunning(l), uint64(0)
		return func() (err error) {
			until++
			for d.grant(until, nil); f.done < until && err == nil; {
				// The step that notices the end has nothing left to wait for.
				if err = errors.Join(f.take(ctx), f.step()); err == nil && f.done < until {
					err = f.turn(ctx, f)
				}
			}
			return err
		}, l
	}
	u, id, all := newUnsynchronised(l), uint64(c.Rank), int64(0)
	u.serveAll()
	more := func(o *orders) { o.events = append(o.events, id) }
	return func() (err error) {
		before := l.meter.events.Load()
		all += 2
		d.change(more)
		for done := false; err == nil && built.Load() < all; {
			err = u.turn(ctx) // also serves the other, who may not be through
			if !done && l.meter.events.Load() > before {
				done = true
				built.Add(1)
				other.Wake()
			}
		}
		l.report.built = l.report.built[:0] // as its goroutine does
		id += 2
		return err
	}, l
}

func tcpEndpoints(t *testing.T, n int, io string) []*tcp.Endpoint {
	t.Helper()
	ls, peers := make([]*tcp.Listener, n), make([]tcp.Peer, n)
	for r := range n {
		ls[r] = expect.Value(tcp.Listen(tcp.Options{Addr: "127.0.0.1:0", Token: "t"}))(t)
		t.Cleanup(func() { _ = ls[r].Close() })
		peers[r] = tcp.Peer{Addrs: []string{ls[r].Addr()}}
	}
	return transporttest.ConnectAll(t, n, func(r int) (*tcp.Endpoint, error) {
		group := tcp.Group{ID: 1, Rank: r, Peers: peers, IO: io}
		for p := range n {
			if p != r {
				group.Need = append(group.Need, tcp.Path{Peer: p, Spine: single})
				group.Partners = append(group.Partners, p)
			}
		}
		return ls[r].Connect(t.Context(), group)
	})
}
