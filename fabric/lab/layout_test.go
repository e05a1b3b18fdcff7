package lab

import (
	"strings"
	"testing"
	"time"

	"evbench/internal/unit"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func TestAddresses(t *testing.T) {
	tree := expect.Value(topology.New(topology.Options{Ports: 3, Leaves: 4, Fill: []int{3, 1, 0, 2}}))(t)
	a := Addresses{tree}
	for _, test := range []struct {
		rank, path int
		want       string
	}{
		{0, 0, "10.0.0.1"}, {2, 2, "10.2.0.3"}, {3, 1, "10.1.1.1"}, {5, 0, "10.0.3.2"}, {5, -1, "10.200.3.2"},
	} {
		expect.Equal(t, a.Server(test.rank, test.path).String(), test.want, "rank %d, path %d", test.rank, test.path)
	}
	for r := range tree.Servers() {
		for path := -1; path < tree.Spines(); path++ {
			if s := a.Server(r, path); !a.Leaf(tree.Leaf(r), path).Contains(s) || !a.Path(path).Contains(s) {
				t.Errorf("%s is not in %s and %s", s, a.Leaf(tree.Leaf(r), path), a.Path(path))
			}
		}
	}
}

func TestLayout(t *testing.T) {
	for _, o := range []topology.Options{
		{Ports: 4, Leaves: 3, Spines: 5, Fill: []int{4, 0, 2}},
		{Ports: 2, Leaves: 6, Pods: 2, Spines: 3, Tops: 4, Fill: []int{2, 0, 1, 2, 2, 2}},
		{Ports: 20, Leaves: 18, Spines: 10, Cables: 12},
	} {
		testLayout(t, topologytest.Without(t, o))
	}
	gateways := map[string]bool{}
	for port := range 600 {
		gateways[gateway(port).String()] = true
	}
	expect.Equal(t, len(gateways), 600, "gateways for 600 ports")
}

func testLayout(t *testing.T, tree *topology.Tree) {
	t.Helper()
	y := newLayout(Options{Tree: tree, MTU: 9000})
	expect.MustTrue(t, 2*len(y.cables) == tree.AllWires(), "%d cables for %d wires", len(y.cables), tree.AllWires())
	macs := map[string]bool{}
	for i, c := range y.cables {
		a, b := c.ends[0], c.ends[1]
		expect.True(t, a.index != b.index, "cable %d has index %d at both ends", i, a.index)
		link, _ := tree.WireName(topology.Wire(2 * i))
		link, number, parallel := strings.Cut(link, "/")
		if parallel { // cable 1 of leaf0 and spine2 ends in leaf0-1 and spine2-1
			number = "-" + number
			expect.True(t, strings.HasSuffix(a.name, number) && strings.HasSuffix(b.name, number), "cable %d, %s, joins %s and %s", i, link, a.name, b.name)
			a.name, b.name = strings.TrimSuffix(a.name, number), strings.TrimSuffix(b.name, number)
		}
		if joins := b.name + "-" + a.name; strings.HasPrefix(link, "server") && link != a.name+"-"+b.name ||
			tree.Levels() == 2 && !strings.HasPrefix(link, "server") && link != joins {
			t.Errorf("cable %d joins %s and %s, wire %d is %s", i, a.name, b.name, 2*i, link)
		}
		expect.True(t, y.names[a.node] == b.name && y.names[b.node] == a.name, "cable %d: interfaces are not named after what is behind them", i)
		for _, e := range c.ends {
			macs[e.mac.String()] = true
			p := y.ports[e.node][e.port]
			expect.True(t, p.Index == e.index && p.Name == e.name && len(e.name) <= 15, "cable %d: port %+v, end %+v", i, p, e)
		}
	}
	expect.True(t, len(macs) == tree.AllWires(), "%d MACs for %d ends", len(macs), tree.AllWires())
	for id := range tree.AllLinks() {
		low, high := tree.Ends(tree.LinkOf(id))
		c := y.cables[y.cable(tree.LinkOf(id))]
		if c.ends[0].node != Node(low.Switch) || c.ends[0].port != low.Port || c.ends[1].node != Node(high.Switch) || c.ends[1].port != high.Port {
			t.Errorf("%s joins %+v, want %+v and %+v", tree.LinkOf(id), c, low, high)
		}
	}
}

func TestShape(t *testing.T) {
	for _, test := range []struct {
		rate  unit.Rate
		phase time.Duration
		want  shape
	}{
		{0, 0, shape{gsoMax: 65536}},
		{1e9, 0, shape{125e6, 81920, 16 << 20, 65536, 0}},
		{1e9, 50 * time.Millisecond, shape{125e6, 81920, 16 << 20, 65536, 0}},
		{1e9, 10 * time.Millisecond, shape{125e6, 36864, 16 << 20, 32768, 0}},
		{100e6, 0, shape{125e5, 36864, 16 << 20, 32768, 0}},
		{25e6, 50 * time.Millisecond, shape{3125e3, 20480, 16 << 20, 18432, 0}},
	} {
		got := newShape(test.rate, test.phase)
		expect.Equal(t, got, test.want, "%s, phase %s", test.rate, test.phase)
		expect.False(t, got.rate > 0 && got.burst <= got.gsoMax, "%s: the bucket holds no super-packet", test.rate)
	}
}

func TestValidate(t *testing.T) {
	tree := func(ports, leaves, spines int) *topology.Tree {
		fill := make([]int, leaves)
		fill[0] = 2
		v := expect.Value(topology.New(topology.Options{Ports: ports, Leaves: leaves, Spines: spines, Fill: fill}))(t)
		return v
	}
	for _, test := range []struct {
		name string
		o    Options
		want string // in the error; "" means none
	}{
		{"largest", Options{Tree: tree(254, 256, 200)}, ""},
		{"no tree", Options{}, "a tree or a graph"},
		{"leaves", Options{Tree: tree(2, 257, 0)}, "257 leaves; its addresses 10.<path>.<leaf>.<slot+1> have room for 256"},
		{"spines", Options{Tree: tree(2, 2, 201)}, "201 paths"},
		{"rate", Options{Tree: tree(2, 2, 0), Rate: -1}, "rate"},
		{"slow", Options{Tree: tree(2, 2, 0), Rate: 7}, "rate 7bit/s"},
		{"small MTU", Options{Tree: tree(2, 2, 0), MTU: 575}, "MTU 575: must be 576..65535"},
		{"large MTU", Options{Tree: tree(2, 2, 0), MTU: 65536}, "MTU 65536"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.o.validate()
			switch {
			case test.want == "" && (err != nil || test.o.MTU != 9000):
				t.Errorf("error %v, MTU %d", err, test.o.MTU)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
