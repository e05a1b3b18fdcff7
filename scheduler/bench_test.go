package scheduler_test

import (
	"fmt"
	"testing"

	"evbench/scheduler"
	"evbench/topology"
)

// BenchmarkFORS plans FT(2;20,18) with random dead links.
func BenchmarkFORS(b *testing.B) {
	for _, dead := range []int{0, 1, 9, 60, 180} {
		b.Run(fmt.Sprintf("dead=%d", dead), func(b *testing.B) {
			t := random(b, topology.Options{Ports: 20, Leaves: 18}, dead, 1)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := scheduler.FORS(t, scheduler.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLowerBound is the part of it that finds and proves the number of phases.
func BenchmarkLowerBound(b *testing.B) {
	for _, dead := range []int{0, 9, 60, 180} {
		b.Run(fmt.Sprintf("dead=%d", dead), func(b *testing.B) {
			t := random(b, topology.Options{Ports: 20, Leaves: 18}, dead, 1)
			b.ReportAllocs()
			for b.Loop() {
				scheduler.LowerBound(t)
			}
		})
	}
}
