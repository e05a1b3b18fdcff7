package list_test

import (
	"fmt"
	"testing"

	"evbench/scheduler/list"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
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
			m := draw(b, t.Wires, "uniform50", 7)
			b.Run(fmt.Sprintf("servers=%d/dead=%d", t.Servers(), dead), func(b *testing.B) {
				for b.Loop() {
					p := expect.Value(list.Make(t, m, list.Options{Seed: 1}))(b)
					b.ReportMetric(p.Efficiency(), "bound/time")
				}
			})
		}
	}
}

func TestExchange(t *testing.T) {
	tree := broken(t, topology.Options{Ports: 2, Leaves: 2}, 0, 1)
	m := expect.Value(list.Exchange(tree.Shape, func(event uint64, source int) int { return 10*int(event) + source }, 3))(t)
	for src := range 4 {
		for dst := range 4 {
			want := int64(10*(3*4+dst) + src)
			if src == dst {
				want = 0
			}
			expect.Equal(t, m.Size(src, dst), want, "%d to %d: bytes", src, dst)
		}
	}
	expect.True(t, expect.Err(list.Exchange(tree.Shape, func(uint64, int) int { return -1 }, 0)) != nil, "a fragment of -1 bytes is accepted")
}
