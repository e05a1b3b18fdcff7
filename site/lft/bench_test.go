package lft_test

import (
	"sync"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// large is the network of 34,992 hosts and 6,804 switches, routed by shortest
// ways, destination modulo alternatives.
var large = sync.OnceValue(func() *lft.Tables {
	n, err := network.Parse("PGFT(4;18,3,18,36;1,3,18,18;1,6,1,1)", 0)
	if err != nil {
		panic(err)
	}
	return byLeaf(n)
})

// byLeaf is shortest for many hosts on a leaf: ways are found once a leaf.
func byLeaf(n *network.Network) *lft.Tables {
	t := lft.New("shortest", n)
	var dist []int
	good := make([][]uint8, n.Switches())
	at := network.NoNode
	for dst := range network.Node(n.Hosts()) {
		leaf := n.Leaf(dst)
		if leaf.Node != at {
			at, dist = leaf.Node, n.Distances(leaf.Node)
			for i := range n.Switches() {
				good[i] = good[i][:0]
				for p, e := range n.Ends(n.Switch(i)) {
					if e.Node != network.NoNode && !n.IsHost(e.Node) && dist[n.Index(e.Node)] == dist[i]-1 {
						good[i] = append(good[i], uint8(p+1))
					}
				}
			}
		}
		lid := int(n.Info(dst).LID)
		for i := range n.Switches() {
			if n.Switch(i) == at {
				t.Row(i)[lid] = leaf.Port
			} else {
				t.Row(i)[lid] = good[i][lid%len(good[i])]
			}
		}
	}
	return t
}

func BenchmarkLarge(b *testing.B) {
	if testing.Short() {
		b.Skip("34,992 hosts")
	}
	t := large()
	ranks := make([]int, t.Net.Nodes())
	for _, f := range []struct {
		name string
		do   func()
	}{
		{"reach", func() { mustReach(b, lft.Check(t, lft.Options{})) }},
		{"updown", func() { mustReach(b, lft.Check(t, lft.Options{Ranks: ranks})) }},
		{"deadlock", func() { lft.Deadlock(t) }},
		{"load", func() { lft.Load(t) }},
		{"shift/16", func() { lft.Congest(t, lft.SomeShifts(t.Net.Hosts(), 16, 1)) }},
		{"permutations/16", func() { lft.Congest(t, lft.Permutations(16, 1)) }},
		{"minimal", func() { lft.Minimal(t.Net) }},
	} {
		b.Run(f.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.do()
			}
		})
	}
}

func mustReach(b *testing.B, r *lft.Report) {
	expect.MustTrue(b, r.OK() && r.Pairs == int64(r.Hosts)*int64(r.Hosts-1), "%+v", r)
}
