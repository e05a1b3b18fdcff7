package opensm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/internal/expect"
	"evbench/routing/ibtest"
)

// slowSpread is spread.choose by recursion over all shortest ways.
type slowSpread struct {
	g      *graph
	hops   []int // from the destination
	weight []uint64
	count  []uint64
}

func (p *slowSpread) fullest(v int32) (least uint64) {
	if p.hops[v] == 0 {
		return 0
	}
	least = far
	for slot, w := range p.g.to {
		if up := p.g.owner[slot]; w == v && p.hops[up] == p.hops[v]-1 {
			least = min(least, max(p.g.weight[slot], p.fullest(up)))
		}
	}
	return least
}

// used routes in the order given, farthest last, and returns the slots used.
func (p *slowSpread) used(order []int32) []int32 {
	used := make([]int32, len(p.g.sw))
	for _, v := range slices.Backward(order) {
		used[v] = none
		var best [2]uint64
		for own := p.g.first[v]; own < p.g.first[v+1]; own++ {
			up := p.g.to[own]
			if up == none || p.hops[up] != p.hops[v]-1 {
				continue
			}
			slot, onward := p.g.back[own], uint64(0)
			if p.hops[up] > 0 {
				onward = p.fullest(up) + p.count[up]
			}
			cost := [2]uint64{max(p.weight[slot], onward), p.weight[slot]}
			if used[v] == none || slices.Compare(cost[:], best[:]) < 0 {
				used[v], best = slot, cost
			}
		}
		if slot := used[v]; slot != none {
			p.weight[slot] += p.count[v]
			p.count[p.g.owner[slot]] += p.count[v]
		}
	}
	return used
}

func TestSpread(t *testing.T) {
	for seed := range 15 {
		name, n := drawn(t, seed, 0)
		if seed >= 10 {
			name, n = "tangle", tangle(t, 10, 12, 2, rand.New(rand.NewPCG(uint64(seed), 9)))
		}
		r := expect.Value(newRouter(n, "sar"))(t)
		r.spread = newSpread(r.search)
		dice := rand.New(rand.NewPCG(uint64(seed), 10))
		for range 40 {
			dst := int32(dice.IntN(len(r.g.sw)))
			count := make([]uint64, len(r.g.sw))
			for v := range count {
				count[v] = uint64(dice.IntN(4))
			}
			away := n.Distances(n.Switch(int(r.g.sw[dst])))
			slow := &slowSpread{g: r.g, weight: slices.Clone(r.g.weight), count: slices.Clone(count)}
			for _, s := range r.g.sw {
				slow.hops = append(slow.hops, away[s])
			}
			r.search.from(dst, false)
			want := slow.used(r.search.order)
			r.spread.choose(count)
			expect.MustTrue(t, slices.Equal(r.search.used, want) && slices.Equal(r.g.weight, slow.weight),
				"%s: to %d: %v, want %v", name, dst, r.search.used, want)
		}
	}
}

// BenchmarkBesideOpenSM routes the same network, once by OpenSM, which also sends
// its tables to the simulated switches.
func BenchmarkBesideOpenSM(b *testing.B) {
	ibtest.Need(b)
	n := parse(b, "FT(3;18,6,12)", 0)
	res := expect.Value(ibtest.Route(b.Context(), n, "sssp", nil, ibtest.Timed...))(b)
	took := expect.Value(res.Routing())(b)
	for b.Loop() {
		same(b, plain(b, n), res.Tables)
	}
	b.ReportMetric(float64(took.Milliseconds()), "opensm-ms")
}
