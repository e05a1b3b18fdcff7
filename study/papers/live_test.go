package papers

import (
	"testing"

	"evbench/internal/expect"
	"evbench/routing"
	"evbench/routing/ibtest"
	"evbench/routing/lft"
	"evbench/topology"
	"evbench/topology/network"
)

// TestKeptIsOpenSMs pulls links while OpenSM runs: updn with roots, and min-hop after
// ftree, keep its entries, entry by entry of all leaves.
func TestKeptIsOpenSMs(t *testing.T) {
	ibtest.Need(t)
	n := newRoutedTree(topology.Options{Ports: 4, Leaves: 5, Fill: []int{4, 3, 3, 4, 2}})
	whole := must(routing.FromTree(n.tree, 0))
	var roots []network.Node
	for k := range n.tree.Spines() {
		roots = append(roots, whole.Switch(n.tree.Leaves()+k))
	}
	links := must(n.tree.Random(4, 3))
	for _, tt := range []struct {
		engine, first, then string
		roots               []network.Node
	}{{"updn", routing.UpDown, routing.UpDown, roots}, {"ftree,minhop", "ftree", routing.OpenSMMinHop, nil}} {
		tables := compute(n.tree, tt.first, routing.Options{})
		live := expect.Value(ibtest.Start(t.Context(), whole, tt.engine, tt.roots))(t)
		defer live.Close()
		for i, l := range links {
			expect.Must(t, live.Unlink(network.End{Node: whole.Switch(l.Leaf), Port: uint8(n.tree.Ports() + 1 + l.Spine)}))
			now := must(n.tree.Without(links[:i+1]...))
			tables = compute(now, tt.then, routing.Options{Previous: tables})
			theirs := expect.Value(live.Tables())(t)
			sameOnLeaves(t, now, tables, theirs)
		}
	}
}

// sameOnLeaves compares the entries that messages between servers use.
func sameOnLeaves(t *testing.T, tree *topology.Tree, got, want *lft.Tables) {
	t.Helper()
	for leaf := range tree.Leaves() {
		for server := range tree.Servers() {
			lid := want.Net.Info(network.Node(server)).LID
			if g, w := got.Row(leaf)[lid], want.Row(leaf)[lid]; g != w {
				t.Errorf("%v dead, leaf%d, server of rank %d: port %d, OpenSM has %d", tree.DownNames(), leaf, server, g, w)
			}
		}
	}
}
