package network_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// shuffled returns a network with its hosts, switches and ports in another order, and no names that mean anything;
// and which node is which node of n.
func shuffled(t *testing.T, n *network.Network, seed uint64) (*network.Network, []network.Node) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var b network.Builder
	was, at := make([]network.Node, n.Nodes()), make([]network.Node, n.Nodes())
	for i, v := range append(rng.Perm(n.Hosts()), rng.Perm(n.Switches())...) {
		name := fmt.Sprintf("x%03d", i)
		if i < n.Hosts() {
			at[v] = b.Host(network.Info{Name: name, GUID: uint64(i), Port: uint64(i)})
			was[at[v]] = network.Node(v)
			continue
		}
		s := n.Switch(v)
		at[s] = b.Switch(network.Info{Name: name, GUID: uint64(i), Port: uint64(i)}, len(n.Ends(s)))
		was[at[s]] = s
	}
	turn := map[network.Node]int{}
	for s := range network.Node(n.Nodes()) {
		turn[s] = rng.IntN(len(n.Ends(s)))
	}
	end := func(e network.End) network.End {
		ports := len(n.Ends(e.Node))
		return network.End{Node: at[e.Node], Port: uint8((int(e.Port)-1+turn[e.Node])%ports + 1)}
	}
	for _, c := range n.Cables() {
		expect.Must(t, b.Cable(end(c.A), end(c.B)))
	}
	return b.Build(), was
}

// TestTreeOf finds trees whose names say nothing, some cables missing: switches joined in the tree are those that
// were joined, each link's name means its cable, and so does each of its ports.
func TestTreeOf(t *testing.T) {
	for _, notation := range []string{"FT(2;4,6)", "PGFT(2;3,5;1,2;1,1)", "FT(3;2,2,2)", "FT(3;3,2,4)", "PGFT(3;4,3,5;1,4,2;1,1,1)", "PGFT(3;2,4,2;1,3,5;1,1,1)"} {
		for seed := range uint64(6) {
			whole := build(t, notation)
			dead := expect.Value(whole.Random(int(seed%3), seed))(t)
			n, _ := shuffled(t, whole.Without(dead, nil), seed)
			p, err := network.TreeOf(n)
			if err != nil {
				t.Errorf("%s, %d: %v", notation, seed, err)
				continue
			}
			if want, got := build(t, notation), p.Tree; got.Servers() != want.Hosts() || got.Switches() != want.Switches() || len(got.Dead()) != len(dead) ||
				strings.HasPrefix(notation, "FT") && got.Notation() != notation {
				t.Errorf("%s, %d: %s with %d dead links", notation, seed, got.Notation(), len(got.Dead()))
			}
			names := network.Names(n)
			for id := range p.Tree.AllLinks() {
				checkNames(t, n, names, p, id)
			}
			for r, h := range p.Host {
				expect.True(t, n.Leaf(h).Node == p.Node(p.Tree.Leaf(r)) && p.Port(p.Tree.Leaf(r), p.Tree.Slot(r)) == n.Leaf(h).Port,
					"%s: rank %d is %v", notation, r, h)
			}
		}
	}
}

func checkNames(t *testing.T, n *network.Network, names *network.Index, p *network.Places, id int) {
	t.Helper()
	l := p.Tree.LinkOf(id)
	c, ok := p.Cable(l)
	expect.True(t, ok == p.Tree.LinkAlive(l), "%s: a cable %v, alive %v", l, ok, !ok)
	if !ok {
		return
	}
	for _, name := range []string{p.Tree.LinkName(l), l.String(), n.EndName(c.A), n.EndName(c.B), n.Info(c.B.Node).Name + "-" + n.Info(c.A.Node).Name} {
		links, err := p.Tree.Links(name)
		cables, err2 := names.Down(name)
		expect.False(t, err != nil || err2 != nil || len(links) != 1 || links[0] != l || len(cables) != 1 || cables[0] != c && cables[0] != (network.Cable{A: c.B, B: c.A}),
			"%s is %v and %v, not %s: %v, %v", name, links, cables, l, err, err2)
	}
}

// TestNoTree says where a network deviates.
func TestNoTree(t *testing.T) {
	joined := func(notation, a, b string) *network.Network {
		whole := build(t, notation)
		var copied network.Builder
		for v := range network.Node(whole.Nodes()) {
			if i := whole.Info(v); whole.IsHost(v) {
				copied.Host(i)
			} else {
				i.Name = "x" + i.Name
				copied.Switch(i, len(whole.Ends(v))+1)
			}
		}
		for _, c := range whole.Cables() {
			expect.Must(t, copied.Cable(c.A, c.B))
		}
		x := network.Names(whole)
		from := expect.Value(x.Node(a))(t)
		to := expect.Value(x.Node(b))(t)
		expect.Must(t, copied.Cable(network.End{Node: from, Port: uint8(len(whole.Ends(from)) + 1)}, network.End{Node: to, Port: uint8(len(whole.Ends(to)) + 1)}))
		return copied.Build()
	}
	without := func(notation string, names ...string) *network.Network {
		n, _ := shuffled(t, build(t, notation), 3)
		n = expect.Value(n.Degrade(names))(t)
		return n
	}
	for _, c := range []struct {
		n    *network.Network
		want string
	}{
		{joined("FT(2;2,3)", "s1_0", "s1_2"), "a cable joins xs1_0 and xs1_2, which both have hosts"},
		{joined("FT(2;2,3)", "s2_0", "s2_1"), "xs2_0, by its other cables a spine, and xs2_1, a spine, are joined"},
		{joined("FT(3;2,2,2)", "s1_0", "s3_1"), "not a tree of t"},
		{joined("FT(3;2,2,2)", "s2_0", "s2_2"), "xs2_0, by its other cables a spine, and xs2_2, a spine, are joined"},
		{joined("FT(3;2,2,2)", "s2_0", "s3_1"), "not a tree of three levels"},
		{without("FT(4;2,2,2,2)"), "not a tree of two or three levels"},
		{build(t, "PGFT(3;2,2,2;1,2,2;1,2,1)"), "joined by 2 cables"},
		{build(t, "FT(1;4)"), "no switches above"},
	} {
		expect.Error(t, expect.Err(network.TreeOf(c.n)), c.want)
	}
	p, err := network.TreeOf(joined("FT(2;2,3)", "s1_0", "s2_1"))
	expect.True(t, err == nil && p.Tree.Cables() == 2 && len(p.Tree.Dead()) == 1 && len(p.Tree.Missing()) == 5, "one cable more: %v, %v", p, err)
	parallel := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2, Cables: 2})
	p, err = network.TreeOf(build(t, parallel.Notation()))
	expect.True(t, err == nil && p.Tree.Notation() == parallel.Notation() && len(p.Tree.Dead()) == 0, "%v, %v", p, err)
	for id := range parallel.AllLinks() { // the tree finds a cable by the name that the network gives it
		l := parallel.LinkOf(id)
		c, ok := p.Cable(l)
		for _, end := range []network.End{c.A, c.B} {
			links, err := parallel.Find(build(t, parallel.Notation()).EndName(end))
			expect.True(t, ok && err == nil && slices.Equal(links, []topology.Link{l}), "%s: %v, %v", l, links, err)
		}
	}
	p, err = network.TreeOf(without("FT(2;2,3)", "x000"))
	expect.True(t, err == nil && slices.Max(p.Tree.Fill()) == 2 && p.Tree.Servers() == 5, "without a host: %v", err)
}

// Switches that happen to be called as in a tree say nothing of hosts with names of their own: their order counts.
func TestMatchNamesOfSwitchesAlone(t *testing.T) {
	n := build(t, "FT(2;2,2)")
	info := make([]network.Info, n.Nodes())
	for v := range info {
		info[v] = n.Info(network.Node(v))
		info[v].Name = fmt.Sprintf("node%d", v)
		if i := n.Index(network.Node(v)); !n.IsHost(network.Node(v)) {
			info[v].Name = []string{"leaf0", "leaf1", "spine0", "spine1"}[i]
		}
	}
	p, err := network.Match(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}), n.WithInfo(info))
	expect.MustTrue(t, err == nil, "%v", err)
	expect.Equal(t, p.Host, []network.Node{0, 1, 2, 3}, "hosts")
}
