package worker

import (
	"context"
	"testing"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/controller/wire"
	"evbench/internal/expect"
	"evbench/transport"
	"evbench/transport/transporttest"
)

// withBarrier is an endpoint whose transport has a barrier of its own.
type withBarrier struct {
	*transporttest.Endpoint
	b     *barrier.Barrier
	waits int
}

func (w *withBarrier) Barrier(ctx context.Context) error {
	w.waits++
	return w.b.Wait(ctx, w.Endpoint)
}

// With barrier mpi the exchanges of all ranks wait in the transport's own
// barrier, once a phase, and signal nobody.
func TestGateOfTheTransport(t *testing.T) {
	const n, events = 3, 4
	var g errgroup.Group
	var ends [n]*withBarrier
	for r, ep := range transporttest.New(n, nil) {
		b, err := barrier.New(barrier.Central, r, n)
		expect.Must(t, err)
		ends[r] = &withBarrier{ep, b, 0}
		c := testCase(wire.Sync, n)
		c.Rank, c.Barrier, c.Row = r, wire.BarrierMPI, nil
		for p := 1; p < n; p++ {
			c.Row = append(c.Row, wire.Step{To: (r + p) % n, ToSpine: transport.Single, From: (r + n - p) % n, FromSpine: transport.Single})
		}
		g.Go(func() error {
			d := newMailbox()
			d.grant(events)
			d.change(func(o *orders) { o.finish = true })
			s, err := newSynchronised(newLoop(c, Connections{Endpoint: ends[r], Signals: ends[r], Barrier: ends[r].Barrier}, d, newReporter(nil, c), nil))
			if err != nil {
				return err
			}
			return s.run(t.Context())
		})
	}
	expect.Must(t, g.Wait())
	for r, e := range ends {
		want := events * (n - 1)
		expect.True(t, e.waits == want, "rank %d waited %d times, want %d", r, e.waits, want)
	}
}

func TestGateRefuses(t *testing.T) {
	c := testCase(wire.Sync, 3)
	for _, tt := range []struct {
		kind string
		peer barrier.Peer
		want string
	}{
		{wire.BarrierMPI, transporttest.New(3, nil)[0], "mpi needs transport mpi"},
		{wire.BarrierMPI, nil, "no connections"},
		{"turnstile", transporttest.New(3, nil)[0], `no barrier "turnstile"`},
	} {
		c.Barrier = tt.kind
		_, err := newGate(c, &Connections{Signals: tt.peer})
		expect.Error(t, err, tt.want)
	}
}
