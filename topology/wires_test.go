package topology_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func shapes(t *testing.T) []*topology.Tree {
	t.Helper()
	var out []*topology.Tree
	for _, o := range []topology.Options{
		{Ports: 2, Leaves: 3},
		{Ports: 3, Leaves: 2, Spines: 4, Fill: []int{3, 1}},
		{Ports: 3, Leaves: 3, Spines: 2, Fill: []int{3, 1, 2}, Cables: 3},
		{Ports: 2, Leaves: 4, Pods: 2},
		{Ports: 2, Leaves: 6, Pods: 3, Spines: 3, Tops: 4, Fill: []int{2, 0, 1, 2, 2, 1}},
		{Ports: 1, Leaves: 3, Pods: 3, Spines: 2, Tops: 1},
	} {
		out = append(out, topologytest.Tree(t, o))
	}
	return out
}

// Every link has an ID, a name, two ports that no other link has, and two wires.
func TestLinksOfAllLevels(t *testing.T) {
	for _, tree := range shapes(t) {
		ports, wires := map[topology.End]bool{}, map[topology.Wire]bool{}
		for id := range tree.AllLinks() {
			l := tree.LinkOf(id)
			if tree.LinkID(l) != id || !tree.Has(l) || !tree.LinkAlive(l) {
				t.Errorf("%s: link %d is %s with ID %d", tree.Notation(), id, l, tree.LinkID(l))
			}
			named, err := tree.Links(l.String())
			expect.True(t, err == nil && slices.Equal(named, []topology.Link{l}), "%s: %s stands for %v, %v", tree.Notation(), l, named, err)
			name, up := tree.WireName(tree.UpWire(l))
			expect.True(t, name == l.String() && up == "up", "%s: the wire of %s is %s %s", tree.Notation(), l, name, up)
			wires[tree.UpWire(l)], wires[tree.UpWire(l)+1] = true, true
			low, high := tree.Ends(l)
			for upper, e := range map[bool]topology.End{false: low, true: high} {
				at, isUpper, ok := tree.LinkAt(e.Switch, e.Port)
				if at != l || isUpper != upper || !ok {
					t.Errorf("%s: port %d of %s has %s, %v, not %s", tree.Notation(), e.Port, tree.SwitchName(e.Switch), at, ok, l)
				}
				ports[e] = true
			}
			broken, err := tree.Without(l)
			expect.False(t, err != nil || broken.LinkAlive(l) || !slices.Equal(broken.Dead(), []topology.Link{l}) || !slices.Equal(broken.Healthy().Dead(), nil),
				"%s without %s: dead %v, %v", tree.Notation(), l, broken.Dead(), err)
		}
		all := 0
		for sw := range tree.Switches() {
			all += tree.SwitchPorts(sw)
		}
		if n := 2 * tree.AllLinks(); len(ports) != n || len(wires) != n || all != n+tree.Leaves()*tree.Ports() || tree.AllWires() != n+2*tree.Servers() {
			t.Errorf("%s: %d ports and %d wires of %d links, %d ports in all", tree.Notation(), len(ports), len(wires), tree.AllLinks(), all)
		}
		for _, l := range []topology.Link{{Leaf: -1}, {Leaf: tree.Leaves()}, {Spine: tree.Spines()}, {Cable: tree.Cables() + 1}, {Cable: -1}, {Above: true, Top: 9}, {Leaf: 9, Above: true}} {
			expect.True(t, expect.Err(tree.Without(l)) != nil && !tree.Has(l), "%s has %s", tree.Notation(), l)
		}
	}
}

// The wires of a path join: each begins at the switch where the one before ends, from server
// to server; a path is alive until one of its links dies, and only then.
func TestPathsOfAllLevels(t *testing.T) {
	for _, tree := range shapes(t) {
		for src := range tree.Servers() {
			for dst := range tree.Servers() {
				a, b := tree.Leaf(src), tree.Leaf(dst)
				if a == b {
					continue
				}
				for path := range tree.Paths() {
					joins(t, tree, src, dst, path)
					spine, top := tree.SpineTop(path)
					if back := tree.PathOf(spine, top); back != path {
						t.Fatalf("%s: path %d comes back as %d", tree.Notation(), path, back)
					}
				}
				if live := tree.LivePaths(a, b); len(live) != tree.Paths() && (tree.AcrossPods(a, b) || len(live) != tree.Spines()) {
					t.Errorf("%s: %d paths from leaf%d to leaf%d", tree.Notation(), len(live), a, b)
				}
			}
		}
	}
}

func joins(t *testing.T, tree *topology.Tree, src, dst, path int) {
	t.Helper()
	a, b := tree.Leaf(src), tree.Leaf(dst)
	links := tree.PathLinks(a, b, path)
	want := []string{fmt.Sprintf("%s-leaf%d up", tree.ServerName(src), a)}
	at := a
	for i, l := range links {
		low, high := tree.Ends(l)
		from, to, way := low, high, "up"
		if i >= len(links)/2 {
			from, to, way = high, low, "down"
		}
		expect.MustTrue(t, from.Switch == at, "%s: %s begins at %s, not at %s", tree.Notation(), l, tree.SwitchName(from.Switch), tree.SwitchName(at))
		at = to.Switch
		want = append(want, l.String()+" "+way)
		broken, err := tree.Without(l)
		expect.MustTrue(t, err == nil && !broken.PathAlive(a, b, path) && tree.PathAlive(a, b, path),
			"%s: path %d is alive without %s: %v", tree.Notation(), path, l, err)
		expect.MustFalse(t, tree.AcrossPods(a, b) && slices.Contains(broken.LivePaths(a, b), path),
			"%s: path %d is among the live ones without %s", tree.Notation(), path, l)
	}
	want = append(want, fmt.Sprintf("%s-leaf%d down", tree.ServerName(dst), b))
	var got []string
	for _, w := range tree.Path(nil, src, dst, path) {
		name, way := tree.WireName(w)
		got = append(got, name+" "+way)
	}
	expect.MustTrue(t, at == b && slices.Equal(got, want),
		"%s: path %d from %d to %d takes %v, its links %v", tree.Notation(), path, src, dst, got, want)
}

// A leaf and a spine are joined until the last of their cables dies; a name without a number means all.
func TestCables(t *testing.T) {
	o := topology.Options{Ports: 4, Leaves: 3, Spines: 2, Cables: 3}
	for _, c := range []struct {
		down  string
		live  int
		names []string
	}{
		{"leaf0-spine1/2", 2, []string{"leaf0-spine1/2"}},
		{"leaf0-spine1/0,leaf0-spine1/2", 1, []string{"leaf0-spine1/0", "leaf0-spine1/2"}},
		{"leaf0-spine1", 0, []string{"leaf0-spine1/0", "leaf0-spine1/1", "leaf0-spine1/2"}},
	} {
		v := topologytest.Tree(t, o, strings.Split(c.down, ",")...)
		if live := v.LiveCables(0, 1); live != c.live || v.Alive(0, 1) != (live > 0) || !slices.Equal(v.DownNames(), c.names) {
			t.Errorf("without %s %d cables live, dead are %v", c.down, live, v.DownNames())
		}
		expect.Equal(t, len(v.LivePaths(0, 2)), 3*3+c.live*3, "without %s there: live paths", c.down)
	}
}

func TestLinkLists(t *testing.T) {
	a, b, c := topology.Link{Leaf: 0, Spine: 2}, topology.Link{Leaf: 1, Spine: 0}, topology.Link{Leaf: 1, Spine: 1}
	links := []topology.Link{c, a, b}
	slices.SortFunc(links, topology.Link.Compare)
	expect.Equal(t, links, []topology.Link{a, b, c}, "sorted")
	expect.Equal(t, topology.LinkNames(links), []string{"leaf0-spine2", "leaf1-spine0", "leaf1-spine1"}, "names")
	expect.True(t, topology.LinkNames(nil) != nil, "the names of no links are nil")
	expect.Equal(t, topology.Minus(links, []topology.Link{b, {Leaf: 7, Spine: 7}}), []topology.Link{a, c}, "minus")
}

// Answers take the cables of the message that they are for.
func TestBack(t *testing.T) {
	for _, tree := range shapes(t) {
		for path := range tree.Paths() {
			there, back := tree.PathLinks(0, 1, path), tree.PathLinks(1, 0, tree.Back(path))
			slices.Reverse(back)
			expect.True(t, slices.Equal(there, back), "%s, path %d: there %v, back %v", tree.Notation(), path, there, back)
			expect.True(t, tree.Cables() == 1 && tree.BackPaths() == nil || tree.BackPaths()[path] == tree.Back(path), "%s: %v", tree.Notation(), tree.BackPaths())
		}
		expect.Equal(t, tree.Back(-1), -1, "the path that tables choose")
	}
}
