package tcp

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/testing/expect"
)

// BenchmarkBarrier reports the median time of one barrier, in µs. A barrier's time is from the last exit of the
// one before to its own last exit: the clock of a single rank lies when that rank is not running.
func BenchmarkBarrier(b *testing.B) {
	for _, kind := range barrier.Forms() {
		for _, n := range []int{4, 8, 16, 32} {
			b.Run(fmt.Sprintf("%s/n=%d", kind, n), func(b *testing.B) { benchBarrier(b, kind, n) })
		}
	}
}

func benchBarrier(b *testing.B, kind string, n int) {
	manyProcs(b, n)
	eps := group(b, n, Options{}, kind)
	exits := make([][]time.Duration, n)
	start := time.Now()
	var g errgroup.Group
	for r, e := range eps {
		exits[r] = make([]time.Duration, b.N+1)
		g.Go(func() error {
			w, err := barrier.New(kind, r, n)
			for i := range b.N + 1 {
				if err == nil {
					err = w.Wait(b.Context(), e)
				}
				exits[r][i] = time.Since(start)
			}
			return err
		})
	}
	expect.Must(b, g.Wait())
	reportMedian(b, exits)
}

// manyProcs gives every endpoint a processor of the Go runtime, see the comment of the package.
func manyProcs(b *testing.B, n int) {
	old := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(old, n))
	b.Cleanup(func() { runtime.GOMAXPROCS(old) })
}

// reportMedian takes the exits of b.N+1 rounds by rank; the first is a warm-up.
func reportMedian(b *testing.B, exits [][]time.Duration) {
	took := make([]time.Duration, b.N)
	for i := range took {
		var from, to time.Duration
		for _, e := range exits {
			from, to = max(from, e[i]), max(to, e[i+1])
		}
		took[i] = to - from
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "median-µs")
	b.ReportMetric(0, "ns/op")
}
