package opensm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
)

// joined draws a tree of two levels with cables between leaves, and so many hosts to a leaf.
func joined(t testing.TB, seed, hosts int) (*network.Network, []network.Node) {
	r := rand.New(rand.NewPCG(uint64(seed), 11))
	leaves, spines := 2+r.IntN(4), 1+r.IntN(4)
	var b network.Builder
	id := r.Perm(leaves + spines + leaves*hosts)
	next := 0
	info := func(name string) network.Info {
		g := uint64(id[next]+1) << 8
		lid := uint16(next + 1)
		next++
		return network.Info{Name: name, GUID: 0x02<<56 | g, Port: 0x02<<56 | g, LID: lid}
	}
	var hs, ls, ss []network.Node
	for i := range leaves * hosts {
		x := info(fmt.Sprint("h", i))
		x.Port++
		hs = append(hs, b.Host(x))
	}
	for i := range leaves {
		ls = append(ls, b.Switch(info(fmt.Sprint("l", i)), 16))
	}
	for i := range spines {
		ss = append(ss, b.Switch(info(fmt.Sprint("s", i)), 16))
	}
	port := map[network.Node]uint8{}
	cable := func(x, y network.Node) {
		port[x]++
		port[y]++
		expect.Must(t, b.Cable(network.End{Node: x, Port: port[x]}, network.End{Node: y, Port: port[y]}))
	}
	for i, h := range hs {
		cable(h, ls[i/hosts])
	}
	for _, l := range ls {
		for _, s := range ss {
			cable(l, s)
		}
	}
	for range 1 + r.IntN(2) {
		p := r.Perm(leaves)
		for range 1 + r.IntN(2) {
			cable(ls[p[0]], ls[p[1]])
		}
	}
	return b.Build(), ss
}

// TestJoinedLeaves: where leaves with one host each are joined by cables, all entries are OpenSM's.
// With several hosts its own differ from run to run, see Ftree; here every switch has an entry for
// every host.
func TestJoinedLeaves(t *testing.T) {
	for seed := range 40 {
		n, roots := joined(t, seed, 2+seed%3)
		tables := expect.Value(Ftree(n, roots))(t)
		for i := range n.Switches() {
			for h := range network.Node(n.Hosts()) {
				expect.True(t, tables.Row(i)[n.Info(h).LID] != lft.NoPort, "seed %d: no entry of %s for %s", seed, n.Info(n.Switch(i)).Name, n.Info(h).Name)
			}
		}
	}
	ibtest.Need(t)
	for seed := range few(20) {
		n, roots := joined(t, seed, 1)
		same(t, ftreeMinHop(n, roots), referee(t, n, "ftree", roots))
	}
}
