package dmod

import (
	"math/rand/v2"
	"testing"

	"evbench/routing/dmod/routetest"
	"evbench/routing/lft"
	"evbench/topology/network"
)

var (
	large  = network.PGFT{M: []int{18, 3, 18, 36}, W: []int{1, 3, 18, 18}, P: []int{1, 6, 1, 1}} // 34,992 hosts
	middle = network.PGFT{M: []int{18, 18, 36}, W: []int{1, 18, 18}, P: []int{1, 1, 1}}          // 11,664 hosts
)

func benchmark(b *testing.B, g network.PGFT, dead float64, route func(n *network.Network) (*lft.Tables, error)) {
	n := routetest.Degrade(build(b, g), rand.New(rand.NewPCG(1, 1)), dead)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := route(n); err != nil {
			b.Fatal(err)
		}
	}
}

func dmodc(n *network.Network) (*lft.Tables, error) { return Dmodc(n, Options{}) }

func BenchmarkDmodcMiddle(b *testing.B)         { benchmark(b, middle, 0, dmodc) }
func BenchmarkDmodcMiddleDegraded(b *testing.B) { benchmark(b, middle, 0.01, dmodc) }
func BenchmarkDmodcLarge(b *testing.B)          { benchmark(b, large, 0, dmodc) }
func BenchmarkDmodcLargeDegraded(b *testing.B)  { benchmark(b, large, 0.01, dmodc) }

func BenchmarkDmodkMiddle(b *testing.B) {
	benchmark(b, middle, 0, func(n *network.Network) (*lft.Tables, error) { return Dmodk(middle, n) })
}

func BenchmarkDmodkLarge(b *testing.B) {
	benchmark(b, large, 0, func(n *network.Network) (*lft.Tables, error) { return Dmodk(large, n) })
}
