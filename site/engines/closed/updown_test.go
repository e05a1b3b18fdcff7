package closed

import (
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

func TestFill(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		step, period := 1+rng.IntN(7), 1+rng.IntN(9)
		ports := make([]uint8, period)
		for i := range ports {
			ports[i] = uint8(rng.IntN(250))
		}
		d0, dst := rng.IntN(100), make([]uint8, rng.IntN(200))
		asked := period
		if rng.IntN(3) == 0 {
			asked = 0
		}
		fill(dst, d0, step, asked, func(k int) uint8 { return ports[k%period] })
		for i, p := range dst {
			want := ports[(d0+i)/step%period]
			expect.MustTrue(t, p == want, "step %d, period %d: destination %d has port %d, not %d", step, period, d0+i, p, want)
		}
	}
}

func TestSegments(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + rng.IntN(200)
		bits := make([][]uint64, rng.IntN(4))
		for g := range bits {
			bits[g] = make([]uint64, (n+63)/64)
			on := false
			for i := range n {
				if on = on != (rng.IntN(12) == 0); on {
					bits[g][i/64] |= 1 << (i % 64)
				}
			}
		}
		at := 0
		var before []int32
		segments(bits, n, func(lo, hi int, groups []int32) {
			expect.MustFalse(t, lo != at || hi <= lo || lo > 0 && slices.Equal(groups, before),
				"from %d to %d, %v, after %d, %v", lo, hi, groups, at, before)
			for i := lo; i < hi; i++ {
				for g := range bits {
					expect.MustTrue(t, slices.Contains(groups, int32(g)) == (bits[g][i/64]>>(i%64)&1 != 0), "%d: groups %v", i, groups)
				}
			}
			at, before = hi, slices.Clone(groups)
		})
		expect.MustTrue(t, at == n, "ended at %d of %d", at, n)
	}
}

// hops searches the hops of shortest paths up and then down, backwards from a
// switch: it goes up, then down.
func hops(n *network.Network, rank []int, to network.Node) map[network.Node]int {
	type state struct {
		v    network.Node
		down bool
	}
	dist, queue := map[state]int{{to, false}: 0}, []state{{to, false}}
	out := map[network.Node]int{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if _, ok := out[at.v]; !ok {
			out[at.v] = dist[at]
		}
		for _, e := range n.Ends(at.v) {
			if e.Node == network.NoNode || n.IsHost(e.Node) || rank[e.Node] == rank[at.v] {
				continue
			}
			next := state{e.Node, rank[e.Node] < rank[at.v]}
			if _, ok := dist[next]; !ok && (next.down || !at.down) {
				dist[next] = dist[at] + 1
				queue = append(queue, next)
			}
		}
	}
	return out
}

// Switches are reached by shortest paths up and then down, where there are any.
func TestToSwitches(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		g := network.PGFT{M: []int{2, 2 + rng.IntN(3), 3}, W: []int{1, 2, 1 + rng.IntN(3)}, P: []int{1, 1 + rng.IntN(2), 1}}
		n := without(build(t, g), nil, func(_, _ network.End) bool { return rng.IntN(6) == 0 })
		rank := byHops(n)
		tables := lft.New("test", n)
		newGraph(n, rank).toSwitches(tables)
		for i := range n.Switches() {
			to := n.Switch(i)
			want := hops(n, rank, to)
			for j := range n.Switches() {
				from := n.Switch(j)
				got, ok := followTo(tables, rank, from, to)
				h, there := want[from]
				expect.MustTrue(t, ok == there && got == h, "seed %d: %d to %d: %d hops, %v; want %d, %v", seed, from, to, got, ok, h, there)
			}
		}
	}
}

func followTo(t *lft.Tables, rank []int, from, to network.Node) (hops int, ok bool) {
	down := false
	for s := from; s != to; hops++ {
		port := t.Port(s, int(t.Net.Info(to).LID))
		if port == lft.NoPort {
			return 0, false
		}
		next := t.Net.At(s, int(port)).Node
		if next == network.NoNode || hops > 20 || down && rank[next] > rank[s] {
			return -1, true
		}
		down = down || rank[next] < rank[s]
		s = next
	}
	return hops, t.Port(to, int(t.Net.Info(to).LID)) == 0
}

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
