package emulate

import (
	"math/rand/v2"
	"testing"

	"evbench/testing/expect"
)

// TestReserveAgainstTicks compares with a wire that is a list of ticks, each taken or free.
func TestReserveAgainstTicks(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var w wire
		ticks := make([]bool, 4000)
		now := int64(0)
		for range 200 {
			now += rng.Int64N(5)
			from, d := now+rng.Int64N(30), 1+rng.Int64N(9)
			w.forget(now)
			got := w.reserve(from, d)
			want := take(ticks, from, d)
			expect.MustTrue(t, got == want, "seed %d: reserve(%d, %d) = %d, want %d", seed, from, d, got, want)
			for i := range len(w.busy) - 1 {
				expect.MustTrue(t, w.busy[i].to < w.busy[i+1].from, "seed %d: %v are not apart", seed, w.busy)
			}
		}
	}
}

func take(ticks []bool, from, d int64) int64 {
	for {
		free := int64(0)
		for free < d && !ticks[from+free] {
			free++
		}
		if free == d {
			break
		}
		from++
	}
	for i := range d {
		ticks[from+i] = true
	}
	return from
}
