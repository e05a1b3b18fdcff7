package opensm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"evbench/site/network"
	"evbench/testing/expect"
)

func parse(t testing.TB, notation string, lmc int) *network.Network {
	t.Helper()
	n := expect.Value(network.Parse(notation, lmc))(t)
	return n
}

// drawn is degrade without roots.
func drawn(t testing.TB, seed, lmc int) (string, *network.Network) {
	d := degrade(t, seed, lmc)
	return fmt.Sprint(seed, " ", d.name), d.net
}

// rename deals GUIDs and LIDs anew.
func rename(n *network.Network, r *rand.Rand) *network.Network {
	guids, lids := r.Perm(n.Nodes()), r.Perm(n.Nodes())
	info := make([]network.Info, n.Nodes())
	for v := range info {
		i := n.Info(network.Node(v))
		i.GUID = r.Uint64()>>8&^0xFF | 0x02<<56 | uint64(guids[v])<<8
		if i.Port = i.GUID; n.IsHost(network.Node(v)) {
			i.Port++
		}
		i.LID = uint16((lids[v] + 1) << n.Info(0).LMC)
		info[v] = i
	}
	return n.WithInfo(info)
}

// tangle returns switches with hosts and random cables between them, connected
// and far from a tree.
func tangle(t testing.TB, switches, cables, hosts int, r *rand.Rand) *network.Network {
	t.Helper()
	var b network.Builder
	for h := range switches * hosts {
		b.Host(network.Info{Name: fmt.Sprint("h", h)})
	}
	next := make([]int, switches)
	for s := range switches {
		b.Switch(network.Info{Name: fmt.Sprint("s", s)}, hosts+switches+cables)
	}
	plug := func(s int) network.End {
		next[s]++
		return network.End{Node: network.Node(switches*hosts + s), Port: uint8(next[s])}
	}
	join := func(x, y network.End) {
		expect.Must(t, b.Cable(x, y))
	}
	for h := range switches * hosts {
		join(network.End{Node: network.Node(h), Port: 1}, plug(h/hosts))
	}
	for s := 1; s < switches; s++ {
		join(plug(s), plug(r.IntN(s)))
	}
	for range cables {
		if x, y := r.IntN(switches), r.IntN(switches); x != y {
			join(plug(x), plug(y))
		}
	}
	return rename(b.Build(), r)
}
