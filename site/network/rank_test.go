package network_test

import (
	"slices"
	"strings"
	"testing"

	"evbench/site/network"
	"evbench/testing/expect"
)

// regular are networks whose levels are known.
var regular = []string{
	"FT(1;4)", "FT(2;4,8)", "FT(2;4,2)", "FT(2;20,18)", "FT(3;2,3,4)", "FT(3;4,4,4)", "kary(2;5)", "XGFT(3;4,2,8;1,2,8)",
	"PGFT(3;4,2,8;1,2,4;1,2,1)", "PGFT(2;8,6;1,2;1,2)",
	"QFT(3;4,2,8;1,2,4;1,2,1)", "QFT(4;4,2,4,4;1,2,4,4;1,2,1,1)",
}

func levels(t *testing.T, n *network.Network) []int {
	t.Helper()
	s := expect.Value(network.ParseShape(n.Notation))(t)
	g, ok := s.(network.PGFT)
	if !ok {
		g = network.PGFT(s.(network.QFT))
	}
	out := make([]int, n.Nodes())
	for v := range out {
		out[v], _ = levelOf(g, network.Node(v))
	}
	return out
}

func tops(level []int) []network.Node {
	var out []network.Node
	for v, l := range level {
		if l == slices.Max(level) {
			out = append(out, network.Node(v))
		}
	}
	return out
}

func TestRootsAndRanks(t *testing.T) {
	for _, notation := range regular {
		n := build(t, notation)
		want := levels(t, n)
		roots, err := network.DetectRoots(n)
		if err != nil || !slices.Equal(roots, tops(want)) {
			t.Errorf("%s: roots %v, %v, want %v", notation, roots, err, tops(want))
		}
		for _, given := range [][]network.Node{nil, tops(want)} {
			got, err := network.Ranks(n, given)
			expect.True(t, err == nil && slices.Equal(got, want), "%s: levels %v, %v, want %v", notation, got, err, want)
		}
		odd := n.NotLayered(want)
		expect.True(t, len(odd) == 0, "%s: %d cables join no neighbouring levels", notation, len(odd))
	}
}

// TestRootsDegraded: as long as every top switch keeps a cable, and every pod a
// way up, dead cables change nothing.
func TestRootsDegraded(t *testing.T) {
	tried := 0
	for _, notation := range regular {
		n := build(t, notation)
		want := levels(t, n)
		for seed := range uint64(40) {
			dead, err := n.Random(len(n.SwitchCables())*int(seed%4+1)/12, seed)
			if err != nil {
				continue
			}
			d := n.Without(dead, nil)
			if !allUp(d, want) {
				continue
			}
			tried++
			roots, err := network.DetectRoots(d)
			if err != nil || !slices.Equal(roots, tops(want)) {
				t.Errorf("%s, seed %d: roots %v, %v, want %v", notation, seed, roots, err, tops(want))
			}
			got, err := network.Ranks(d, nil)
			expect.True(t, err == nil && slices.Equal(got, want), "%s, seed %d: levels %v, %v, want %v", notation, seed, got, err, want)
		}
	}
	expect.True(t, tried >= 100, "only %d networks tried", tried)
}

// allUp reports whether every switch below the top has a cable up, and every
// switch above the leaves one down.
func allUp(n *network.Network, level []int) bool {
	for v := network.Node(n.Hosts()); int(v) < n.Nodes(); v++ {
		up, down := level[v] == slices.Max(level), false
		for _, e := range n.Ends(v) {
			if e.Node != network.NoNode {
				up = up || level[e.Node] > level[v]
				down = down || level[e.Node] < level[v]
			}
		}
		if !up || !down {
			return false
		}
	}
	return true
}

func TestRanksOfOddSwitches(t *testing.T) {
	n := build(t, "FT(3;2,2,4)")
	node := func(name string) network.Node {
		v := expect.Value(network.Names(n).Node(name))(t)
		return v
	}
	for _, c := range []struct {
		what, down, node string
		want             int
	}{
		{"a root without cables", "s3_0", "s3_0", 3},
		{"a middle switch without cables", "s2_0", "s2_0", 1},
		{"beside it", "s3_0", "s3_1", 3},
		{"a middle switch without cables up", "s2_0/3,s2_0/4", "s2_0", 2},
		{"leaves below it", "s2_0/3,s2_0/4", "s1_0", 1},
		{"a pod without cables up", "s2_0/3,s2_0/4,s2_1/3,s2_1/4", "s2_0", 2},
		{"leaves of that pod", "s2_0/3,s2_0/4,s2_1/3,s2_1/4", "s1_1", 1},
		{"leaves of other pods", "s2_0/3,s2_0/4,s2_1/3,s2_1/4", "s1_2", 1},
		{"a leaf without cables up", "s1_0/3,s1_0/4", "s1_0", 1},
		{"a leaf without hosts", "h0,h1", "s1_0", 1},
	} {
		d := expect.Value(n.Degrade(strings.Split(c.down, ",")))(t)
		level, err := network.Ranks(d, tops(levels(t, n)))
		if err != nil || level[node(c.node)] != c.want {
			t.Errorf("%s: %s is on level %d, %v, want %d", c.what, c.node, level[node(c.node)], err, c.want)
		}
	}
}

// TestEmptyLeaves: all hosts are equally far from them, but they are no roots,
// not even when they are more than the roots.
func TestEmptyLeaves(t *testing.T) {
	n := build(t, "FT(2;3,9)")
	for _, also := range [][]string{nil, {"leaf0-spine0", "leaf1-spine1"}} {
		d := expect.Value(n.Degrade(append(also, "h9", "h10", "h11", "h12", "h13", "h14", "h15", "h16", "h17", "h18", "h19", "h20", "h21", "h22", "h23")))(t)
		roots, err := network.DetectRoots(d)
		expect.True(t, err == nil && slices.Equal(roots, tops(levels(t, n))), "roots %v, %v", roots, err)
		got, err := network.Ranks(d, nil)
		expect.True(t, err == nil && slices.Equal(got, levels(t, n)), "levels %v, %v", got, err)
	}
}

func TestRanksRefuse(t *testing.T) {
	n := build(t, "FT(2;2,2)")
	for _, root := range []network.Node{-1, 0, 99} {
		expect.Error(t, expect.Err(network.Ranks(n, []network.Node{root})), "is not a switch")
	}
}

// ring returns switches in a circle with a host each.
func ring(size int) *network.Network {
	var b network.Builder
	for range size {
		b.Host(network.Info{Name: "h"})
	}
	for i := range size {
		b.Switch(network.Info{Name: "sw" + string(rune('a'+i))}, 3)
	}
	at := func(i, port int) network.End {
		return network.End{Node: network.Node(size + i%size), Port: uint8(port)}
	}
	for i := range size {
		_ = b.Cable(network.End{Node: network.Node(i), Port: 1}, at(i, 1))
		_ = b.Cable(at(i, 2), at(i+1, 3))
	}
	return b.Build()
}

func TestNotATree(t *testing.T) {
	_, err := network.DetectRoots(ring(5))
	expect.Error(t, err, "not a tree: swa/2 on level 1 is joined to swb/3 on level 1")
	expect.True(t, expect.Err(network.Ranks(ring(5), nil)) != nil, "a ring has levels")
	var b network.Builder
	b.Switch(network.Info{Name: "s"}, 4)
	expect.Error(t, expect.Err(network.DetectRoots(b.Build())), "no host has a cable")
}
