package transporttest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/transport"
)

// A Signaller is an Endpoint with the methods for barriers.
type Signaller interface {
	barrier.Peer
	Close() error
}

// ConnectBarrier returns n Signallers, by rank, connected for a kind of barrier.
type ConnectBarrier func(t *testing.T, n int, kind string) []Signaller

// RunBarrier checks an implementation of barrier.Peer.
func RunBarrier(t *testing.T, connect ConnectBarrier) {
	t.Run("nobody leaves early", func(t *testing.T) {
		for _, kind := range barrier.Forms() {
			for _, n := range []int{1, 2, 5, 8} {
				testBarrier(t, kind, connect(t, n, kind))
			}
		}
	})
	t.Run("ctx ends Await", func(t *testing.T) {
		testAwaitEnds(t, connect, context.Canceled, func(_ Signaller, cancel func()) { cancel() })
	})
	t.Run("Close ends Await", func(t *testing.T) {
		testAwaitEnds(t, connect, transport.ErrClosed, func(s Signaller, _ func()) { _ = s.Close() })
	})
	t.Run("a closed peer is named", func(t *testing.T) {
		p := connect(t, 2, barrier.Central)
		_ = p[1].Close()
		Named(t, p[0].Await(t.Context(), 1, 1))
	})
	t.Run("a rank out of step is named", func(t *testing.T) {
		p := connect(t, 2, barrier.Central)
		if err := p[1].Signal(t.Context(), 0, 5); err != nil {
			t.Fatal(err)
		}
		Named(t, p[0].Await(t.Context(), 1, 4))
	})
}

// Named checks that an error names rank 1.
func Named(t *testing.T, err error) {
	t.Helper()
	if pe, ok := errors.AsType[*transport.PeerError](err); !ok || pe.Peer != 1 {
		t.Errorf("Await() = %v, want an error that names rank 1", err)
	}
}

func testBarrier(t *testing.T, kind string, peers []Signaller) {
	const rounds = 20
	n := len(peers)
	var waits []func(ctx context.Context) error
	for r, p := range peers {
		b, err := barrier.New(kind, r, n)
		if err != nil {
			t.Fatal(err)
		}
		waits = append(waits, func(ctx context.Context) error { return b.Wait(ctx, p) })
	}
	Together(t, fmt.Sprintf("%s n=%d", kind, n), waits, rounds)
}

// Together checks that all ranks wait for each other, and that none leaves too early.
func Together(t *testing.T, name string, waits []func(ctx context.Context) error, rounds int) {
	t.Helper()
	var entered atomic.Int64
	g, ctx := errgroup.WithContext(t.Context())
	for r, wait := range waits {
		g.Go(func() error {
			for i := range rounds {
				entered.Add(1)
				if err := wait(ctx); err != nil {
					return err
				}
				if got := entered.Load(); got < int64(len(waits)*(i+1)) {
					t.Errorf("%s: rank %d left barrier %d after %d entries", name, r, i, got)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// testAwaitEnds has rank 0 tell rank 1 that it is about to wait forever.
func testAwaitEnds(t *testing.T, connect ConnectBarrier, want error, end func(s Signaller, cancel func())) {
	p := connect(t, 2, barrier.Central)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error)
	go func() {
		if err := p[0].Signal(ctx, 1, 1); err != nil {
			t.Error(err)
		}
		result <- p[0].Await(ctx, 1, 1)
	}()
	if err := p[1].Await(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	end(p[0], cancel)
	if err := <-result; !errors.Is(err, want) {
		t.Errorf("Await() = %v, want %v", err, want)
	}
}
