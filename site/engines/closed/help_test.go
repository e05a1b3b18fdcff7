package closed

import (
	"math/rand/v2"
	"testing"

	"evbench/site/network"
	"evbench/testing/expect"
)

func build(t testing.TB, g network.PGFT) *network.Network {
	t.Helper()
	n := expect.Value(g.Build(0))(t)
	return n
}

// relabel returns the network with random GUIDs, and LIDs in random order.
func relabel(n *network.Network, rng *rand.Rand, lmc int) *network.Network {
	lid, at := 1<<lmc, make([]int, n.Nodes())
	for _, v := range rng.Perm(n.Nodes()) {
		if lid = lid + 1<<lmc; n.IsHost(network.Node(v)) {
			lid = lid >> lmc << lmc
		}
		at[v] = lid
	}
	return without(n, func(v network.Node, i network.Info) network.Info {
		i.GUID, i.LID, i.LMC = rng.Uint64(), uint16(at[v]), 0
		if n.IsHost(v) {
			i.LMC = uint8(lmc)
		}
		return i
	}, never)
}

func never(_, _ network.End) bool { return false }

// randomPGFT draws small trees of 1 to 4 levels.
func randomPGFT(rng *rand.Rand) network.PGFT {
	h := 1 + rng.IntN(4)
	g := network.PGFT{M: make([]int, h), W: make([]int, h), P: make([]int, h)}
	for i := range h {
		g.M[i], g.W[i], g.P[i] = 1+rng.IntN(4), 1+rng.IntN(3), 1+rng.IntN(3)
	}
	g.W[0], g.P[0] = 1, 1
	return g
}

// layered draws a network like a fat tree: switches of some ranks, cables between
// neighbouring ranks or, if wild, between any two.
func layered(t testing.TB, rng *rand.Rand, wild bool) (n *network.Network, rank []int) {
	t.Helper()
	var b network.Builder
	ranks, width, hosts := 2+rng.IntN(3), 2+rng.IntN(4), 0
	leaves := 2 + rng.IntN(4)
	hosts = leaves * 2
	total := leaves + (ranks-1)*width
	rank = make([]int, hosts+total)
	for h := range hosts {
		b.Host(network.Info{Name: "h", LID: uint16(1 + h), GUID: uint64(h)})
	}
	used := make([]uint8, total)
	for s := range total {
		b.Switch(network.Info{Name: "s", LID: uint16(1 + hosts + s), GUID: rng.Uint64()}, 200)
		rank[hosts+s] = 1
		if s >= leaves {
			rank[hosts+s] = 2 + (s-leaves)/width
		}
	}
	end := func(s int) network.End {
		used[s]++
		return network.End{Node: network.Node(hosts + s), Port: used[s]}
	}
	for h := range hosts {
		expect.Must(t, b.Cable(network.End{Node: network.Node(h), Port: 1}, end(h%leaves)))
	}
	for range total * 3 {
		x, y := rng.IntN(total), rng.IntN(total)
		step := rank[hosts+x] - rank[hosts+y]
		if x == y || !wild && step != 1 && step != -1 {
			continue
		}
		expect.Must(t, b.Cable(end(x), end(y)))
	}
	return b.Build(), rank
}
