package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"evbench/scheduler"
	"evbench/testing/expect"
	"evbench/topology"
)

// BenchmarkFORS plans trees of all sizes with random dead links.
func BenchmarkFORS(b *testing.B) {
	for _, tt := range []struct {
		name string
		o    topology.Options
		dead []int
	}{
		{"FT(2;20,18)", topology.Options{Ports: 20, Leaves: 18}, []int{0, 1, 9, 60, 180}},
		{"lhcb-a", topology.Options{Ports: 20, Leaves: 18, Fill: lhcbA}, []int{0, 9, 36}},
		{"lhcb-b", topology.Options{Ports: 20, Leaves: 18, Fill: lhcbB}, []int{0, 36}},
		{"PGFT(2;20,18;1,10;1,2)", topology.Options{Ports: 20, Leaves: 18, Spines: 10, Cables: 2}, []int{0, 9, 60}},
		{"FT(2;36,36)", topology.Options{Ports: 36, Leaves: 36}, []int{0, 40}},
		{"FT(2;64,64)", topology.Options{Ports: 64, Leaves: 64}, []int{0, 10}},
	} {
		for _, dead := range tt.dead {
			b.Run(fmt.Sprintf("%s/dead=%d", tt.name, dead), func(b *testing.B) {
				t := random(b, tt.o, dead, 1)
				b.ReportAllocs()
				for b.Loop() {
					expect.Must(b, expect.Err2(scheduler.FORS(t, scheduler.Options{})))
				}
			})
		}
	}
}

// BenchmarkLowerBound is the part of it that finds and proves the number of phases.
func BenchmarkLowerBound(b *testing.B) {
	for _, dead := range []int{0, 9, 60, 180} {
		b.Run(fmt.Sprintf("dead=%d", dead), func(b *testing.B) {
			t := random(b, topology.Options{Ports: 20, Leaves: 18}, dead, 1)
			b.ReportAllocs()
			for b.Loop() {
				scheduler.LowerBound(t, scheduler.Options{})
			}
		})
	}
	b.Run("hall", func(b *testing.B) {
		t := tree(b, topology.Options{Ports: 36, Leaves: 36}, append(diagonal(0), column(1, 1, 35)...)...)
		b.ReportAllocs()
		for b.Loop() {
			kind := scheduler.LowerBound(t, scheduler.Options{}).Kind
			expect.MustTrue(b, kind == scheduler.KindHall, "%v", kind)
		}
	})
}

// BenchmarkPods plans FT(3;8,8,8), 512 servers, with random dead links of
// leaves and of top switches.
func BenchmarkPods(b *testing.B) {
	for _, dead := range [][2]int{{0, 0}, {6, 0}, {0, 6}, {6, 6}, {30, 30}, {0, 120}} {
		b.Run(fmt.Sprintf("dead=%d+%d", dead[0], dead[1]), func(b *testing.B) {
			p := deadOf(b, tree(b, topology.Options{Ports: 8, Leaves: 64, Pods: 8}), dead[0], dead[1], rand.New(rand.NewPCG(1, 1)))
			b.ReportAllocs()
			for b.Loop() {
				s, bound, err := scheduler.FORS(p, scheduler.Options{})
				expect.Must(b, err)
				b.ReportMetric(100*float64(s.Phases-bound.Phases)/float64(bound.Phases), "gap%")
			}
		})
	}
}
