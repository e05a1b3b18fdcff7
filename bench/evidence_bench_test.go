package bench_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"evbench/bench"
	"evbench/cmd/open"
	"evbench/fabric"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/transport/tcp"
	"evbench/worker"
)

// loopback is a fabric whose workers exchange over TCP, in real time.
type loopback struct{ *inProcess }

func (f loopback) Launch(ctx context.Context, j fabric.Job) (func() error, error) {
	g, ctx := errgroup.WithContext(ctx)
	for rank := range j.Tree.Servers() {
		l, err := tcp.Listen(tcp.Options{Addr: "127.0.0.1:0", Token: j.Token})
		if err != nil {
			return nil, err
		}
		g.Go(func() error {
			defer l.Close()
			return worker.Run(ctx, worker.Options{
				Conn: f.dial(), Token: j.Token, Server: j.Tree.Position(rank), Data: l.Addr(), Open: open.Sockets{Virtual: true}.Open(l),
			})
		})
	}
	return g.Wait, nil
}

// BenchmarkEvidence reports events/s of eight servers over TCP on loopback that keep evidence of each pair, beside those of a sink that
// does not take it: the median ratio of runs in pairs, in turns, with a rank interval of 95 %.
func BenchmarkEvidence(b *testing.B) {
	for _, size := range []string{"64KiB", "1MiB"} {
		b.Run(size, func(b *testing.B) {
			s, planned := read(b, fmt.Sprintf("topology: FT(2;4,2)\nfabric: {kind: hosts}\nevent: {fragment: %s}\nduration: 500ms\nrounds: 1\ncontrol: off\ncases: [{schedule: linear-shift}]\n", size))
			rate := func(pairs bool) float64 {
				f := loopback{&inProcess{}}
				sum, err := bench.Run(b.Context(), bench.Work{Scenario: s, Cases: planned, Fabric: f, Open: into(&memory{keeps: results.Keeps{Pairs: pairs, Courses: pairs}})},
					bench.Options{Listener: f.listen(), Token: "secret"})
				expect.Must(b, err)
				return sum.Cases[0].EventsPerSec.Mean
			}
			var ratios []float64
			for i := range b.N {
				x, y := rate(i%2 == 0), rate(i%2 != 0)
				if i%2 != 0 {
					x, y = y, x
				}
				ratios = append(ratios, x/y)
			}
			slices.Sort(ratios)
			off := int(math.Ceil(0.98 * math.Sqrt(float64(b.N)))) // ranks: 1.96 · √n / 2
			at := func(i int) float64 { return ratios[max(0, min(b.N-1, i))] }
			b.ReportMetric((at((b.N-1)/2)+at(b.N/2))/2, "ratio")
			b.ReportMetric(at(b.N/2-off), "ratio-from")
			b.ReportMetric(at(b.N/2+off), "ratio-to")
			b.ReportMetric(0, "ns/op")
		})
	}
}
