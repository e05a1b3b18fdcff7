package survey

import (
	"evbench/routing/dmod"
	"evbench/routing/lft"
	"evbench/routing/opensm"
	"evbench/routing/qft"
	"evbench/routing/sssp"
	"evbench/topology/network"
)

// The networks that engines are measured on.
const (
	hosts2592  = "PGFT(3;12,12,18;1,12,12;1,1,1)"
	hosts11664 = "PGFT(3;18,18,36;1,18,18;1,1,1)"
	hosts34992 = "PGFT(4;18,3,18,36;1,3,18,18;1,6,1,1)"
	quasi34992 = "QFT(4;18,3,18,36;1,3,18,18;1,6,1,1)"
)

// fullOf says which work does the same from the beginning.
var fullOf = map[string]string{"opensm-minhop after 1 dead cable": "opensm-minhop"}

var routeWorks = []routeWork{
	{name: "ftree", notation: hosts2592, hosts: 2592, published: "OpenSM 3 s", reach: "5 × faster than OpenSM", prepare: byEngine(rooted(opensm.Ftree))},
	{name: "opensm-minhop", notation: hosts2592, hosts: 2592, published: "OpenSM 0.9 s", reach: "5 × faster than OpenSM", prepare: byEngine(minHop)},
	{name: "opensm-minhop after 1 dead cable", notation: hosts2592, hosts: 2592, published: "a full computation", reach: "20 × faster than full",
		cables: oneCable, prepare: afterwards},
	{name: "updn", notation: hosts2592, hosts: 2592, prepare: byEngine(rooted(opensm.UpDown))},
	{name: "dnup", notation: hosts2592, hosts: 2592, prepare: byEngine(func(n *network.Network) (*lft.Tables, error) { return opensm.DownUp(n), nil })},
	{name: "sssp", notation: hosts2592, hosts: 2592, prepare: byEngine(sssp.SSSP)},

	{name: "dmodk", notation: hosts11664, hosts: 11664, reach: "200 ms", prepare: byEngine(dmodk)},
	{name: "dmodc", notation: hosts11664, hosts: 11664, reach: "200 ms", prepare: byEngine(dmodc)},
	{name: "dmodc, 1 % of cables dead", notation: hosts11664, hosts: 11664, reach: "200 ms", cables: hundredth, prepare: byEngine(dmodc)},
	{name: "qft", notation: hosts11664, hosts: 11664, prepare: byEngine(quasi)},

	{name: "dmodk", notation: hosts34992, hosts: 34992, prepare: byEngine(dmodk)},
	{name: "dmodc", notation: hosts34992, hosts: 34992, published: "tens of thousands of nodes: < 1 s; OpenSM ftree 478 s, pqft 18 s", reach: "1.5 s, 4 GB", prepare: byEngine(dmodc)},
	{name: "dmodc, 1 % of cables dead", notation: hosts34992, hosts: 34992, published: "the same", reach: "1.5 s, 4 GB", cables: hundredth, prepare: byEngine(dmodc)},
	{name: "reach and loops of all pairs", notation: hosts34992, hosts: 34992, reach: "20 s", prepare: reachOfAll},
	{name: "qft", notation: quasi34992, hosts: 34992, published: "17 s", reach: "1.5 s", prepare: byEngine(quasi)},
	{name: "qft, 1 % of cables dead", notation: quasi34992, hosts: 34992, cables: hundredth, prepare: byEngine(quasi)},
}

// byEngine computes the tables of a network.
func byEngine(engine func(*network.Network) (*lft.Tables, error)) func(*routeMeter, *network.Network) (func() (*lft.Tables, error), error) {
	return func(_ *routeMeter, n *network.Network) (func() (*lft.Tables, error), error) {
		return func() (*lft.Tables, error) { return engine(n) }, nil
	}
}

// afterwards computes tables from those that the whole network had.
func afterwards(m *routeMeter, n *network.Network) (func() (*lft.Tables, error), error) {
	before := opensm.MinHop(m.whole)
	return func() (*lft.Tables, error) { return opensm.MinHopAfter(n, before), nil }, nil
}

// reachOfAll follows the routes of dmodc.
func reachOfAll(_ *routeMeter, n *network.Network) (func() (*lft.Tables, error), error) {
	t, err := dmodc(n)
	return func() (*lft.Tables, error) {
		lft.Check(t, lft.Options{})
		return t, nil
	}, err
}

func rooted(engine func(*network.Network, []network.Node) (*lft.Tables, error)) func(*network.Network) (*lft.Tables, error) {
	return func(n *network.Network) (*lft.Tables, error) {
		roots, err := network.DetectRoots(n)
		if err != nil {
			return nil, err
		}
		return engine(n, roots)
	}
}

func minHop(n *network.Network) (*lft.Tables, error) { return opensm.MinHop(n), nil }

func dmodc(n *network.Network) (*lft.Tables, error) { return dmod.Dmodc(n, dmod.Options{}) }

func dmodk(n *network.Network) (*lft.Tables, error) {
	shape, err := network.ParseShape(n.Notation)
	if err != nil {
		return nil, err
	}
	return dmod.Dmodk(shape.(network.PGFT), n)
}

func quasi(n *network.Network) (*lft.Tables, error) {
	shape, err := network.ParseShape(n.Notation)
	if err != nil {
		return nil, err
	}
	if g, ok := shape.(network.PGFT); ok {
		return qft.FatTree(qft.Shape(g), n)
	}
	return qft.QFT(qft.Shape(shape.(network.QFT)), n)
}

// oneCable is the first cable between switches, one of a leaf.
func oneCable(n *network.Network) ([]network.Cable, error) { return n.SwitchCables()[:1], nil }

// hundredth draws 1 % of the cables between switches. The seed is fixed: the same
// work each time.
func hundredth(n *network.Network) ([]network.Cable, error) {
	return n.Random(len(n.SwitchCables())/100, 1)
}
