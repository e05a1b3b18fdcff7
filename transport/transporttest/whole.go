package transporttest

import (
	"context"
	"errors"
	"testing"

	"evbench/transport"
)

// A Whole is an Endpoint whose transport has a barrier of its own.
type Whole interface {
	Barrier(ctx context.Context) error
	Close() error
}

// RunWhole checks such a barrier. connect returns n endpoints, by rank.
func RunWhole(t *testing.T, connect func(t *testing.T, n int) []Whole) {
	t.Run("nobody leaves early", func(t *testing.T) {
		for _, n := range []int{1, 2, 3, 4, 8} {
			checkTogether(t, "whole", waits(connect(t, n)), 50)
		}
	})
	t.Run("the next group is not led astray by one that was cut short", func(t *testing.T) {
		const n = 3
		p := connect(t, n)
		checkTogether(t, "first", waits(p), 3)
		ctx, cancel := context.WithCancel(t.Context())
		cut := make(chan error)
		go func() { cut <- p[0].Barrier(ctx) }()
		cancel()
		if err := <-cut; !errors.Is(err, context.Canceled) {
			t.Errorf("Barrier() = %v, want context.Canceled", err)
		}
		for _, w := range p {
			_ = w.Close()
		}
		for range 2 {
			checkTogether(t, "next", waits(connect(t, n)), 5)
		}
	})
	for _, first := range []int{0, 1} { // the first barrier may be another matter
		t.Run("ctx ends it", func(t *testing.T) {
			testWholeEnds(t, connect(t, 2), first, context.Canceled, func(_ Whole, cancel func()) { cancel() })
		})
		t.Run("Close ends it", func(t *testing.T) {
			testWholeEnds(t, connect(t, 2), first, transport.ErrClosed, func(w Whole, _ func()) { _ = w.Close() })
		})
		t.Run("a closed peer is named", func(t *testing.T) {
			p := connect(t, 2)
			checkTogether(t, "before", waits(p), first)
			_ = p[1].Close()
			checkNamed(t, p[0].Barrier(t.Context()))
		})
	}
}

func waits(p []Whole) []func(ctx context.Context) error {
	var out []func(ctx context.Context) error
	for _, w := range p {
		out = append(out, w.Barrier)
	}
	return out
}

func testWholeEnds(t *testing.T, p []Whole, before int, want error, end func(w Whole, cancel func())) {
	checkTogether(t, "before", waits(p), before)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error)
	go func() { result <- p[0].Barrier(ctx) }()
	end(p[0], cancel)
	if err := <-result; !errors.Is(err, want) {
		t.Errorf("Barrier() = %v, want %v", err, want)
	}
}
