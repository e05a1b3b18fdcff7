package closed

import (
	"math/rand/v2"
	"testing"

	"evbench/internal/expect"
	"evbench/routing/lft"
	"evbench/topology/network"
)

var (
	large  = network.PGFT{M: []int{18, 3, 18, 36}, W: []int{1, 3, 18, 18}, P: []int{1, 6, 1, 1}} // 34,992 hosts
	middle = network.PGFT{M: []int{18, 18, 36}, W: []int{1, 18, 18}, P: []int{1, 1, 1}}          // 11,664 hosts
)

func benchmark(b *testing.B, g network.PGFT, dead float64, route func(n *network.Network) (*lft.Tables, error)) {
	n := degrade(build(b, g), rand.New(rand.NewPCG(1, 1)), dead)
	b.ReportAllocs()
	for b.Loop() {
		expect.Must(b, expect.Err(route(n)))
	}
}

func dmodcOf(n *network.Network) (*lft.Tables, error) { return Dmodc(n, Options{}) }

func BenchmarkDmodcMiddle(b *testing.B)         { benchmark(b, middle, 0, dmodcOf) }
func BenchmarkDmodcMiddleDegraded(b *testing.B) { benchmark(b, middle, 0.01, dmodcOf) }
func BenchmarkDmodcLarge(b *testing.B)          { benchmark(b, large, 0, dmodcOf) }
func BenchmarkDmodcLargeDegraded(b *testing.B)  { benchmark(b, large, 0.01, dmodcOf) }

func BenchmarkDmodkMiddle(b *testing.B) {
	benchmark(b, middle, 0, Dmodk)
}

func BenchmarkDmodkLarge(b *testing.B) {
	benchmark(b, large, 0, Dmodk)
}

func BenchmarkQFT(b *testing.B) {
	n := degrade(buildQFT(b, shape{M: []int{18, 3, 18, 36}, W: []int{1, 3, 18, 18}, P: []int{1, 6, 1, 1}}, 0), rand.New(rand.NewPCG(1, 1)), 0.01)
	b.ReportAllocs()
	for b.Loop() {
		expect.Must(b, expect.Err(QFT(n)))
	}
}
