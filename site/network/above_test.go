package network_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"evbench/site/network"
	"evbench/testing/expect"
)

// withHosts is the network as a file shows it, with one more host on each of some switches, by their names in the notation.
func withHosts(t *testing.T, n *network.Network, switches ...string) *network.Network {
	t.Helper()
	var b network.Builder
	for v := range network.Node(n.Hosts()) {
		b.Host(network.Info{Name: "n" + n.Info(v).Name, GUID: n.Info(v).GUID, Port: n.Info(v).Port})
	}
	for i, s := range switches {
		b.Host(network.Info{Name: "on " + s, GUID: 1 + uint64(i), Port: 1 + uint64(i)})
	}
	moved := func(e network.End) network.End {
		if !n.IsHost(e.Node) {
			e.Node += network.Node(len(switches))
		}
		return e
	}
	for i := range n.Switches() {
		v := n.Switch(i)
		b.Switch(network.Info{Name: "sw " + n.Info(v).Name, GUID: n.Info(v).GUID, Port: n.Info(v).GUID}, len(n.Ends(v))+1)
	}
	for _, c := range n.Cables() {
		expect.Must(t, b.Cable(moved(c.A), moved(c.B)))
	}
	for i, s := range switches {
		v := expect.Value(network.Names(n).Node(s))(t)
		expect.Must(t, b.Cable(network.End{Node: network.Node(n.Hosts() + i), Port: 1}, moved(network.End{Node: v, Port: uint8(len(n.Ends(v)) + 1)})))
	}
	return b.Build()
}

// TestAbove: hosts on spines, and on the middle and top switches of three levels, take no part; a leaf with few hosts beside them
// does, and so do all switches of a line.
func TestAbove(t *testing.T) {
	for _, c := range []struct {
		notation   string
		more, want []string
		tree       string // its notation
	}{
		{"FT(2;3,3)", []string{"s2_0", "s2_0", "s2_1"}, []string{"on s2_0", "on s2_0", "on s2_1"}, "FT(2;3,3)"},
		{"PGFT(3;2,2,2;1,2,2;1,1,1)", []string{"s3_0"}, []string{"on s3_0"}, "FT(3;2,2,2)"},
		{"PGFT(3;2,2,2;1,2,2;1,1,1)", []string{"s2_1"}, []string{"on s2_1"}, "FT(3;2,2,2)"},
		{"PGFT(3;2,2,2;1,2,2;1,1,1)", []string{"s3_0", "s2_1", "s3_3"}, []string{"on s3_0", "on s2_1", "on s3_3"}, "FT(3;2,2,2)"},
		{"PGFT(3;2,2,3;1,4,2;1,1,1)", []string{"s3_0", "s2_1"}, []string{"on s3_0", "on s2_1"}, "PGFT(3;2,2,3;1,4,2;1,1,1)"}, // leaves with more cables than hosts
		{"PGFT(3;2,2,2;1,1,1;1,1,1)", []string{"s3_0"}, []string{"on s3_0"}, "PGFT(3;2,2,2;1,1,1;1,1,1)"},                    // one top switch
		{"PGFT(3;2,1,2;1,1,1;1,1,1)", []string{"s3_0"}, nil, "FT(2;2,3)"},                                                    // as well two leaves and a third with fewer hosts
		{"FT(2;3,3)", nil, nil, "FT(2;3,3)"},
		{"HyperX(3;2)", []string{"s1_0"}, nil, ""},
		{"HyperX(2,2;2)", []string{"s1_0", "s1_3"}, nil, ""},
	} {
		whole := build(t, c.notation)
		n := withHosts(t, whole, slices.Compact(slices.Clone(c.more))...)
		var got []string
		for _, h := range n.Above() {
			got = append(got, n.Info(h).Name)
		}
		slices.Sort(got)
		want := slices.Compact(slices.Sorted(slices.Values(c.want)))
		expect.True(t, slices.Equal(got, want), "%s with %v: %v, want %v", c.notation, c.more, got, want)
		p, err := network.Spineless(n)
		if c.tree == "" {
			expect.True(t, err != nil, "%s is a tree", c.notation)
			continue
		}
		expect.Must(t, err)
		expect.True(t, p.Tree.Notation() == c.tree && p.Tree.Servers() == n.Hosts()-len(want), "%s with %v: %s, %d servers", c.notation, c.more, p.Tree.Notation(), p.Tree.Servers())
		_, err = network.DetectRoots(n)
		expect.Must(t, err)
	}
}

// TestAboveTorus: a torus of 4 × 5 switches with three hosts each has no leaves, whichever hosts are missing.
func TestAboveTorus(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for range 50 {
		var b network.Builder
		var at []int
		for i := range 20 {
			for range 3 - rng.IntN(2)*rng.IntN(2) {
				b.Host(network.Info{Name: "n" + strconv.Itoa(len(at)), GUID: uint64(len(at)), Port: uint64(len(at))})
				at = append(at, i)
			}
		}
		switches, used := make([]network.Node, 20), make([]uint8, 20)
		for i := range switches {
			switches[i] = b.Switch(network.Info{Name: "sw" + strconv.Itoa(i), GUID: 1000 + uint64(i)}, 7)
		}
		port := func(i int) network.End {
			used[i]++
			return network.End{Node: switches[i], Port: used[i]}
		}
		for h, i := range at {
			expect.Must(t, b.Cable(network.End{Node: network.Node(h), Port: 1}, port(i)))
		}
		for i := range switches {
			expect.Must(t, b.Cable(port(i), port((i/5*5)+(i+1)%5)))
			expect.Must(t, b.Cable(port(i), port((i+5)%20)))
		}
		n := b.Build()
		expect.True(t, n.Above() == nil && len(network.AllHosts(n).Nodes) == len(at), "%d of %d hosts take part", len(network.AllHosts(n).Nodes), len(at))
	}
}

// Hosts are found in other case, and with their domain or without, unless two differ in that alone.
func TestHostNamesCase(t *testing.T) {
	n := build(t, "FT(2;2,2)")
	var info []network.Info
	for v := range network.Node(n.Nodes()) {
		info = append(info, n.Info(v))
	}
	info[0].Name, info[1].Name, info[2].Name, info[3].Name = "NODE1 mlx5_0", "node2.site.test mlx5_0", "gpu mlx5_0", "GPU mlx5_0"
	names := network.NewHostNames(n.WithInfo(info))
	for name, want := range map[string]network.Node{"NODE1": 0, "node1": 0, "node1.site.test": 0, "Node2": 1, "NODE2.site.test": 1, "gpu": 2, "GPU": 3} {
		v, _, err := names.Find(name)
		expect.True(t, err == nil && v == want, "%s is %v, %v", name, v, err)
		own, _, err := names.All(name)
		expect.True(t, err == nil && len(own) == 1 && own[0] == want, "%s are %v, %v", name, own, err)
	}
	expect.Error(t, func() error { _, _, err := names.Find("Gpu"); return err }(), "host Gpu is not in the network")
}
