package engines_test

import (
	"slices"
	"strings"
	"testing"

	"evbench/routing"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func parseNetwork(t testing.TB, text string, lmc int, down ...string) *network.Network {
	t.Helper()
	n, err := network.Parse(text, lmc)
	expect.Must(t, err)
	if n, err = n.Degrade(down); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEveryEngine routes whole and degraded trees with each engine. On a whole
// tree no shift may share a cable, on any there must be no deadlock where the
// engine's routes are up and then down.
func TestEveryEngine(t *testing.T) {
	for _, name := range engines.Names() {
		if name == "file" {
			continue
		}
		for _, c := range []struct {
			text string
			down []string
		}{{"FT(2;4,8)", nil}, {"FT(2;4,8)", []string{"s1_0/5", "s1_5/6"}}} {
			n := parseNetwork(t, c.text, 0, c.down...)
			roots, err := network.DetectRoots(n) // without them OpenSM's ftree refuses degraded trees
			expect.Must(t, err)
			w := expect.Value(lft.NewWeights(slices.Repeat([]float64{1}, n.Hosts())))(t)
			tables, err := engines.Compute(name, n, engines.Options{Roots: roots, Weights: w})
			if name == "dmodk" && c.down != nil {
				expect.True(t, err != nil, "dmodk routes a degraded tree")
				continue
			}
			if err != nil {
				t.Errorf("%s without %v: %v", c.text, c.down, err)
				continue
			}
			r := lft.Check(tables, lft.Options{})
			expect.True(t, r.OK() && tables.Engine == name, "%s, %s without %v: %+v", tables.Engine, c.text, c.down, r)
			d := lft.Deadlock(tables)
			expect.True(t, d.Free(), "%s, %s without %v: %v", name, c.text, c.down, d.Names)
			s := lft.Congest(tables, lft.Shifts(n.Hosts()))
			expect.True(t, (c.down == nil) == (s.Slowdown == 1) || name == engines.MinMax, "%s, %s without %v: slowdown %v", name, c.text, c.down, s.Slowdown)
		}
	}
}

func TestLists(t *testing.T) {
	n := parseNetwork(t, "FT(2;4,8)", 1) // OpenSM's ftree refuses LMC > 0
	if _, err := engines.Compute("ftree", n, engines.Options{}); err == nil || !strings.HasPrefix(err.Error(), "engine ftree: ") {
		t.Error(err)
	}
	tables, err := engines.Compute("ftree, opensm-minhop", n, engines.Options{})
	expect.True(t, err == nil && tables.Engine == "opensm-minhop", "%v %v", tables, err)
	whole, err := engines.Compute("ftree,opensm-minhop", parseNetwork(t, "FT(2;4,8)", 0), engines.Options{})
	expect.True(t, err == nil && whole.Engine == "ftree", "%v", err)
	for _, c := range []struct{ name, want string }{
		{"magic", `no engine "magic"; there are ftree, ftree-weighted, opensm-minhop, `},
		{"ftree,magic", `no engine "magic"`},
		{"ftree,file", "file cannot be one of several"},
		{"ftree,minhop", "is written opensm-minhop"},
		{"file", "engine file: no file"},
		{"ftree-weighted", "engine ftree-weighted: no weights of hosts are given"},
		{"ftree,dmodk", "engine ftree: "},
	} {
		expect.Error(t, expect.Err(engines.Compute(c.name, parseNetwork(t, "QFT(2;2,2;1,2;1,1)", 1), engines.Options{})), c.want)
	}
}

func TestFile(t *testing.T) {
	n := parseNetwork(t, "FT(2;2,3)", 0)
	want := expect.Value(engines.Compute("updn", n, engines.Options{}))(t)
	var text strings.Builder
	expect.Must(t, want.WriteDump(&text))
	got := expect.Value(engines.Compute("file", n, engines.Options{File: strings.NewReader(text.String())}))(t)
	d, err := lft.Diff(want, got)
	expect.True(t, err == nil && d.Total() == 0, "%v %v", d, err)
}

// sampleTrees are two-level trees in many states.
func sampleTrees(t *testing.T) []*topology.Tree {
	return []*topology.Tree{
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 8}),
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 8}, "leaf0-spine0", "leaf5-spine1"),
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 5, Spines: 3}, "spine2"),
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4, Fill: []int{4, 1, 0, 3}}, "leaf3-spine0"),
		topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3, Spines: 4, Fill: []int{1, 1, 1}}),
	}
}

// TestFromTree checks names and cables against those of the whole tree.
func TestFromTree(t *testing.T) {
	for _, tree := range sampleTrees(t) {
		n := expect.Value(engines.FromTree(&tree.Live, 1))(t)
		x := network.Names(n)
		expect.Equal(t, n.Hosts(), tree.Servers(), "hosts")
		for r := range tree.Servers() {
			h, err := x.Node("h" + strings.TrimPrefix(tree.ServerName(r), "server"))
			expect.True(t, err == nil && h == network.Node(r) && n.Info(h).LID == uint16(2*(1+tree.Position(r))), "rank %d is %d (%v)", r, h, err)
			if e := n.Leaf(h); n.Index(e.Node) != tree.Leaf(r) || int(e.Port) != tree.Slot(r)+1 {
				t.Errorf("%s hangs on %s", tree.ServerName(r), n.EndName(e))
			}
		}
		for l := range tree.Leaves() {
			for k := range tree.Spines() {
				e := n.At(n.Switch(l), tree.Ports()+1+k)
				if tree.Alive(l, k) != (e == network.End{Node: n.Switch(tree.Leaves() + k), Port: uint8(l + 1)}) {
					t.Errorf("%s: %v", topology.Link{Leaf: l, Spine: k}, e)
				}
			}
		}
	}
}

// TestThereAndBack computes two-level engines on the network and on the tree.
func TestThereAndBack(t *testing.T) {
	for _, tree := range sampleTrees(t) {
		for _, name := range []string{routing.MinHop, routing.Spread} {
			want := expect.Value(engines.ForTree(name, tree, engines.Options{}))(t)
			n := expect.Value(engines.FromTree(&tree.Live, 0))(t)
			l := expect.Value(engines.Compute(name, n, engines.Options{}))(t)
			got := expect.Value(engines.ToTables(tree, l))(t)
			for sw := range want.Tree.Leaves() + want.Tree.Spines() {
				for dst := range tree.Servers() {
					a, b := want.Ports(routing.Switch(sw), dst), got.Ports(routing.Switch(sw), dst)
					expect.True(t, slices.Equal(a, b), "%s: switch %d to rank %d: %v, want %v", name, sw, dst, b, a)
				}
			}
		}
	}
}

// TestForTree takes engines for networks to trees.
func TestForTree(t *testing.T) {
	for _, tree := range sampleTrees(t) {
		for _, name := range []string{"dmodc", "updn", "opensm-minhop", "sssp", "ftree,opensm-minhop"} {
			tables, err := engines.ForTree(name, tree, engines.Options{})
			if err != nil {
				t.Errorf("%s without %v: %v", name, tree.DownNames(), err)
				continue
			}
			if err := walk(tables); err != nil || !strings.HasPrefix(name, tables.Engine) {
				t.Errorf("%s without %v: %s, %v", name, tree.DownNames(), tables.Engine, err)
			}
		}
	}
	detour := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}, "leaf0-spine0", "leaf1-spine1")
	if _, err := engines.ForTree("opensm-minhop", detour, engines.Options{}); err == nil ||
		!strings.Contains(err.Error(), "opensm-minhop routes server2 to server0 through 5 switches: a plan has one spine for a message") {
		t.Error(err)
	}
	if _, err := engines.Trees().Tables(detour, "magic", false); err == nil ||
		!strings.Contains(err.Error(), `"magic": no such engine; there are ftree, minhop, spread, ecmp, spray, adaptive, opensm-minhop, `) {
		t.Error(err)
	}
	small := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2})
	expect.True(t, expect.Err(engines.ToTables(small, lft.New("", parseNetwork(t, "FT(2;4,8)", 0)))) != nil, "tables of another tree are accepted")
}

// walk follows every path of every pair.
func walk(tables *routing.Tables) error {
	for src := range tables.Tree.Servers() {
		for dst := range tables.Tree.Servers() {
			if err := tables.Walk(src, dst); src != dst && err != nil {
				return err
			}
		}
	}
	return nil
}
