package engines_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/routing"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// equal holds two tables against each other and names the first difference.
func equal(t *testing.T, want, got *routing.Tables) {
	t.Helper()
	for sw := range want.Tree.Leaves() + want.Tree.Spines() {
		for dst := range want.Tree.Servers() {
			a, b := want.Ports(routing.Switch(sw), dst), got.Ports(routing.Switch(sw), dst)
			expect.MustTrue(t, slices.Equal(a, b), "%s: switch %d to rank %d: %v, want %v", want.Tree.Notation(), sw, dst, b, a)
		}
	}
}

// TestFtreeClosed: the closed form of package routing has every entry of OpenSM's ftree with the spines as roots, whatever
// is dead and missing; on whole trees, where leaves have as many servers as spines, it is d-mod-k.
func TestFtreeClosed(t *testing.T) {
	compare := func(tree *topology.Tree) {
		t.Helper()
		expect.MustTrue(t, routing.Closed(&tree.Live, routing.Ftree), "%s: no closed form", tree.Notation())
		equal(t, expect.Value(engines.ForTree(routing.Ftree, tree, engines.Options{}))(t), expect.Value(engines.Trees().Tables(tree, routing.Ftree, false))(t))
	}
	for _, o := range []topology.Options{{Ports: 1, Leaves: 2}, {Ports: 4, Leaves: 1}, {Ports: 7, Leaves: 11}, {Ports: 18, Leaves: 36}, {Ports: 20, Leaves: 18}} {
		tree := topologytest.Tree(t, o)
		compare(tree)
		tables := expect.Value(routing.TreeTables(tree, routing.Ftree))(t)
		for src := range tree.Servers() {
			for dst := range tree.Servers() {
				if spine, ok := tables.PathOf(src, dst); tree.Leaf(src) != tree.Leaf(dst) {
					expect.MustTrue(t, ok && spine == dst%tree.Spines(), "%s: rank %d to %d over spine %d", tree.Notation(), src, dst, spine)
				}
			}
		}
	}
	draw, compared := rand.New(rand.NewPCG(1, 9)), 0
	for range 400 {
		o := topology.Options{Ports: 1 + draw.IntN(5), Leaves: 2 + draw.IntN(5), Spines: 1 + draw.IntN(6)}
		for range o.Leaves {
			o.Fill = append(o.Fill, draw.IntN(o.Ports+1))
		}
		o.Fill[0], o.Fill[o.Leaves-1] = 1, 1
		tree := expect.Value(topology.New(o))(t)
		var dead []topology.Link
		for id := range tree.AllLinks() {
			if draw.IntN(5) == 0 {
				dead = append(dead, tree.LinkOf(id))
			}
		}
		if tree = expect.Value(tree.Without(dead...))(t); tree.Connected() == nil {
			compared++
			compare(tree)
		}
	}
	expect.MustTrue(t, compared > 100, "%d trees compared", compared)
}

// Trees with more ports than a switch of InfiniBand has are routed while nothing
// is missing.
func TestFtreeOfLargeTrees(t *testing.T) {
	o := topology.Options{Ports: 128, Leaves: 3}
	expect.OK(t, expect.Err(engines.Trees().Tables(topologytest.Tree(t, o), routing.Ftree, false)))
	_, err := engines.ForTree(routing.Ftree, topologytest.Tree(t, o, "leaf0-spine0"), engines.Options{})
	want := "routing ftree,opensm-minhop on FT(2;128,3): level 1: 256 ports at a switch, more than 254"
	expect.True(t, err != nil && err.Error() == want, "error %v, want %s", err, want)
}

// TestFtreeToOpenSMMinHop: a running OpenSM routes by ftree while leaves are alike, and after a
// dead link by minhop, which keeps what ftree had and moves the routes of the link alone.
func TestFtreeToOpenSMMinHop(t *testing.T) {
	o := topology.Options{Ports: 20, Leaves: 18, Fill: slices.Concat(slices.Repeat([]int{19}, 2), slices.Repeat([]int{18}, 16))}
	spine := make([]string, o.Leaves)
	for l := range spine {
		spine[l] = fmt.Sprintf("leaf%d-spine3", l)
	}
	tables := func(name string, down ...string) *routing.Tables {
		t.Helper()
		out := expect.Value(engines.ForTree(name, topologytest.Tree(t, o, down...), engines.Options{}))(t)
		return out
	}
	healthy := tables(routing.Ftree)
	equal(t, healthy, tables(engines.FtreeToOpenSMMinHop))
	equal(t, tables(routing.Ftree, spine...), tables(engines.FtreeToOpenSMMinHop, spine...))
	after := tables(engines.FtreeToOpenSMMinHop, "leaf0-spine0")
	for sw := range o.Leaves {
		for dst := range healthy.Tree.Servers() {
			if sw == healthy.Tree.Leaf(dst) {
				continue
			}
			before, now := healthy.Ports(routing.Switch(sw), dst), after.Ports(routing.Switch(sw), dst)
			dead := int(before[0]) == o.Ports && (sw == 0 || healthy.Tree.Leaf(dst) == 0)
			expect.True(t, dead != slices.Equal(before, now), "leaf%d to rank %d: %v, before %v", sw, dst, now, before)
		}
	}
}

// TestPartial routes a tree in two parts and a leaf on its own: each part like
// a tree, and nothing between them.
func TestPartial(t *testing.T) {
	down := []string{
		"leaf0-spine2", "leaf0-spine3", "leaf1-spine2", "leaf1-spine3", "leaf2-spine0", "leaf2-spine1",
		"leaf3-spine0", "leaf3-spine1", "leaf4-spine0", "leaf4-spine1", "leaf4-spine2", "leaf4-spine3",
	}
	tree := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 5}, down...)
	part := []int{0, 0, 1, 1, 2}
	for _, name := range engines.Trees().Names() {
		if name == "dmodk" {
			continue
		}
		tables, err := engines.Trees().Tables(tree, name, true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for src := range tree.Servers() {
			for dst := range tree.Servers() {
				err := tables.Walk(src, dst)
				expect.True(t, (part[tree.Leaf(src)] == part[tree.Leaf(dst)]) == (err == nil), "%s: rank %d to rank %d: %v", name, src, dst, err)
			}
		}
	}
}
