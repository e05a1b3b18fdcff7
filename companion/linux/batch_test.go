package linux

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/companion"
	"evbench/plan"
	"evbench/routing"
	"evbench/site/engines"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func build(t testing.TB, tree *topology.Tree, o plan.Options) *Batch {
	t.Helper()
	p := expect.Value(plan.Build(tree, o))(t)
	b := expect.Value(NewBatch(p))(t)
	return b
}

func small(t testing.TB, down ...string) *topology.Tree {
	return topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3, Fill: []int{2, 1, 2}}, down...)
}

// TestGolden holds all files of a small tree against a reviewed copy.
func TestGolden(t *testing.T) {
	b := build(t, small(t, "leaf0-spine1"), plan.Options{Schedule: "fors"})
	var out bytes.Buffer
	expect.Must(t, b.WriteAddresses(&out))
	for n := range b.nodes() {
		fmt.Fprintf(&out, "\n## %s.batch\n", b.Name(companion.Node(n)))
		expect.Must(t, b.writeNode(&out, companion.Node(n), nil))
	}
	ecmp := build(t, small(t), plan.Options{Schedule: "linear-shift", Routing: "ecmp"})
	fmt.Fprintf(&out, "\n## several next hops\n")
	expect.Must(t, ecmp.writeNode(&out, 0, nil))
	name := filepath.Join("testdata", "small.txt")
	if *update {
		expect.Must(t, os.WriteFile(name, out.Bytes(), 0o644))
	}
	want := expect.Value(os.ReadFile(name))(t)
	expect.True(t, bytes.Equal(want, out.Bytes()), "not as in %s:\n%s", name, out.Bytes())
}

// TestWriteDeletesWhatIsStale writes the files of one plan over those of others.
func TestWriteDeletesWhatIsStale(t *testing.T) {
	dir := t.TempDir()
	leaf0 := filepath.Join(dir, "leaf0.batch")
	deleted := func() (out []string) {
		text := expect.Value(os.ReadFile(leaf0))(t)
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "route del") {
				out = append(out, line)
			}
		}
		return out
	}
	for _, step := range []struct {
		down []string
		want string
	}{
		{nil, "[]"},
		{[]string{"leaf0-spine1"}, "[route del 10.1.0.0/16 proto 201]"},
		{[]string{"leaf0-spine1"}, "[route del 10.1.0.0/16 proto 201]"}, // nobody knows whether it was used
		{nil, "[]"},
	} {
		b := build(t, small(t, step.down...), plan.Options{Schedule: "fors"})
		n, err := b.Write(dir)
		expect.MustTrue(t, err == nil && n == 1+3+2+5, "%d files, %v", n, err)
		expect.Equal(t, fmt.Sprint(deleted()), step.want, "down %v", step.down)
	}
	expect.Must(t, os.WriteFile(leaf0, []byte("route replace nonsense\n"), 0o644))
	expect.Error(t, expect.Err(build(t, small(t), plan.Options{Schedule: "fors"}).Write(dir)), "leaf0.batch: line 1")
}

// TestTablesByWhole: of parallel cables one is dead, or a whole switch: the commands for tables keep
// the names of the rest.
func TestTablesByWhole(t *testing.T) {
	whole := expect.Value(network.Parse("PGFT(2;2,3;1,2;1,2)", 0))(t)
	for down, want := range map[string][]string{"leaf0-spine0/0": {"spine0-1", "spine1-0", "spine1-1"}, "spine0": {"spine1-0", "spine1-1"}} {
		net := expect.Value(whole.Degrade([]string{down}))(t)
		tables := expect.Value(engines.OfNetwork(expect.Value(engines.Compute(engines.OpenSMMinHop, net, engines.Options{}))(t), whole))(t)
		b := expect.Value(OfTables(tables, engines.OpenSMMinHop))(t)
		var used []string
		for _, r := range b.routes[0].Routes {
			for _, p := range r.Via {
				if name := companion.PeerName(&b.tree.Live, 0, p); strings.HasPrefix(name, "spine") {
					used = append(used, name)
				}
			}
		}
		slices.Sort(used)
		expect.Equal(t, fmt.Sprint(slices.Compact(used)), fmt.Sprint(want), "cables of leaf0 without %s", down)
	}
}

// TestAddressesAreUnique over a large tree, gateways apart.
func TestAddressesAreUnique(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 36, Leaves: 40, Spines: 30})
	b := build(t, tree, plan.Options{Routing: "ftree"})
	seen := map[netip.Addr]string{}
	for n := range b.nodes() {
		for _, a := range b.addresses(companion.Node(n)) {
			at := a.prefix.Addr()
			who := b.Name(companion.Node(n)) + " " + a.iface
			other, ok := seen[at]
			expect.MustFalse(t, ok && at != gateway, "%s for both %s and %s", at, other, who)
			seen[at] = who
		}
	}
	want := 2*40*30 + 36*40*31 + 1
	expect.True(t, len(seen) == want, "%d addresses, want %d", len(seen), want)
}

// TestSwitches holds the switches of a tree against the address plan as written.
func TestSwitches(t *testing.T) {
	b := build(t, small(t), plan.Options{Schedule: "fors"})
	var text bytes.Buffer
	expect.Must(t, b.WriteAddresses(&text))
	want := map[string]string{}
	for line := range strings.Lines(text.String()) {
		if f := strings.Fields(line); f[len(f)-1] == "cable" {
			want[strings.TrimSuffix(f[2], "/31")] = f[0]
		}
	}
	got := Switches(b.tree)
	expect.True(t, len(want) == 2*3*2 && maps.Equal(got, want), "%v, want %v", got, want)
	if got := Switches(topologytest.Tree(t, topology.Options{Ports: 1, Leaves: 257})); len(got) > 0 {
		t.Errorf("%d addresses without room", len(got))
	}
}

func TestRefusals(t *testing.T) {
	wide := topology.Options{Ports: 15, Leaves: 14, Pods: 1} // 15 planes of 14 top switches
	for want, p := range map[string]*plan.Plan{
		"210 paths":         {Tree: topologytest.Tree(t, wide)},
		"have room for 256": {Tree: topologytest.Tree(t, topology.Options{Ports: 1, Leaves: 257})},
		"a packet filter":   {Tree: small(t), Routing: routing.Spray},
		"no tables":         {Tree: small(t), Routing: plan.NoRouting},
	} {
		expect.Error(t, expect.Err(NewBatch(p)), want)
	}
}

func FuzzPrefixes(f *testing.F) {
	f.Add("route replace 10.0.0.0/16 proto 201\nroute del 10.1.0.0/16\naddress replace 10.0.0.1/32 dev x\n")
	f.Add("route replace x")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := prefixes(strings.NewReader(s))
		expect.False(t, err == nil && len(got) > strings.Count(s, "route"), "%d prefixes of %q", len(got), s)
	})
}
