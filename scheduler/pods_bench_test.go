package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"evbench/scheduler"
	"evbench/topology"
)

// BenchmarkPods plans FT(3;8,8,8), 512 servers, with random dead links of
// leaves and of top switches.
func BenchmarkPods(b *testing.B) {
	for _, dead := range [][2]int{{0, 0}, {6, 0}, {0, 6}, {6, 6}, {30, 30}, {0, 120}} {
		b.Run(fmt.Sprintf("dead=%d+%d", dead[0], dead[1]), func(b *testing.B) {
			p := deadOf(b, tree(b, topology.Options{Ports: 8, Leaves: 64, Pods: 8}), dead[0], dead[1], rand.New(rand.NewPCG(1, 1)))
			b.ReportAllocs()
			for b.Loop() {
				s, bound, err := scheduler.FORS(p, scheduler.Options{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(100*float64(s.Phases-bound.Phases)/float64(bound.Phases), "gap%")
			}
		})
	}
}

// BenchmarkPodsPin pins linear shift on the same tree without dead links.
func BenchmarkPodsPin(b *testing.B) {
	p := tree(b, topology.Options{Ports: 8, Leaves: 64, Pods: 8})
	s := scheduler.LinearShift(p)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scheduler.Pin(s, p, scheduler.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
