package sizes_test

import (
	"fmt"
	"testing"

	"evbench/internal/expect"
	"evbench/scheduler/sizes"
	"evbench/topology"
	"evbench/topology/topologytest"
)

// Planning of sizes ±50 % on 16, 64, 324 and 1,296 servers, without and with nine dead
// links.
func BenchmarkMake(b *testing.B) {
	for _, ports := range []int{4, 8, 18, 36} {
		for _, dead := range []int{0, 9} {
			t := topologytest.Tree(b, topology.Options{Ports: ports, Leaves: ports})
			if ports == 4 && dead > 0 {
				continue
			}
			links, err := t.Random(dead, 5)
			expect.Must(b, err)
			if t, err = t.Without(links...); err != nil {
				b.Fatal(err)
			}
			m := draw(b, t, "uniform50", 7)
			b.Run(fmt.Sprintf("servers=%d/dead=%d", t.Servers(), dead), func(b *testing.B) {
				for b.Loop() {
					p := expect.Value(sizes.Make(t, m, sizes.Options{Seed: 1}))(b)
					b.ReportMetric(p.Efficiency(), "bound/time")
				}
			})
		}
	}
}
