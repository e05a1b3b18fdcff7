package tables

import (
	"strings"

	"evbench/internal/lists"
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
	leaf := func(h network.Node) network.Node { return n.Whole.Leaf(h).Node }
	called := func(v network.Node) string { return n.Whole.Info(v).Name }
	placed := lists.Filter(lists.Range[network.Node](n.Whole.Hosts()), func(h network.Node) bool {
		return leaf(h) != network.NoNode && strings.TrimSpace(called(h)) != ""
	})
	return host.Cabled(lists.Map(lists.Groups(placed, leaf), func(own []network.Node) host.Switch {
		return host.Switch{Name: called(leaf(own[0])), Hosts: lists.Map(own, called)}
	}))
}
