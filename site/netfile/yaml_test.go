package netfile_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
)

func readYAML(t testing.TB, s string) *network.Network {
	t.Helper()
	n := expect.Value(netfile.ReadYAML(strings.NewReader(s)))(t)
	return n
}

func write(t testing.TB, n *network.Network) string {
	t.Helper()
	var out bytes.Buffer
	expect.Must(t, netfile.WriteYAML(&out, n))
	return out.String()
}

// sameYAML compares all but the notation.
func sameYAML(a, b *network.Network) error {
	if a.Hosts() != b.Hosts() || a.Nodes() != b.Nodes() || a.Others() != b.Others() {
		return fmt.Errorf("%d hosts of %d nodes, %d others; %d of %d, %d", a.Hosts(), a.Nodes(), a.Others(), b.Hosts(), b.Nodes(), b.Others())
	}
	for i := range a.Others() {
		if x, y := a.Other(i), b.Other(i); a.Info(x) != b.Info(y) || a.Leaf(x) != b.Leaf(y) || a.IsRouter(x) != b.IsRouter(y) {
			return fmt.Errorf("%v at %v, want %v at %v", a.Info(x), a.Leaf(x), b.Info(y), b.Leaf(y))
		}
	}
	for v := range network.Node(a.Nodes()) {
		if a.Info(v) != b.Info(v) || fmt.Sprint(a.Ends(v)) != fmt.Sprint(b.Ends(v)) {
			return fmt.Errorf("node %d: %v %v, want %v %v", v, a.Info(v), a.Ends(v), b.Info(v), b.Ends(v))
		}
	}
	return nil
}

const golden = `# PGFT(2;1,2;1,1;1,1)
hosts:
  - {name: h0, guid: 0x0002c90300000000, port_guid: 0x0002c90300000001, lid: 2, lmc: 1}
  - {name: h1, guid: 0x0002c90300000010, port_guid: 0x0002c90300000011, lid: 4, lmc: 1}
switches:
  - {name: s1_0, guid: 0x0002c90401000000, ports: 2, lid: 6}
  - {name: s1_1, guid: 0x0002c90401000001, ports: 2, lid: 7}
  - {name: s2_0, guid: 0x0002c90402000000, ports: 2, lid: 8}
cables:
  - [h0, s1_0/1]
  - [h1, s1_1/1]
  - [s1_0/2, s2_0/1]
  - [s1_1/2, s2_0/2]
`

func TestWrite(t *testing.T) {
	expect.Equal(t, write(t, parse(t, "FT(2;1,2)", 1)), golden, "got")
}

func TestReadNotation(t *testing.T) {
	n := readYAML(t, "notation: FT(2;4,8)\nlmc: 2\ndown: [leaf0-spine0, s2_3, s1_5/6]\n")
	expect.OK(t, sameYAML(n, parse(t, "FT(2;4,8)", 2, "s1_0/5", "s2_3", "s1_5/6")))
}

// TestReadShort reads what a person would write.
func TestReadShort(t *testing.T) {
	n := readYAML(t, `
hosts: [{name: h0}, {name: h1}]
switches:
  - name: sw
    ports: 36
cables:
  - [h0, sw/1]
  - [sw/2, h1/1]
lmc: 1
down: [h1]
`)
	h := n.Info(1)
	expect.True(t, h.GUID == 0x0002c90300000010 && h.Port == 0x0002c90300000011 && h.LID == 4 && h.LMC == 1, "h1 is %+v", h)
	if n.Info(2).LID != 6 || n.Leaf(0).Node != 2 || !n.Isolated(1) {
		t.Errorf("sw is %+v, %v", n.Info(2), n.Ends(2)[:3])
	}
}

func TestRoundTripYAML(t *testing.T) {
	var b network.Builder
	for i, name := range []string{"true", "0x10", "a: b", `"`, "twin", "twin", "Ω", "", "h/1"} {
		b.Host(network.Info{Name: name, GUID: 0x10, Port: 0x11 + uint64(i)})
	}
	b.Switch(network.Info{Name: "sw-1", GUID: 0x100, Port: 0x101}, 40)
	b.Switch(network.Info{Name: "twin", GUID: 0x200, Port: 0x200}, 40)
	for h := range 9 {
		expect.Must(t, b.Cable(network.End{Node: network.Node(h), Port: 1}, network.End{Node: network.Node(9 + h%2), Port: uint8(1 + h)}))
	}
	networks := []*network.Network{b.Build(), parse(t, "FT(1;1)", 7), parse(t, "QFT(3;4,2,4;1,2,4;1,2,1)", 2)}
	big := parse(t, "PGFT(3;4,2,8;1,2,4;1,2,1)", 1)
	for seed := range uint64(20) {
		dead := expect.Value(big.Random(int(seed), seed))(t)
		networks = append(networks, big.Without(dead, []network.Node{network.Node(seed), big.Switch(int(seed))}))
	}
	for i, n := range networks {
		text := write(t, n)
		again, err := netfile.ReadYAML(strings.NewReader(text))
		if err != nil {
			t.Errorf("network %d: %v\n%.2000s", i, err, text)
			continue
		}
		expect.OK(t, sameYAML(again, n), "network %d", i)
	}
}

func TestReadRefusesYAML(t *testing.T) {
	for _, c := range []struct{ what, old, new, want string }{
		{"empty", golden, "", "empty; write a notation"},
		{"not YAML", golden, "a: [", "line 1: "},
		{"a list", golden, "- 1", "line 1: is a list; write fields"},
		{"alias", "lid: 2,", "lid: &a 2,", ""},
		{"alias into itself", golden, "hosts: &a [*a]", "nodes or 32 levels once its aliases are followed"},
		{"aliased", "guid: 0x0002c90401000001", "guid: *x", "unknown anchor 'x'"},
		{"unknown field", "lid: 6", "lids: 6", `line 6: switches[0].lids: unknown field; did you mean lid? there are guid, lid, name, port_guid, ports`},
		{"twice", "ports: 2, lid: 6", "ports: 2, ports: 2", `line 6: switches[0].ports: given twice; first on line 6`},
		{"top", "cables:", "cable:", `line 9: cable: unknown field; did you mean cables? there are cables, down`},
		{"both", "hosts:", "notation: FT(2;4,8)\nhosts:", "hosts: notation already states this"},
		{"notation", golden, "notation: FT(2;4", "line 1: notation: network"},
		{"no name", "name: s1_0, ", "", "line 6: switches[0]: name is missing"},
		{"no ports", ", ports: 2", "", "line 6: switches[0]: ports is missing"},
		{"ports", "ports: 2", "ports: 255", `line 6: switches[0].ports: "255": write a whole number 1..254`},
		{"name", "name: h1", "name: [h1]", "line 4: hosts[1].name: is a list; write a single value"},
		{"control", "name: h1", `name: "h\n1"`, "line 4: hosts[1].name: "},
		{"guid", "0x0002c90300000010", "x10", `line 4: hosts[1].guid: "x10": write a GUID`},
		{"guid of a host", "0x0002c90401000000", "0x0002c90300000000", "line 6: switches[0]: has the GUID 0x0002c90300000000 of hosts[0]"},
		{"guid of a switch", "0x0002c90401000000", "0x0002c90401000001", "line 7: switches[1]: has the GUID 0x0002c90401000001 of switches[0]"},
		{"port guid", "0x0002c90300000011", "0x0002c90300000001", "line 4: hosts[1]: has the port GUID 0x0002c90300000001 of hosts[0]"},
		{"lid", "lid: 7", "lid: 5", "line 7: switches[1].lid: LID 5 is also that of hosts[1]"},
		{"lid range", "lid: 7", "lid: 49152", "0..49151"},
		{"lmc range", "lmc: 1", "lmc: 8", `hosts[0].lmc: "8"`},
		{"lid not aligned", "lid: 4, lmc: 1", "lid: 4, lmc: 3", "line 4: hosts[1].lid: LIDs 4..11: must be within 1..49151, and the first a multiple of 8"},
		{"lmc and lids", "hosts:", "lmc: 1\nhosts:", "lmc: nodes have LIDs"},
		{"cable", "[s1_0/2, s2_0/1]", "[s1_0/2]", "line 12: cables[2]: 1 ends; write [s1_0/5, s2_0/1]"},
		{"no cable", "[s1_0/2, s2_0/1]", "s1_0/2", "line 12: cables[2]: is the single value \"s1_0/2\"; write a list"},
		{"no node", "[s1_0/2, s2_0/1]", "[s1_0/2, s9/1]", `line 12: cables[2][1]: no node "s9"`},
		{"no port", "[s1_0/2, s2_0/1]", "[s1_0/3, s2_0/1]", `line 12: cables[2][0]: "s1_0/3": "s1_0" has ports 1..2`},
		{"port missing", "[s1_0/2, s2_0/1]", "[s1_0, s2_0/1]", `line 12: cables[2][0]: "s1_0" is not a port`},
		{"port taken", "[s1_0/2, s2_0/1]", "[s1_0/1, s2_0/1]", "line 12: cables[2]: port 1 of s1_0 has a cable already"},
		{"two hosts", "[h0, s1_0/1]", "[h0, h1]", "cables[0]: there is no switch between two hosts"},
		{"down", "cables:", "down: [s9]\ncables:", `line 9: down[0]: no node, port or cable "s9"`},
		{"no hosts", "hosts:", "hosts: []\n#", ""},
	} {
		_, err := netfile.ReadYAML(strings.NewReader(strings.Replace(golden, c.old, c.new, 1)))
		switch {
		case c.what == "alias" && err != nil:
			t.Error(err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: error %v, want %q", c.what, err, c.want)
		case c.what == "no hosts" && err == nil:
			t.Error("a network without hosts")
		}
	}
}

func FuzzReadYAML(f *testing.F) {
	f.Add(golden)
	f.Add("notation: FT(2;4,8)\nlmc: 2\ndown: [leaf0-spine0]\n")
	f.Add("hosts: [{name: h0}]\nswitches: [{name: s, ports: 3}]\ncables: [[h0, s/1]]\nlmc: 1\n")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := netfile.ReadYAML(strings.NewReader(s))
		if err != nil {
			return
		}
		again, err := netfile.ReadYAML(strings.NewReader(write(t, n)))
		if err != nil {
			t.Fatalf("what is written cannot be read: %v\n%s", err, write(t, n))
		}
		expect.Must(t, sameYAML(again, n))
	})
}
