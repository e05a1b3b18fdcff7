package lab

import (
	"context"
	"testing"
	"time"

	"evbench/internal/expect"
	"evbench/topology"
)

func BenchmarkLab(b *testing.B) {
	for _, size := range []topology.Options{{Ports: 4, Leaves: 4}, {Ports: 4, Leaves: 8}, {Ports: 8, Leaves: 8}} {
		tree := expect.Value(topology.New(size))(b)
		b.Run(tree.Notation(), func(b *testing.B) {
			var setUp, tearDown time.Duration
			for b.Loop() {
				start := time.Now()
				l := expect.Value(Start(context.Background(), Options{Tree: tree, Rate: 100e6}))(b)
				built := time.Now()
				expect.Must(b, l.Close())
				setUp += built.Sub(start)
				tearDown += time.Since(built)
			}
			b.ReportMetric(float64(setUp.Milliseconds())/float64(b.N), "ms/set-up")
			b.ReportMetric(float64(tearDown.Microseconds())/1e3/float64(b.N), "ms/tear-down")
		})
	}
}
