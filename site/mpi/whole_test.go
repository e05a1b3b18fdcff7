//go:build mpi

package mpi

import (
	"context"
	"testing"

	"evbench/testing/expect"

	"evbench/testing/transporttest"
	"evbench/transport"
)

// runWhole checks the barrier of MPI. open returns n endpoints, by rank.
func runWhole(t *testing.T, open func(t *testing.T, n int) []*standIn) {
	t.Run("nobody leaves early", func(t *testing.T) {
		for _, n := range []int{1, 2, 3, 4, 8} {
			transporttest.Together(t, "whole", barriers(open(t, n)), 20)
		}
	})
	t.Run("the next group is not led astray by one that was cut short", func(t *testing.T) {
		const n = 3
		p := open(t, n)
		transporttest.Together(t, "first", barriers(p), 3)
		ctx, cancel := context.WithCancel(t.Context())
		cut := make(chan error)
		go func() { cut <- p[0].Barrier(ctx) }()
		cancel()
		expect.Is(t, <-cut, context.Canceled)
		for _, w := range p {
			_ = w.Close()
		}
		for range 2 {
			transporttest.Together(t, "next", barriers(open(t, n)), 5)
		}
	})
	for _, first := range []int{0, 1} { // the first barrier may be another matter
		t.Run("ctx ends it", func(t *testing.T) {
			testWholeEnds(t, open(t, 2), first, context.Canceled, func(_ *standIn, cancel func()) { cancel() })
		})
		t.Run("Close ends it", func(t *testing.T) {
			testWholeEnds(t, open(t, 2), first, transport.ErrClosed, func(w *standIn, _ func()) { _ = w.Close() })
		})
		t.Run("a closed peer is named", func(t *testing.T) {
			p := open(t, 2)
			transporttest.Together(t, "before", barriers(p), first)
			_ = p[1].Close()
			transporttest.Named(t, p[0].Barrier(t.Context()))
		})
	}
}

func barriers(p []*standIn) []func(ctx context.Context) error {
	var out []func(ctx context.Context) error
	for _, w := range p {
		out = append(out, w.Barrier)
	}
	return out
}

func testWholeEnds(t *testing.T, p []*standIn, before int, want error, end func(w *standIn, cancel func())) {
	transporttest.Together(t, "before", barriers(p), before)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error)
	go func() { result <- p[0].Barrier(ctx) }()
	end(p[0], cancel)
	expect.Is(t, <-result, want)
}
