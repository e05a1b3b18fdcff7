package opensm

import (
	"slices"

	"evbench/site/network"
	"evbench/topology"
)

// Network returns the network of a plan's tree, with all cables alive and only the servers present,
// for use without a discovered one: its GUIDs are made up.
func Network(t *topology.Shape, lmc int) (*network.Network, error) {
	full, err := network.TreeShape(t).Build(0)
	if err != nil {
		return nil, err
	}
	var b network.Builder
	at := slices.Repeat([]network.Node{network.NoNode}, full.Nodes())
	for r := range t.Servers() {
		h := network.Node(t.Position(r))
		at[h] = b.Host(full.Info(h))
	}
	for i := range full.Switches() {
		s := full.Switch(i)
		at[s] = b.Switch(full.Info(s), len(full.Ends(s)))
	}
	for _, c := range full.Cables() {
		if x := at[c.A.Node]; x != network.NoNode {
			if err := b.Cable(network.End{Node: x, Port: c.A.Port}, network.End{Node: at[c.B.Node], Port: c.B.Port}); err != nil {
				return nil, err
			}
		}
	}
	return b.Build().Numbered(lmc)
}
