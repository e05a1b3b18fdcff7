package opensm

import (
	"cmp"

	"evbench/topology"
	"evbench/topology/network"
)

// TreeOf returns the two-level tree that a network is, all links alive: switches with
// hosts are leaves, the others spines, and all hosts are servers. Their order is that of
// Match. A leaf has as many ports for servers as the leaf with the most hosts has hosts.
func TreeOf(n *network.Network) (*topology.Tree, error) {
	var leaves []network.Node
	for i := range n.Switches() {
		if s := n.Switch(i); hostsOn(n, s) > 0 {
			leaves = append(leaves, s)
		}
	}
	o := topology.Options{Leaves: len(leaves), Spines: n.Switches() - len(leaves)}
	x := network.Names(n)
	if own, ok := named(x, "leaf", o.Leaves); ok {
		if _, ok := named(x, "spine", o.Spines); ok {
			leaves = own
		}
	}
	for _, s := range leaves {
		o.Fill = append(o.Fill, hostsOn(n, s))
		o.Ports = max(o.Ports, hostsOn(n, s))
	}
	o.Ports = cmp.Or(o.Ports, 1)
	return topology.New(o)
}

func hostsOn(n *network.Network, s network.Node) int {
	count := 0
	for _, e := range n.Ends(s) {
		if e.Node != network.NoNode && n.IsHost(e.Node) {
			count++
		}
	}
	return count
}
