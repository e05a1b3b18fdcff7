package order_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/internal/lists"
	"evbench/model/order"
	planner "evbench/scheduler/order"
	"evbench/site/engines"
	"evbench/site/engines/minmax"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// ringShapes are networks of twelve kinds, of 4 to some 100 hosts.
func ringShape(t testing.TB, rng *rand.Rand) *network.Network {
	t.Helper()
	n := func(low, high int) int { return low + rng.IntN(high-low+1) }
	return parsed(t, []string{
		fmt.Sprintf("FT(2;%d,%d)", n(2, 8), n(2, 8)),
		fmt.Sprintf("FT(3;%d,%d,%d)", n(2, 3), n(2, 3), n(2, 4)),
		fmt.Sprintf("PGFT(2;%d,%d;1,%d;1,%d)", n(1, 8), n(2, 8), n(1, 4), n(1, 2)),
		fmt.Sprintf("PGFT(2;%d,%d;1,2;1,1)", n(4, 12), n(2, 6)),
		fmt.Sprintf("Dragonfly(1;%d;1;%d)", n(2, 4), n(2, 3)),
		fmt.Sprintf("Dragonfly(2;4;2;%d)", n(4, 9)),
		fmt.Sprintf("Dragonfly(%d;2;1;3)", n(2, 6)),
		fmt.Sprintf("HyperX(%d,%d;%d)", n(2, 5), n(2, 5), n(1, 4)),
		fmt.Sprintf("HyperX(2,2,2;%d)", n(1, 4)),
		fmt.Sprintf("HyperX(%d;%d)", n(3, 12), n(1, 3)),
		fmt.Sprintf("Jellyfish(%d;3;%d;%d)", 2*n(3, 12), n(1, 4), rng.IntN(1000)),
		fmt.Sprintf("Jellyfish(%d;%d;1;%d)", 2*n(5, 20), n(3, 5), rng.IntN(1000)),
	}[rng.IntN(12)])
}

// laid is an exchange over tables.
func laid(t testing.TB, tables *lft.Tables, hosts []network.Node) *order.Problem {
	t.Helper()
	return planner.New(&expect.Value(tables.Exchange(lft.Job{Nodes: hosts}))(t).Problem, nil)
}

// passed counts the blocks that reach hosts by a ring, step by step, and the most messages that meet on a link: a second
// version that knows only rings and paths.
func passed(p *order.Problem, r *planner.Ring) (complete bool, most int) {
	complete = true
	met := map[int32]int{}
	for _, ring := range r.Rings {
		n := len(ring)
		has := lists.Tabulate(n, func(i int) map[int]bool { return map[int]bool{i: true} })
		for step := range n - 1 {
			for i := range n {
				block := ((i-step)%n + n) % n // which it has received last
				complete = complete && has[i][block]
				has[(i+1)%n][block] = true
			}
		}
		for i := range n {
			complete = complete && len(has[i]) == n
			for _, l := range p.Between(int(ring[i]), int(ring[(i+1)%n])) {
				met[l]++
				most = max(most, (met[l]+int(p.Links[l].Room)-1)/int(p.Links[l].Room))
			}
		}
		sorted := slices.Sorted(slices.Values(ring))
		complete = complete && len(slices.Compact(sorted)) == n
	}
	return complete, most
}

// TestRings: over the tables that engines make for networks of twelve kinds, damaged ones among them, nearly all have a
// ring whose messages share no link.
func TestRings(t *testing.T) {
	need.Heavy(t)
	rng, found, all, ranks := rand.New(rand.NewPCG(61, 1)), 0, 0, 0
	for all < expect.Samples(200, 70) {
		n := ringShape(t, rng)
		if dead, err := n.Random(rng.IntN(4), rng.Uint64()); err == nil {
			n = n.Without(dead, nil)
		}
		engine := []string{"opensm-minhop", "sssp", "minmax"}[all%3]
		tables, err := engines.Compute(engine, n, engines.Options{})
		hosts := network.AllHosts(n).Nodes
		if err != nil || len(hosts) < 3 {
			continue
		}
		rng.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		p := laid(t, tables, hosts)
		r := p.Ring(1)
		complete, most := passed(p, r)
		expect.True(t, complete && (most <= 1) == (r.Step <= 1), "%s: complete %t, %d meet, step %g", engine, complete, most, r.Step)
		all++
		if r.Step <= 1 {
			found++
		}
		_, most = passed(p, p.InOrder())
		ranks += most
	}
	t.Logf("%d of %d without a shared link; in the order of ranks %.2f messages share the fullest link", found, all, float64(ranks)/float64(all))
	expect.True(t, found >= all*99/100, "%d of %d", found, all)
}

// TestRingBound: the bound is that of all sets of hosts, tried one by one, where cables are slow.
func TestRingBound(t *testing.T) {
	rng, all := rand.New(rand.NewPCG(61, 2)), 0
	for all < 40 {
		n := slowed(t, rng)
		hosts := network.AllHosts(n).Nodes
		tables, err := engines.Compute("opensm-minhop", n, engines.Options{})
		if err != nil || len(hosts) > 6 || n.Nodes() > 11 {
			continue
		}
		x, err := tables.Exchange(lft.Job{Nodes: hosts})
		if err != nil { // damaged so that hosts are apart
			continue
		}
		all++
		want := slowest(n, hosts)
		p, got := planner.New(&x.Problem, nil), minmax.BoundRing(n, network.Job{Nodes: hosts})
		expect.True(t, math.Abs(got.Time-want) < 1e-6*want, "%d hosts: %g by %s, all sets say %g", len(hosts), got.Time, got.Why, want)
		r := p.Ring(got.Step)
		expect.True(t, r.Step*float64(len(hosts)-1) >= got.Time*(1-1e-9), "a step of %g is below the bound %g", r.Step, got.Time)
	}
}

// slowest tries each set of hosts and switches as those that receive the blocks of the others.
func slowest(n *network.Network, hosts []network.Node) (worst float64) {
	rate, nodes := n.MessageRate(hosts), n.Nodes()
	for set := 1; set < 1<<nodes; set++ {
		inside := func(v network.Node) bool { return set>>int(v)&1 != 0 }
		in := lists.CountIf(hosts, inside)
		if in == 0 || in == len(hosts) {
			continue
		}
		cables := 0.0
		for _, c := range n.Cables() {
			if inside(c.A.Node) != inside(c.B.Node) {
				room := 1.0
				if r := n.Rate(c.A); r > 0 {
					room = r / rate
				}
				cables += room
			}
		}
		worst = max(worst, float64(len(hosts)-in)/cables)
	}
	return worst
}

// BenchmarkRing: LHCb's tree with nine dead links, and a dragonfly of 1,024 hosts.
func BenchmarkRing(b *testing.B) {
	for _, x := range []struct {
		network string
		dead    int
	}{{"FT(2;20,18)", 9}, {"Dragonfly(8;16;8;8)", 0}} {
		n := parsed(b, x.network)
		n = n.Without(expect.Value(n.Random(x.dead, 1))(b), nil)
		p := laid(b, computed(b, "opensm-minhop", n), network.AllHosts(n).Nodes)
		b.Run(x.network, func(b *testing.B) {
			for b.Loop() {
				r := p.Ring(1)
				b.ReportMetric(r.Step, "message_times/step")
			}
		})
	}
}
