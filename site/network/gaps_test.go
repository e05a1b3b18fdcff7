package network_test

import (
	"slices"
	"strings"
	"testing"

	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/topology"
)

// discovered is the network as a file shows it: without its notation, and with switches lf0…, sp0….
func discovered(t *testing.T, n *network.Network) *network.Network {
	t.Helper()
	var b network.Builder
	for v := range network.Node(n.Nodes()) {
		i := n.Info(v)
		i.Name = strings.NewReplacer("s1_", "lf", "s2_", "sp").Replace(i.Name)
		if n.IsHost(v) {
			b.Host(i)
		} else {
			b.Switch(i, len(n.Ends(v)))
		}
	}
	for _, c := range n.Cables() {
		expect.Must(t, b.Cable(c.A, c.B))
	}
	return b.Build()
}

// TestMissingParallelCable: leaf 0 has ports 3 and 4 to spine 0. Which ports the missing cable had
// is not known, and the living one is named by its own, whichever number it has.
func TestMissingParallelCable(t *testing.T) {
	whole := build(t, "PGFT(2;2,3;1,2;1,2)")
	n := discovered(t, expect.Value(whole.Degrade([]string{"s1_0/3"}))(t))
	p := expect.Value(network.TreeOf(n))(t)
	expect.Equal(t, strings.Join(p.Tree.DownNames(), " "), "lf0/?-sp0/?", "dead")
	expect.Equal(t, p.Gaps(), "missing cables are taken for dead links, and which ports they had is not known: "+
		"lf0 and sp0 have 1 of 2 cables (free: lf0/3; sp0/1)", "gaps")
	alive := expect.Value(p.Tree.Links("lf0/4"))(t)
	expect.True(t, len(alive) == 1 && p.Tree.LinkAlive(alive[0]) && p.Tree.LinkName(alive[0]) == "lf0/4-sp0/2", "lf0/4 is %v", alive)
	for _, name := range []string{"lf0-sp0/0", "lf0-sp0/1", "sp0-lf0/1", "leaf0-spine0/0", "leaf0-spine0/1"} {
		const want = "lf0 and sp0 are joined by 1 of 2 cables, and it is not known which are missing: in place of a number write lf0/4-sp0/2"
		expect.Error(t, expect.Err(p.Tree.Links(name)), want)
		expect.Error(t, expect.Err(network.Names(n).Down(name)), want)
	}
	expect.True(t, len(expect.Value(p.Tree.Links("lf0-sp0"))(t)) == 2 && len(expect.Value(p.Tree.Links("lf1-sp0/1"))(t)) == 1, "other names")
	for _, name := range []string{"lf0/4", "sp0/2", "lf0/4-sp0/2", "sp0/2-lf0/4"} {
		expect.True(t, slices.Equal(expect.Value(p.Tree.Links(name))(t), alive), "%s is not lf0/4", name)
		c := expect.Value(network.Names(n).Down(name))(t)
		expect.True(t, len(c) == 1 && (c[0].A.Port == 4 || c[0].B.Port == 4), "%s is %v", name, c)
	}
	// The cable is back: a tree that knows ports finds the living cable again, at the same ports.
	back := expect.Value(network.Match(p.Tree, discovered(t, whole)))(t)
	expect.True(t, back.Up(alive[0]) == 4, "the living cable is at port %d", back.Up(alive[0]))
}

// TestDeadParallelCable: a file with all cables names a dead one by its ports; our own names of
// switches change nothing in that, and a notation says which cable has which port.
func TestDeadParallelCable(t *testing.T) {
	whole := build(t, "PGFT(2;2,3;1,2;1,2)")
	for name, dead := range map[string]string{"lf0/3": "lf0/3-sp0/1", "sp0/1": "lf0/3-sp0/1", "lf0-sp0/1": "lf0/4-sp0/2"} {
		p := expect.Value(network.TreeOf(discovered(t, whole)))(t)
		links := expect.Value(p.Tree.Find(name))(t)
		view := expect.Value(p.Tree.Without(links...))(t)
		expect.Equal(t, strings.Join(view.DownNames(), " "), dead, "%s", name)
		expect.Equal(t, p.Gaps(), "", "gaps")
	}
	p := expect.Value(network.TreeOf(expect.Value(whole.Degrade([]string{"s1_0/3"}))(t)))(t)
	expect.True(t, slices.Equal(p.Tree.Dead(), []topology.Link{p.Tree.Cable(0, 0, 0)}), "port 3 is %v", p.Tree.DownNames())
	p = expect.Value(network.TreeOf(expect.Value(whole.Degrade([]string{"s1_0/3", "s1_1/3", "s1_2/3", "s1_0/5", "s1_1/5", "s1_2/5"}))(t)))(t)
	expect.True(t, p.Tree.Cables() == 2 && len(p.Tree.Dead()) == 6, "%s with %v dead", p.Tree.Notation(), p.Tree.DownNames())
}

// TestTwoMissing: several missing cables of two switches have different names.
func TestTwoMissing(t *testing.T) {
	n := discovered(t, expect.Value(build(t, "PGFT(2;2,3;1,1;1,4)").Degrade([]string{"s1_0/3", "s1_0/5"}))(t))
	p := expect.Value(network.TreeOf(n))(t)
	expect.Equal(t, strings.Join(p.Tree.DownNames(), " "), "lf0/?1-sp0/?1 lf0/?2-sp0/?2", "dead")
	for _, l := range p.Tree.Dead() {
		expect.True(t, slices.Equal(expect.Value(p.Tree.Links(p.Tree.LinkName(l)))(t), []topology.Link{l}), "%s is another", p.Tree.LinkName(l))
	}
	expect.Contains(t, p.Gaps(), "lf0 and sp0 have 2 of 4 cables (free: lf0/3,5; sp0/1,3)")
}

// TestFewSpines: a leaf with cables to half the spines was built so, one without a cable to one spine has a dead link.
func TestFewSpines(t *testing.T) {
	n := discovered(t, expect.Value(build(t, "FT(2;4,3)").Degrade([]string{"s1_0-s2_2", "s1_0-s2_3", "s1_1-s2_1"}))(t))
	p := expect.Value(network.TreeOf(n))(t)
	expect.Equal(t, strings.Join(p.Tree.DownNames(), " "), "lf1-sp1", "dead")
	expect.Equal(t, p.AsBuilt(), "taken as built: cables to 2 spines alone of lf0, where another leaf has them to 4", "built")
	// and a spine with cables to half the leaves
	n = discovered(t, expect.Value(build(t, "FT(2;3,4)").Degrade([]string{"s1_2-s2_2", "s1_3-s2_2"}))(t))
	p = expect.Value(network.TreeOf(n))(t)
	expect.Equal(t, strings.Join(p.Tree.DownNames(), " "), "", "dead")
	expect.Equal(t, p.AsBuilt(), "taken as built, no cable dead: cables to 2 leaves alone of sp2, where another spine has them to 4", "built")
}
