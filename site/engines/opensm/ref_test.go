package opensm

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// without returns the network without some cables; an end names a cable, and
// port 0 all cables of the node.
func without(t testing.TB, n *network.Network, lost ...network.End) *network.Network {
	t.Helper()
	var cables []network.Cable
	var nodes []network.Node
	for _, e := range lost {
		if e.Port > 0 {
			cables = append(cables, network.Cable{A: e, B: n.At(e.Node, int(e.Port))})
		} else {
			nodes = append(nodes, e.Node)
		}
	}
	return n.Without(cables, nodes)
}

func build(t testing.TB, g network.PGFT, lmc int) *network.Network {
	t.Helper()
	n := expect.Value(g.Build(lmc))(t)
	return n
}

func top(n *network.Network, g network.PGFT) []network.Node {
	count := 1
	for _, w := range g.W {
		count *= w
	}
	var roots []network.Node
	for i := n.Switches() - count; i < n.Switches(); i++ {
		roots = append(roots, n.Switch(i))
	}
	return roots
}

// references are the networks of testdata, from OpenSM 3.3.23 on ibsim.
var references = map[string]network.PGFT{
	"ft2_4_8":            {M: []int{4, 8}, W: []int{1, 4}, P: []int{1, 1}},
	"ft2_20_18":          {M: []int{20, 18}, W: []int{1, 20}, P: []int{1, 1}},
	"pgft3_4_4_4__1_4_4": {M: []int{4, 4, 4}, W: []int{1, 4, 4}, P: []int{1, 1, 1}},
}

//gate:race
func TestReferenceTables(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/*/*.lft.txt.gz")
	expect.Equal(t, len(files), 3*4+2*3+3, "reference tables")
	entries := 0
	for _, file := range files {
		dir := filepath.Dir(file)
		engine := strings.TrimSuffix(filepath.Base(file), ".lft.txt.gz")
		name := filepath.Base(filepath.Dir(dir))
		t.Run(name+"/"+filepath.Base(dir)+"/"+engine, func(t *testing.T) {
			g := references[name]
			n := build(t, g, 0)
			n = without(t, n, dead(t, n, filepath.Join(dir, "down.txt"))...)
			entries += same(t, compute(t, engine, n, top(n, g)), reference(t, n, file))
		})
	}
	t.Logf("%d entries compared", entries)
}

func compute(t testing.TB, engine string, n *network.Network, roots []network.Node) *lft.Tables {
	t.Helper()
	var tables *lft.Tables
	var err error
	switch engine {
	case "minhop":
		tables = minHop(n)
	case "updn":
		tables, err = UpDown.Route(n, roots)
	case "dnup":
		tables = anew(DownUp, n)
	case "ftree":
		tables, err = Ftree(n, roots)
	default:
		t.Fatalf("no engine %s", engine)
	}
	expect.Must(t, err)
	return tables
}

// same compares all entries and returns how many.
func same(t testing.TB, got, want *lft.Tables) (entries int) {
	t.Helper()
	n, wrong := want.Net, 0
	for i := range n.Switches() {
		for lid := 1; lid < want.LIDs; lid++ {
			entries++
			if g, w := got.Row(i)[lid], want.Row(i)[lid]; g != w {
				if wrong++; wrong <= 5 {
					t.Errorf("%s LID %d: port %d, OpenSM has %d", n.Info(n.Switch(i)).Name, lid, g, w)
				}
			}
		}
	}
	expect.True(t, wrong <= 5, "… %d of %d entries differ", wrong, entries)
	return entries
}

// dead reads lines "switch port".
func dead(t testing.TB, n *network.Network, file string) []network.End {
	t.Helper()
	text := expect.Value(os.ReadFile(file))(t)
	var ends []network.End
	for line := range strings.Lines(string(text)) {
		var name string
		var port uint8
		expect.Must(t, expect.Err(fmt.Sscan(line, &name, &port)), "%s", file)
		ends = append(ends, network.End{Node: named(n)[name], Port: port})
	}
	return ends
}

func named(n *network.Network) map[string]network.Node {
	m := map[string]network.Node{}
	for v := range network.Node(n.Nodes()) {
		m[n.Info(v).Name] = v
	}
	return m
}

// reference reads lines "switch port port …", LID 1 first.
func reference(t testing.TB, n *network.Network, file string) *lft.Tables {
	t.Helper()
	f := expect.Value(os.Open(file))(t)
	defer f.Close()
	z := expect.Value(gzip.NewReader(f))(t)
	tables, names := lft.New("reference", n), named(n)
	scan := bufio.NewScanner(z)
	for scan.Scan() {
		fields := strings.Fields(scan.Text())
		row := tables.Row(n.Index(names[fields[0]]))
		for lid, field := range fields[1:] {
			if field != "-" {
				fmt.Sscan(field, &row[lid+1])
			}
		}
	}
	return tables
}
