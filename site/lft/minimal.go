package lft

import (
	"evbench/internal/parallel"
	"evbench/site/network"
)

// Alternatives says how many of a leaf's ports lead to another leaf on a shortest way: the routes
// that an engine can choose from, and the dead cables that the pair survives without a detour. It
// is a property of the network.
type Alternatives struct {
	Pairs int64   `json:"pairs"` // ordered, of switches with hosts
	None  int64   `json:"none"`  // not joined
	Least int     `json:"least"` // among the pairs that are joined
	Mean  float64 `json:"mean"`
	// Count is the number of pairs by their number of ports.
	Count []int64 `json:"count"`
}

// Minimal counts the ports of every leaf that begin a shortest way to each other
// leaf, of whatever form. O(leaves · cables).
func Minimal(n *network.Network) *Alternatives {
	g := newGraph(n)
	count := make([][]int64, parallel.Workers(0))
	search := make([]breadth, len(count))
	parallel.Each(len(count), len(g.leaves), func(w, k int) {
		if count[w] == nil {
			count[w] = make([]int64, g.stride+1)
		}
		dist := search[w].from(g, g.leaves[k].sw)
		for i, l := range g.leaves {
			if i != k {
				count[w][g.nearer(l.sw, dist)]++
			}
		}
	})
	a := &Alternatives{Count: []int64{}}
	sum := int64(0)
	for x := range g.stride + 1 {
		pairs := int64(0)
		for _, c := range count {
			if c != nil {
				pairs += c[x]
			}
		}
		if pairs == 0 {
			continue
		}
		for len(a.Count) <= x {
			a.Count = append(a.Count, 0)
		}
		a.Count[x] = pairs
		a.Pairs += pairs
		sum += pairs * int64(x)
		if x > 0 && a.Least == 0 {
			a.Least = x
		}
	}
	if a.Pairs > 0 {
		a.None = a.Count[0]
		a.Mean = float64(sum) / float64(a.Pairs)
	}
	return a
}

func (g *graph) nearer(sw int32, dist []int32) int {
	count := 0
	for _, far := range g.far[int(sw)*g.stride : (int(sw)+1)*g.stride] {
		if far >= 0 && dist[sw] > 0 && dist[far] == dist[sw]-1 {
			count++
		}
	}
	return count
}

type breadth struct{ dist, queue []int32 }

// from returns the number of cables from a switch to each, -1 where none lead.
func (b *breadth) from(g *graph, sw int32) []int32 {
	if b.dist == nil {
		b.dist = make([]int32, g.n.Switches())
	}
	for i := range b.dist {
		b.dist[i] = -1
	}
	b.dist[sw] = 0
	b.queue = append(b.queue[:0], sw)
	for k := 0; k < len(b.queue); k++ {
		at := b.queue[k]
		for _, far := range g.far[int(at)*g.stride : (int(at)+1)*g.stride] {
			if far >= 0 && b.dist[far] < 0 {
				b.dist[far] = b.dist[at] + 1
				b.queue = append(b.queue, far)
			}
		}
	}
	return b.dist
}
