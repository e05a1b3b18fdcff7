package qft

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"evbench/routing/dmod/routetest"
)

func BenchmarkQFT(b *testing.B) {
	q := Shape{[]int{18, 3, 18, 36}, []int{1, 3, 18, 18}, []int{1, 6, 1, 1}}
	for _, share := range []float64{0, 0.01} {
		b.Run(fmt.Sprintf("dead=%g", share), func(b *testing.B) {
			n := routetest.Degrade(build(b, q, 0), rand.New(rand.NewPCG(1, 1)), share)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := QFT(q, n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
