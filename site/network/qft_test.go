package network_test

import (
	"testing"

	"evbench/site/network"
	"evbench/testing/expect"
)

// sizes are quasi fat trees of 3 and 4 levels with as many cables up as down,
// from 32 to 11,664 hosts (HOTI 2014 §VI), and two of its tables.
var sizes = []struct {
	m, w, p []int
	hosts   int
}{
	{[]int{4, 2, 4}, []int{1, 2, 4}, []int{1, 2, 1}, 32},
	{[]int{4, 1, 8}, []int{1, 1, 4}, []int{1, 4, 1}, 32},
	{[]int{4, 2, 8}, []int{1, 2, 4}, []int{1, 2, 1}, 64},
	{[]int{6, 2, 6}, []int{1, 2, 6}, []int{1, 3, 1}, 72},
	{[]int{6, 3, 6}, []int{1, 3, 6}, []int{1, 2, 1}, 108},
	{[]int{4, 2, 4, 4}, []int{1, 2, 4, 4}, []int{1, 2, 1, 1}, 128},
	{[]int{6, 3, 12}, []int{1, 3, 6}, []int{1, 2, 1}, 216},
	{[]int{8, 4, 8}, []int{1, 4, 8}, []int{1, 2, 1}, 256},
	{[]int{8, 2, 16}, []int{1, 2, 8}, []int{1, 4, 1}, 256},
	{[]int{4, 2, 4, 8}, []int{1, 2, 4, 4}, []int{1, 2, 1, 1}, 256},
	{[]int{6, 3, 6, 6}, []int{1, 3, 6, 6}, []int{1, 2, 1, 1}, 648},
	{[]int{12, 4, 24}, []int{1, 4, 12}, []int{1, 3, 1}, 1152},
	{[]int{12, 6, 24}, []int{1, 6, 12}, []int{1, 2, 1}, 1728},
	{[]int{18, 3, 36}, []int{1, 3, 18}, []int{1, 6, 1}, 1944},
	{[]int{8, 4, 8, 8}, []int{1, 4, 8, 8}, []int{1, 2, 1, 1}, 2048},
	{[]int{18, 6, 36}, []int{1, 6, 18}, []int{1, 3, 1}, 3888},
	{[]int{18, 9, 28}, []int{1, 9, 18}, []int{1, 2, 1}, 4536},
	{[]int{18, 9, 36}, []int{1, 9, 18}, []int{1, 2, 1}, 5832},
	{[]int{12, 6, 12, 12}, []int{1, 6, 12, 12}, []int{1, 2, 1, 1}, 10368},
	{[]int{18, 3, 18, 12}, []int{1, 3, 18, 18}, []int{1, 6, 1, 1}, 11664},
	{[]int{18, 3, 18, 36}, []int{1, 3, 18, 18}, []int{1, 6, 1, 1}, 34992},
	// several levels of cross cables, and at the top
	{[]int{4, 4, 4}, []int{1, 4, 2}, []int{1, 1, 2}, 64},
	{[]int{4, 2, 4, 4}, []int{1, 2, 2, 4}, []int{1, 2, 2, 1}, 128},
	{[]int{2, 2, 2}, []int{1, 2, 1}, []int{1, 2, 2}, 8},
}

// TestQFT holds every cable against the connection rule, equations 6 to 8; as
// ports are distinct and all are used, no cable is missing.
func TestQFT(t *testing.T) {
	for _, s := range sizes {
		q := network.QFT{M: s.m, W: s.w, P: s.p}
		n, err := q.Build(0)
		if err != nil {
			t.Error(err)
			continue
		}
		expect.Equal(t, n.Hosts(), s.hosts, "%s: hosts", q)
		for v := range network.Node(n.Nodes()) {
			level, _ := levelOf(network.PGFT(q), v)
			digits := digitsOf(network.PGFT(q), v)
			for i, e := range n.Ends(v) {
				if e.Node == network.NoNode {
					t.Fatalf("%s: %s has no cable", q, n.EndName(network.End{Node: v, Port: uint8(i + 1)}))
				}
				if e.Node > v {
					continue
				}
				f, g, ok := rule(q, level, digits, digitsOf(network.PGFT(q), e.Node))
				down := 0
				if level > 1 {
					down = s.m[level-2] * s.p[level-2]
				}
				if !ok || f != i || 1+down+g != int(e.Port) {
					t.Fatalf("%s: level %d %v port %d leads to %v port %d, rule: %v, f %d, g %d",
						q, level, digits, i+1, digitsOf(network.PGFT(q), e.Node), e.Port, ok, f, g)
				}
			}
		}
	}
}

// rule is the connection rule as printed: whether S of level l is joined to Q of
// the level below, and by which ports.
func rule(fab network.QFT, l int, s, q []int) (f, g int, ok bool) {
	h, p := len(fab.M), fab.P[l-1]
	at := func(d []int, i int) int { // digits and numbers of the paper count from 1
		if i < 1 {
			return 0
		}
		return d[i-1]
	}
	near := l + 1
	if l == h {
		near = h - 1
	}
	for i := 1; i <= h; i++ {
		if i != l && i != near && at(s, i) != at(q, i) {
			return 0, 0, false
		}
	}
	if at(s, near)/p != at(q, near)/p {
		return 0, 0, false
	}
	f = at(q, l) + fab.M[l-1]*(at(q, near)%p)
	g = at(s, l) + fab.W[l-1]*(at(s, near)%p)
	return f, g, true
}

// TestThreeHops is figure 1 of the paper: with the same 40 switches twice as
// many hosts are within three switches.
func TestThreeHops(t *testing.T) {
	for notation, want := range map[string]int{"PGFT(3;4,2,8;1,2,4;1,2,1)": 8, "QFT(3;4,2,8;1,2,4;1,2,1)": 16} {
		n := build(t, notation)
		near := map[network.Node]bool{}
		leaf := n.Leaf(5).Node
		for _, up := range n.Ends(leaf) {
			for _, down := range n.Ends(up.Node) {
				if n.IsHost(up.Node) || n.Index(down.Node) >= 16 { // another leaf is wanted
					continue
				}
				for _, e := range n.Ends(down.Node) {
					if n.IsHost(e.Node) {
						near[e.Node] = true
					}
				}
			}
		}
		expect.False(t, n.Switches() != 40 || len(near) != want, "%s: %d switches, %d hosts near, want 40, %d", notation, n.Switches(), len(near), want)
	}
}

// TestQFTWithoutCross: with p = 1 it is the tree.
func TestQFTWithoutCross(t *testing.T) {
	q, p := build(t, "QFT(3;3,4,2;1,2,3;1,1,1)"), build(t, "XGFT(3;3,4,2;1,2,3)")
	for v := range network.Node(q.Nodes()) {
		for i, e := range q.Ends(v) {
			expect.Equal(t, p.Ends(v)[i], e, "node %d port %d: %v", v, i+1, e)
		}
	}
}
