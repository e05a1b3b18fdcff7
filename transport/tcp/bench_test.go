package tcp

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/internal/expect"
	"evbench/transport"
)

// BenchmarkBarrier reports the median time of one barrier, in µs. A barrier's time is from the last exit of the
// one before to its own last exit: the clock of a single rank lies when that rank is not running.
func BenchmarkBarrier(b *testing.B) {
	for _, kind := range barrier.Kinds() {
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

// BenchmarkExchange reports what all ranks together send in a linear shift.
func BenchmarkExchange(b *testing.B) {
	for _, n := range []int{4, 8} {
		for _, size := range []int{64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("n=%d/KiB=%d", n, size>>10), func(b *testing.B) {
				manyProcs(b, n)
				eps := group(b, n, Options{}, barrier.Tournament, transport.Single)
				b.SetBytes(int64(n * size))
				b.ResetTimer()
				var g errgroup.Group
				for _, e := range eps {
					g.Go(func() error { return phases(b, e, n, size) })
				}
				expect.Must(b, g.Wait())
			})
		}
	}
}

// phases does b.N phases of a synchronised linear shift.
func phases(b *testing.B, e *Endpoint, n, size int) error {
	w, err := barrier.New(barrier.Tournament, e.Rank(), n)
	if err != nil {
		return err
	}
	ops := []transport.Op{
		{Kind: transport.Send, Path: transport.Single, Head: make([]byte, transport.HeadSize), Body: e.Alloc(size)},
		{Kind: transport.Recv, Path: transport.Single, Head: make([]byte, transport.HeadSize), Body: e.Alloc(size)},
	}
	for i := range b.N {
		p := 1 + i%(n-1)
		ops[0].Peer, ops[1].Peer = (e.Rank()+p)%n, (e.Rank()+n-p)%n
		if err := e.Exchange(b.Context(), ops); err != nil {
			return err
		}
		if err := w.Wait(b.Context(), e); err != nil {
			return err
		}
	}
	return nil
}
