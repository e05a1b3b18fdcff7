package opensm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
)

// A degraded network is a tree with cables gone, and with GUIDs and LIDs that
// say nothing about where a node is.
type degraded struct {
	name  string
	net   *network.Network
	roots []network.Node
}

var shapes = []network.PGFT{
	{M: []int{4, 8}, W: []int{1, 4}, P: []int{1, 1}},
	{M: []int{3, 3, 4}, W: []int{1, 3, 3}, P: []int{1, 1, 1}},
	{M: []int{4, 2, 3}, W: []int{1, 2, 4}, P: []int{1, 2, 1}},
	{M: []int{6, 4}, W: []int{1, 3}, P: []int{1, 3}},
	{M: []int{2, 2, 2, 3}, W: []int{1, 2, 2, 2}, P: []int{1, 1, 1, 1}},
}

// degrade draws a network from a seed. Every fifth is whole.
func degrade(t testing.TB, seed int, lmc int) degraded {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	g := shapes[seed%len(shapes)]
	n := build(t, g, lmc)
	roots := top(n, g)
	n = rename(n, r)
	var cables []network.End
	for i := range n.Switches() {
		for p, far := range n.Ends(n.Switch(i)) {
			if far.Node != network.NoNode && (n.IsHost(far.Node) || far.Node > n.Switch(i)) {
				cables = append(cables, network.End{Node: n.Switch(i), Port: uint8(p + 1)})
			}
		}
	}
	r.Shuffle(len(cables), func(i, j int) { cables[i], cables[j] = cables[j], cables[i] })
	lost := []int{1, 3, 10, 6, 0}[(seed/len(shapes))%5]
	ends := slices.Clone(cables[:lost])
	if seed%3 == 0 {
		ends = append(ends, network.End{Node: n.Switch(r.IntN(n.Switches()))})
	}
	return degraded{fmt.Sprintf("%s, %d cables lost", g, lost), without(t, n, ends...), roots}
}

// TestEqualToOpenSM routes degraded networks with OpenSM and compares all
// entries. No entry is excepted.
func TestEqualToOpenSM(t *testing.T) {
	ibtest.Need(t)
	var entries, trees atomic.Int64
	t.Run("network", func(t *testing.T) {
		for seed := range few(20) {
			d := degrade(t, seed, 0)
			t.Run(fmt.Sprintf("%d %s", seed, d.name), func(t *testing.T) {
				t.Parallel()
				roots := d.roots
				if seed%4 == 3 {
					roots = nil
				}
				for _, engine := range []string{"minhop", "updn", "ftree", "dnup"} {
					if engine == "dnup" && seed%2 == 0 {
						continue
					}
					want, got := referee(t, d.net, engine, roots), answer(t, engine, d.net, roots)
					expect.True(t, got.Engine == want.Engine, "%s became %s, OpenSM used %s", engine, got.Engine, want.Engine)
					if got.Engine == "ftree" {
						trees.Add(1)
					}
					t.Run(engine, func(t *testing.T) { entries.Add(int64(same(t, got, want))) })
				}
			})
		}
	})
	t.Logf("%d entries compared, %d networks routed as fat trees", entries.Load(), trees.Load())
	if expect.All() && trees.Load() < 10 {
		t.Errorf("only %d of 20 networks were routed as fat trees", trees.Load())
	}
}

// few is how many of n random networks a test takes: all, or a tenth where little
// time is asked for, as with the race detector.
func few(n int) int { return expect.Samples(n, (n+9)/10) }

func referee(t testing.TB, n *network.Network, engine string, roots []network.Node, args ...string) *lft.Tables {
	t.Helper()
	r := expect.Value(ibtest.Route(t.Context(), n, engine, roots, args...))(t)
	return r.Tables
}

// answer computes tables and falls back to minhop where OpenSM does.
func answer(t testing.TB, engine string, n *network.Network, roots []network.Node) *lft.Tables {
	t.Helper()
	switch engine {
	case "ftree":
		return ftreeMinHop(n, roots)
	case "updn":
		tables, err := UpDown.Route(n, roots)
		if errors.Is(err, errNoRoots) {
			return minHop(n)
		}
		return tables
	}
	return compute(t, engine, n, roots)
}

// TestEqualWithLMC compares minhop and updn where hosts have several LIDs, and
// sees ftree become minhop.
func TestEqualWithLMC(t *testing.T) {
	ibtest.Need(t)
	for _, c := range []struct {
		seed, lmc int
		engine    string
	}{{3, 1, "minhop"}, {5, 2, "minhop"}, {8, 2, "updn"}, {7, 3, "minhop"}, {6, 1, "ftree"}} {
		d := degrade(t, c.seed, c.lmc)
		t.Run(fmt.Sprintf("%s, LMC %d, %s", c.engine, c.lmc, d.name), func(t *testing.T) {
			t.Parallel()
			want, got := referee(t, d.net, c.engine, d.roots), answer(t, c.engine, d.net, d.roots)
			expect.True(t, got.Engine == want.Engine, "%s, OpenSM used %s", got.Engine, want.Engine)
			same(t, got, want)
		})
	}
}

func TestEqualScattered(t *testing.T) {
	ibtest.Need(t)
	for _, c := range []struct {
		seed, lmc int
		dice      uint32
	}{{2, 0, 1}, {5, 0, 4711}, {4, 2, 9}} {
		d := degrade(t, c.seed, c.lmc)
		t.Run(fmt.Sprintf("seed %d, LMC %d, %s", c.dice, c.lmc, d.name), func(t *testing.T) {
			t.Parallel()
			want := referee(t, d.net, "updn", d.roots, "--scatter-ports", fmt.Sprint(c.dice))
			got := expect.Value(Scatter(d.net, d.roots, c.dice))(t)
			same(t, got, want)
		})
	}
}

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
