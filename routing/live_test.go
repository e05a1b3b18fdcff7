package routing_test

import (
	"testing"

	"evbench/internal/expect"
	"evbench/routing"
	"evbench/routing/ibtest"
	"evbench/topology"
	"evbench/topology/network"
	"evbench/topology/topologytest"
)

// TestFtreeIsOpenSMs holds the tables of ftree against those of OpenSM itself on
// trees with several dead links at a leaf, with other numbers of spines, and with
// servers missing.
func TestFtreeIsOpenSMs(t *testing.T) {
	ibtest.Need(t)
	for _, tree := range []*topology.Tree{
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}, "leaf0-spine2", "leaf0-spine3"),
		topologytest.Tree(t, topology.Options{Ports: 5, Leaves: 3}, "leaf0-spine2", "leaf0-spine3", "leaf0-spine4", "spine1"),
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4, Spines: 5}),
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4, Spines: 3}, "leaf2-spine1"),
		topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 5, Fill: []int{3, 3, 3, 2, 2}}),
	} {
		n := expect.Value(routing.FromTree(tree, 0))(t)
		var roots []network.Node
		for k := range tree.Spines() {
			roots = append(roots, n.Switch(tree.Leaves()+k))
		}
		r := expect.Value(ibtest.Route(t.Context(), n, "ftree", roots))(t)
		want := expect.Value(routing.ToTables(tree, r.Tables))(t)
		got := expect.Value(routing.ForTree(routing.Ftree, tree, routing.Options{}))(t)
		equal(t, want, got)
		if want.Engine != got.Engine {
			t.Errorf("%s: OpenSM used %s, here it is %s", tree.Notation(), want.Engine, got.Engine)
		}
	}
}
