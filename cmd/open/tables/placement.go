package tables

import (
	"strings"

	"evbench/site/host"
	"evbench/site/netfile"
	"evbench/site/network"
)

// Placement places hosts by the cables of the network in a file.
func Placement(name string) (*host.Placement, error) {
	n, err := netfile.Read(name, 0)
	if err != nil {
		return nil, err
	}
	at := map[network.Node]int{} // where a switch is in the list
	var switches []host.Switch
	for h := range network.Node(n.Whole.Hosts()) {
		leaf, called := n.Whole.Leaf(h).Node, n.Whole.Info(h).Name
		if leaf == network.NoNode || strings.TrimSpace(called) == "" {
			continue
		}
		i, there := at[leaf]
		if !there {
			i, at[leaf] = len(switches), len(switches)
			switches = append(switches, host.Switch{Name: n.Whole.Info(leaf).Name})
		}
		switches[i].Hosts = append(switches[i].Hosts, called)
	}
	return host.Cabled(switches)
}
