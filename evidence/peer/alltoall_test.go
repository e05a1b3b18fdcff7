package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
)

// all runs the work on n ranks, each on its endpoint as wrap returns it.
func all(t *testing.T, n int, w Work, wrap func(transport.Endpoint) transport.Endpoint) error {
	t.Helper()
	eps := transporttest.New(n, nil)
	g, ctx := errgroup.WithContext(t.Context())
	for r, e := range eps {
		g.Go(func() error {
			b, err := barrier.New(barrier.Tournament, r, n)
			if err != nil {
				return err
			}
			took, err := Run(ctx, wrap(e), n, func(ctx context.Context) error { return b.Wait(ctx, e) }, w)
			expect.False(t, err == nil && took <= 0, "rank %d took %v", r, took)
			return err
		})
	}
	err := g.Wait()
	for _, e := range eps {
		expect.OK(t, e.Close())
	}
	return err
}

func TestEveryByteIsDelivered(t *testing.T) {
	for _, w := range []Work{
		{Mode: Unsync, Size: 1000, Exchanges: 5, Warmup: 2},
		{Mode: Unsync, Size: 1000, Exchanges: 6, Warmup: 3, Batch: 3},
		{Mode: Unsync, Size: 1000, Exchanges: 3, Shared: true},
		{Mode: Unsync, Exchanges: 1},
		{Mode: Phases, Size: 1000, Exchanges: 5, Warmup: 1},
		{Mode: Phases, Size: 10, Exchanges: 2, Shared: true},
	} {
		w.Check = true
		for _, n := range []int{2, 3, 5} {
			expect.OK(t, all(t, n, w, func(e transport.Endpoint) transport.Endpoint { return e }), "n=%d, %+v", n, w)
		}
	}
}

// A liar is an endpoint that spoils the last byte of what it posts for sending.
type liar struct{ transport.Endpoint }

func (l liar) Post(ops []transport.Op) error {
	for i := range ops {
		if ops[i].Kind == transport.Send && l.Rank() == 1 {
			ops[i].Body[len(ops[i].Body)-1]++
		}
	}
	return l.Endpoint.Post(ops)
}

func TestCheckSeesASpoiledByte(t *testing.T) {
	w := Work{Mode: Unsync, Size: 100, Exchanges: 1, Check: true}
	err := all(t, 2, w, func(e transport.Endpoint) transport.Endpoint { return liar{e} })
	expect.Error(t, err, "byte 99 from rank 1 differs")
}

func TestBadWork(t *testing.T) {
	good := Work{Mode: Unsync, Size: 10, Exchanges: 4, Batch: 2}
	for name, change := range map[string]func(*Work){
		"mode":           func(w *Work) { w.Mode = "fast" },
		"size":           func(w *Work) { w.Size = -1 },
		"exchanges":      func(w *Work) { w.Exchanges = 0 },
		"warm-up":        func(w *Work) { w.Warmup = -2 },
		"part of batch":  func(w *Work) { w.Exchanges = 3 },
		"batch of phase": func(w *Work) { w.Mode = Phases },
	} {
		w := good
		change(&w)
		expect.True(t, expect.Err(Run(t.Context(), nil, 2, nil, w)) != nil, "%s: no error", name)
	}
	expect.True(t, expect.Err(Run(t.Context(), nil, 1, nil, good)) != nil, "one rank: no error")
}

func TestBarriersNotesEveryExit(t *testing.T) {
	clock, passed := time.Duration(0), 0
	gate := func(context.Context) error { passed++; clock += time.Second; return nil }
	exits, err := Barriers(t.Context(), gate, 3, 2, func() time.Duration { return clock })
	want := []time.Duration{3 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second}
	expect.True(t, err == nil && slices.Equal(exits, want) && passed == 6, "exits %v (%v) after %d barriers, want %v", exits, err, passed, want)
}
