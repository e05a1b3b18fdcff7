package topology_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// parsed returns the tree of a notation without the named links.
func parsed(t testing.TB, notation string, down ...string) *topology.Tree {
	t.Helper()
	return topologytest.Tree(t, expect.Value(topology.Parse(notation))(t), down...)
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want topology.Options
		err  string
	}{
		{in: "FT(2;4,8)", want: topology.Options{Ports: 4, Leaves: 8}},
		{in: " FT( 2 ; 20 , 18 ) ", want: topology.Options{Ports: 20, Leaves: 18}},
		{in: "FT(3;4,5,6)", want: topology.Options{Ports: 4, Leaves: 30, Pods: 6}},
		{in: "PGFT(2;4,8;1,3;1,1)", want: topology.Options{Ports: 4, Leaves: 8, Spines: 3}},
		{in: "PGFT(3;4,5,6;1,4,5;1,1,1)", want: topology.Options{Ports: 4, Leaves: 30, Pods: 6}},
		{in: "PGFT(3;4,5,6;1,3,8;1,1,1)", want: topology.Options{Ports: 4, Leaves: 30, Pods: 6, Spines: 3, Tops: 8}},
		{in: "FT(1;4)", err: "trees of 2 and 3 levels"},
		{in: "kary(4;2)", want: topology.Options{Ports: 4, Leaves: 4}},
		{in: "kary(2; 3)", want: topology.Options{Ports: 2, Leaves: 4, Pods: 2}},
		{in: "kary(2;4)", err: "4 levels; trees of 2 and 3 are planned, FT(2;M0,M1) and FT(3;M0,M1,M2) (evbench topo and routes build networks of any number)"},
		{in: "FT(4;4,4,4,4)", err: "4 levels; trees of 2 and 3 are planned"},
		{in: "kary(4;1)", err: "trees of 2 and 3 levels are supported"},
		{in: "kary(4)", err: "write FT(2;M0,M1)"},
		{in: "kary(4,4;2)", err: "write FT(2;M0,M1)"},
		{in: "FT(3;4,4)", err: "write FT(2;M0,M1)"},
		{in: "FT(2;4,4,4)", err: "write FT(2;M0,M1)"},
		{in: "FT(2;4,4;1,4;1,1)", err: "write FT(2;M0,M1)"},
		{in: "PGFT(2;4,4)", err: "write FT(2;M0,M1)"},
		{in: "PGFT(2;4,4;1,4)", err: "write FT(2;M0,M1)"},
		{in: "PGFT(2;4,4;1,4;1)", err: "write FT(2;M0,M1)"},
		{in: "4x8", err: "write FT(2;M0,M1)"},
		{in: "FT()", err: `"" is not a number`},
		{in: "FT(2;4,)", err: `"" is not a number`},
		{in: "FT(2;4,-1)", err: `"-1" is not a number`},
		{in: "FT(2;0,2)", err: "out of range: 0 is not in 1..65536"},
		{in: "FT(2;99999999999999999999,2)", err: "out of range"},
		{in: "PGFT(2;4,4;2,4;1,1)", err: "w1 = 2 and p1 = 1: a server has one cable"},
		{in: "PGFT(2;4,4;1,4;1,2)", want: topology.Options{Ports: 4, Leaves: 4, Cables: 2}},
		{in: "PGFT(2;20,18;1,10;1,2)", want: topology.Options{Ports: 20, Leaves: 18, Spines: 10, Cables: 2}},
		{in: "PGFT(3;4,4,4;1,4,4;1,2,1)", err: "p2 = 2: plans do not allow two cables between a leaf and a middle switch"},
		{in: "PGFT(3;4,5,6;1,3,2;1,1,4)", err: "p3 = 4: plans do not allow two cables between a middle switch and a top switch"},
		{in: "FT(2;1 2,8)", err: `"1 2" is not a number`},
		{in: "F T(2;4,8)", err: "write FT(2;M0,M1)"},
	} {
		got, err := topology.Parse(tt.in)
		if tt.err != "" {
			expect.True(t, err != nil && strings.Contains(err.Error(), tt.err) && !strings.Contains(err.Error(), "\n"),
				"Parse(%q) error = %v, want %q", tt.in, err, tt.err)
			continue
		}
		expect.True(t, err == nil && reflect.DeepEqual(got, tt.want), "Parse(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    topology.Options
		want string
	}{
		{"no ports", topology.Options{Leaves: 2}, "M0 = 0"},
		{"too many ports", topology.Options{Ports: 300, Leaves: 2}, "M0 = 300"},
		{"too many cables", topology.Options{Ports: 4, Leaves: 2, Cables: 16}, "16 cables between a leaf and each of 4 spines: must be 1..15"},
		{"too many ports up", topology.Options{Ports: 128, Leaves: 2, Cables: 2}, "at most 254 of a leaf"},
		{"cables in pods", topology.Options{Ports: 2, Leaves: 4, Pods: 2, Cables: 2}, "2 cables between a leaf and a spine: trees of three levels have one"},
		{"no leaves", topology.Options{Ports: 2}, "M1 = 0"},
		{"negative spines", topology.Options{Ports: 2, Leaves: 2, Spines: -1}, "-1 spines"},
		{"short fill", topology.Options{Ports: 2, Leaves: 2, Fill: []int{2}}, "fill names 1 leaves"},
		{"overfull leaf", topology.Options{Ports: 2, Leaves: 2, Fill: []int{2, 3}}, "fill of leaf1 = 3"},
		{"pods do not divide", topology.Options{Ports: 4, Leaves: 5, Pods: 2}, "2 pods for 5 leaves"},
		{"tops without pods", topology.Options{Ports: 4, Leaves: 4, Tops: 2}, "0 pods"},
		{"negative tops", topology.Options{Ports: 4, Leaves: 4, Pods: 2, Tops: -1}, "-1 top switches"},
		{"many tops", topology.Options{Ports: 4, Leaves: 4, Pods: 2, Tops: 300}, "300 top switches"},
		{"many cables", topology.Options{Ports: 200, Leaves: 4000, Pods: 1000, Tops: 200}, "at most 4096, 254, and 1048576 cables"},
		{"huge", topology.Options{Ports: 65536, Leaves: 1 << 32, Pods: 65536}, "top switches in a plane"},
		{"huge planes", topology.Options{Ports: 65536, Leaves: 1 << 32, Pods: 65536, Tops: 1}, "at most 4096"},
		{"no ports in pods", topology.Options{Ports: -1, Leaves: 2, Pods: 1}, "M0 = -1"},
		{"fill of pods", topology.Options{Ports: 4, Leaves: 2, Pods: 1, Fill: []int{1}}, "fill names 1 leaves"},
		{"one server", topology.Options{Ports: 2, Leaves: 2, Fill: []int{1, 0}}, "1 servers"},
	} {
		expect.Error(t, expect.Err(topology.New(tt.o)), tt.want)
	}
}

// Ranks and positions are each other's inverse, also with empty leaves.
func TestRanksAndPositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		o := topology.Options{Ports: 1 + rng.IntN(5), Leaves: 2 + rng.IntN(6)}
		o.Fill = make([]int, o.Leaves)
		for l := range o.Fill {
			o.Fill[l] = rng.IntN(o.Ports + 1)
		}
		o.Fill[0], o.Fill[1] = max(1, o.Fill[0]), max(1, o.Fill[1])
		tr := topologytest.Tree(t, o)
		rank := 0
		for pos := range o.Ports * o.Leaves {
			leaf, slot := pos/o.Ports, pos%o.Ports
			got, ok := tr.Rank(pos)
			if present := slot < o.Fill[leaf]; ok != present {
				t.Fatalf("fill %v: Rank(%d) present %v, want %v", o.Fill, pos, ok, present)
			} else if !present {
				continue
			}
			if got != rank || tr.Position(rank) != pos || tr.Leaf(rank) != leaf || tr.Slot(rank) != slot {
				t.Fatalf("fill %v: position %d: rank %d, back to %d, leaf %d, slot %d; want rank %d",
					o.Fill, pos, got, tr.Position(rank), tr.Leaf(rank), tr.Slot(rank), rank)
			}
			rank++
		}
		if rank != tr.Servers() {
			t.Fatalf("fill %v: %d servers, want %d", o.Fill, tr.Servers(), rank)
		}
	}
}

// Names stand for links, or the error says what the tree has.
func TestLinks(t *testing.T) {
	const two, cables, three = "FT(2;4,3)", "PGFT(2;4,3;1,2;1,3)", "PGFT(3;4,3,2;1,5,7;1,1,1)"
	for _, tt := range []struct {
		tree, name string
		low, tops  int
		err        string
	}{
		{tree: two, name: "leaf2-spine3", low: 1},
		{tree: two, name: "spine1", low: 3},
		{tree: two, name: "leaf3-spine0", err: `no link "leaf3-spine0"; FT(2;4,3) has leaf0..leaf2 and spine0..spine3`},
		{tree: two, name: "spine4", err: `no spine "spine4"`},
		{tree: two, name: "leaf1", err: "neither a link (leaf0-spine3) nor a spine (spine3)"},
		{tree: two, name: "leaf99999999999999999999-spine0", err: "no link"},
		{tree: two, name: "leaf0-spine1/0", err: "no cable"},
		{tree: cables, name: "leaf0-spine1/2", low: 1},
		{tree: cables, name: "leaf0-spine1", low: 3},
		{tree: cables, name: "leaf0-spine1/3", err: `no cable "leaf0-spine1/3"; PGFT(2;4,3;1,2;1,3) has leaf0..leaf2 and spine0..spine1, and cables /0../2 between each two`},
		{tree: cables, name: "leaf0-spine2", err: `no link "leaf0-spine2"`},
		{tree: cables, name: "leaf0-spine1/99999999999999999999", err: `no cable "leaf0-spine1/99999999999999999999"`},
		{tree: three, name: "leaf5-spine4", low: 1},
		{tree: three, name: "pod1-spine4-top6", tops: 1},
		{tree: three, name: "pod1-spine4", low: 3, tops: 7},
		{tree: three, name: "spine4-top6", tops: 2},
		{tree: three, name: "spine4", low: 6, tops: 14},
		{tree: three, name: "leaf6-spine0", err: `no link "leaf6-spine0"; PGFT(3;4,3,2;1,5,7;1,1,1) has leaf0..leaf5, pod0..pod1, spine0..spine4 and top0..top6 of each spine`},
		{tree: three, name: "pod2-spine0-top0", err: `no link "pod2-spine0-top0"`},
		{tree: three, name: "pod0-spine5", err: `no middle switch "pod0-spine5"`},
		{tree: three, name: "spine0-top7", err: `no top switch "spine0-top7"`},
		{tree: three, name: "spine5", err: `no plane "spine5"`},
		{tree: three, name: "pod1", err: `"pod1" is none of a link`},
		{tree: three, name: "spine99999999999999999999", err: "no plane"},
	} {
		tree := parsed(t, tt.tree)
		links, err := tree.Links(tt.name)
		if tt.err != "" {
			expect.Error(t, err, tt.err)
			continue
		}
		low := 0
		for _, l := range links {
			if !l.Above {
				low++
			}
		}
		expect.True(t, err == nil && low == tt.low && len(links)-low == tt.tops && slices.IsSortedFunc(links, topology.Link.Compare),
			"Links(%q) = %v, %v; want %d and %d", tt.name, links, err, tt.low, tt.tops)
		v := expect.Value(tree.Without(links...))(t)
		expect.True(t, len(v.DownNames()) == len(links) && len(tree.Dead()) == 0 && reflect.DeepEqual(v, parsed(t, tt.tree, v.DownNames()...)),
			"without %s: %v are dead, which does not give the tree back", tt.name, v.DownNames())
	}
}

func TestWithoutIsAView(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3})
	v := expect.Value(tr.Without(topology.Link{Leaf: 1, Spine: 0}, topology.Link{Leaf: 1, Spine: 0}))(t)
	expect.True(t, tr.Alive(1, 0) && !v.Alive(1, 0) && len(v.Dead()) == 1 && len(v.Healthy().Dead()) == 0,
		"the view has dead %v, the tree %v", v.Dead(), tr.Dead())
	got := v.CommonSpines(0, 1)
	expect.True(t, len(got) == 1 && got[0] == 1, "CommonSpines(0, 1) = %v, want [1]", got)
	expect.True(t, expect.Err(tr.Without(topology.Link{Leaf: 3, Spine: 0})) != nil, "a link that does not exist was taken down")
}

func TestRandom(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4})
	a := expect.Value(tr.Random(5, 7))(t)
	b, _ := tr.Random(5, 7)
	va, _ := tr.Without(a...)
	vb, _ := tr.Without(b...)
	got, want := strings.Join(va.DownNames(), ","), strings.Join(vb.DownNames(), ",")
	expect.True(t, got == want && len(va.Dead()) == 5, "one seed, two draws: %s and %s", got, want)
	expect.True(t, va.Connected() == nil, "the draw disconnects a pair")
	expect.True(t, expect.Err(tr.Random(17, 1)) != nil, "17 of 16 links were drawn")
	expect.True(t, expect.Err(tr.Random(16, 1)) != nil, "a draw of all links leaves the tree connected")
}

func TestWires(t *testing.T) {
	two := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3, Spines: 3, Fill: []int{2, 1, 2}})
	three := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2, Spines: 3, Tops: 2, Fill: []int{2, 1, 0, 2}})
	for tree, wires := range map[*topology.Tree]int{two: 2 * (9 + 5), three: 2 * (12 + 5 + 12)} {
		seen := map[string]bool{}
		for w := range tree.AllWires() {
			link, direction := tree.WireName(topology.Wire(w))
			seen[link+" "+direction] = true
		}
		expect.True(t, len(seen) == tree.AllWires() && len(seen) == wires, "%d names for %d wires", len(seen), tree.AllWires())
	}
	for _, tt := range []struct {
		tree                 *topology.Tree
		src, dst, spine, top int
		want                 string
	}{
		{two, 1, 3, 2, -1, "server1-leaf0 up, leaf0-spine2 up, leaf2-spine2 down, server4-leaf2 down"},
		{three, 0, 1, -1, -1, "server0-leaf0 up, server1-leaf0 down"},
		{three, 0, 2, 1, -1, "server0-leaf0 up, leaf0-spine1 up, leaf1-spine1 down, server2-leaf1 down"},
		{three, 4, 2, 2, 1, "server7-leaf3 up, leaf3-spine2 up, pod1-spine2-top1 up, pod0-spine2-top1 down, leaf1-spine2 down, server2-leaf1 down"},
	} {
		var names []string
		for _, w := range tt.tree.Path(nil, tt.src, tt.dst, tt.tree.PathOf(tt.spine, tt.top)) {
			link, direction := tt.tree.WireName(w)
			names = append(names, link+" "+direction)
		}
		expect.Equal(t, strings.Join(names, ", "), tt.want, "path")
	}
}

func FuzzNames(f *testing.F) {
	trees := []*topology.Tree{parsed(f, "FT(2;4,4)"), parsed(f, "PGFT(2;4,4;1,2;1,3)"), parsed(f, "PGFT(3;4,3,2;1,5,7;1,1,1)")}
	for _, s := range []string{"FT(2;4,8)", "FT(3;2,2,2)", "PGFT(2;4,8;1,3;1,1)", "PGFT(2;4,8;1,3;1,2)", "PGFT(3;4,5,6;1,4,7;1,1,1)", "FT(3;65536,65536,65536)",
		"leaf0-spine3", "leaf0-spine1/0", "leaf0-spine1/99999999999999999999", "leaf5-spine2", "pod1-spine2-top3", "spine2", "pod1-spine2", "spine2-top3", "4,4,3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if o, err := topology.Parse(s); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%q): %v", s, err)
		} else if tree, err := topology.New(o); err == nil {
			again, err := topology.Parse(tree.Notation())
			if o.Pods == 0 && o.Cables == 0 {
				o.Spines = 0 // which the notation of two levels leaves out
			}
			expect.True(t, err == nil && reflect.DeepEqual(again, o),
				"Parse(%q) = %+v; its notation %s gives %+v, %v", s, o, tree.Notation(), again, err)
		}
		for _, tr := range trees {
			if links, err := tr.Links(s); err == nil {
				v, err := tr.Without(links...)
				expect.True(t, err == nil && len(v.DownNames()) == len(links), "Links(%q) = %v: %v", s, links, err)
			}
		}
		_, _ = topology.ParseFill(s)
	})
}
