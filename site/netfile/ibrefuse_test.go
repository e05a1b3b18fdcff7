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

const tiny = `switchguid=0x100(100)
Switch 4 "S"  # "leaf" base port 0 lid 12 lmc 0
[1] "A"[1](11) # "a" lid 4 4xSDR
[2] "B"[1] # "b" lid 8 4xSDR

caguid=0x10
Ca 1 "A" # "a"
[1](11) "S"[1] # lid 4 lmc 2 "leaf" lid 12 4xSDR

caguid=0x20
Ca 2 "B" # "b"
[1](21) "S"[2] # lid 8 lmc 2 "leaf" lid 12 4xSDR
`

// TestReadRefuses changes one place of a good text at a time.
func TestReadRefuses(t *testing.T) {
	read(t, tiny)
	for _, c := range []struct{ what, old, new, want string }{
		{"empty", tiny, "", "no node in this text"},
		{"no hosts", tiny, "Switch 4 \"S\"\n", "no adapter has a cable"},
		{"nonsense", "Ca 1", "hello", `line 7: cannot read "hello`},
		{"kind", "Ca 1", "Tower 1", `line 7: unknown kind of node "Tower": there are Switch, Ca and Rt`},
		{"no quotes", `Ca 1 "A"`, `Ca 1 A`, `line 7: cannot read`},
		{"ports", "Switch 4", "Switch 255", "line 2: 255 ports: must be 1..254"},
		{"no ports", "Switch 4", "Switch 0", "line 2: 0 ports"},
		{"port first", "switchguid=0x100(100)", "[1] \"A\"[1]", `line 1: "[1] \"A\"[1]" before the first node`},
		{"port number", "[2] \"B\"", "[5] \"B\"", `line 4: port 5: "leaf" has ports 1..4`},
		{"port twice", "[2] \"B\"", "[1] \"B\"", `line 4: port 1 of "leaf" is given twice; first on line 3`},
		{"node twice", `Ca 2 "B"`, `Ca 2 "A"`, `line 11: node "A" is given twice; first on line 7`},
		{"GUID twice", "caguid=0x20", "caguid=0x10", `line 11: "b" has the GUID 0x0000000000000010 of the node on line 7`},
		{"port GUID twice", "[1](21)", "[1](11)", `line 12: port 1 of "b" has the GUID 0x0000000000000011 of the port on line 8`},
		{"GUID", "caguid=0x20", "caguid=zwanzig", `line 10: "zwanzig" is not a GUID`},
		{"GUID with more", "caguid=0x20", "caguid=0x20 0x30", `line 10: "0x30" follows a GUID`},
		{"nothing there", `"B"[1] #`, `"X"[1] #`, `line 4: port 2 of "leaf" leads to "X", which is not in this text`},
		{"one-sided", "[1](21) \"S\"[2]", "#", `line 4: port 2 of "leaf" leads to port 1 of "b" (line 11), which has no line of its own`},
		{"elsewhere", "[1](21) \"S\"[2]", "[1](21) \"S\"[3]", `line 4: port 2 of "leaf" leads to port 1 of "b", which leads to port 3 of "S" on line 12`},
		{"peer port", `"B"[1] #`, `"B"[3] #`, `line 4: port 2 of "leaf" leads to port 3 of "b", which has ports 1..2`},
		{"peer LID", "lid 4 4xSDR", "lid 5 4xSDR", `line 3: port 1 of "leaf" leads to LID 5, but "a" has LID 4 on line 8`},
		{"peer GUID", "[1](11) #", "[1](12) #", `line 3: port 1 of "leaf" leads to port GUID 0x0000000000000012`},
		{"two hosts", "[1](11) \"S\"[1]", "[1](11) \"B\"[2]", `which leads to port 2 of "B" on line 8`},
		{"host to host", tiny, "Ca 1 \"A\"\n[1] \"B\"\nCa 1 \"B\"\n[1] \"A\"\n", `line 2: port 1 of "A" leads to "B": there is no switch between two hosts`},
		{"LID twice", tiny, strings.ReplaceAll(tiny, "lid 12", "lid 5"), `line 2: "leaf" has LID 5, as the node on line 8`},
		{"not aligned", "# lid 8 lmc 2", "# lid 8 lmc 4", "LID 8 is not a multiple of 16"},
		{"LMC", "# lid 8 lmc 2", "# lid 8 lmc 8", "LMC 8: must be 0..7"},
		{"no LMC", "# lid 8 lmc 2", "# lid 8", `line 12: port 1 of "b": lid 8 without lmc`},
		{"left over", `[2] "B"[1] #`, `[2] "B"[1] x #`, `line 4: port 2 of "leaf": "x # `},
		{"long", "4xSDR", strings.Repeat("x", 1<<17), "line 3: longer than"},
	} {
		_, err := netfile.ReadIB(strings.NewReader(strings.Replace(tiny, c.old, c.new, 1)))
		expect.True(t, err != nil && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "\n"),
			"%s: error %v, want %q", c.what, err, c.want)
	}
}

// TestLIDsTooLarge: LMC 7 for a host near the end.
func TestLIDsTooLarge(t *testing.T) {
	s := strings.NewReplacer("lid 8 lmc 2", "lid 49152 lmc 7", "lid 8 4xSDR", "lid 49152 4xSDR").Replace(tiny)
	expect.Error(t, expect.Err(netfile.ReadIB(strings.NewReader(s))), "LID 49152 with LMC 7 reaches to 49279, beyond the last one, 49151")
}

// TestReadCut cuts a text off at many bytes: what is left is never taken for
// another network.
func TestReadCut(t *testing.T) {
	for _, whole := range []string{text(t, "ft2_4_8_lmc2.txt.gz"), text(t, "ft2_4_8_a_none.net.gz"), tiny} {
		want := facts(read(t, whole))
		tried, refused := 0, 0
		for i := range whole {
			if i%11 > 0 && i < len(whole)-500 { // all places of the last nodes, some of the others
				continue
			}
			tried++
			n, err := netfile.ReadIB(strings.NewReader(whole[:i]))
			if err != nil {
				refused++
				continue
			}
			if got := facts(n); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("cut after %d of %d bytes, another network is read: …%q", i, len(whole), whole[max(0, i-40):i])
			}
		}
		expect.True(t, refused >= tried*9/10, "%d of %d cuts refused", refused, tried)
	}
	_, err := netfile.ReadIB(strings.NewReader(tiny[:strings.Index(tiny, `"B"[1]`)+2]))
	expect.True(t, err != nil && strings.Contains(err.Error(), "line 4: ") && strings.Contains(err.Error(), "the text ends within this line"),
		"error %v", err)
}

func TestGUID2LIDRefuses(t *testing.T) {
	n := parse(t, "FT(1;2)", 0)
	var out bytes.Buffer
	expect.Must(t, netfile.WriteGUID2LID(&out, n))
	good := out.String()
	for _, c := range []struct{ old, new, want string }{
		{good, "", "no LID for \"h0\", port GUID 0x0002c90300000001"},
		{"0x0001 0x0001", "0x0001", "line 1: 2 fields"},
		{"0x0001 0x0001", "0x0001 0x0003", "must be 1, 2, 4"},
		{"0x0001 0x0001", "0x0001 0x0002", "line 1: \"h0\": LID 1 is not a multiple of 2"},
		{"0x0001 0x0001", "0x0002 0x0002", "line 3: \"h1\" has LID 2, as the node on line 1"},
		{"0x0001 0x0001", "0x0000 0x0000", "must be 1, 2, 4"},
		{"0x0001 0x0001", "0xffff 0xffff", "within 1..0xbfff"},
		{"0x0003 0x0003", "0x0004 0x0007", "line 5: switch \"s1_0\" with 4 LIDs"},
		{"0x0002c90300000001", "x", "line 1: \"x\" is not a GUID"},
		{"0x0002c90300000011", "0x0002c90300000001", "line 3: port GUID 0x0002c90300000001 is given twice; first on line 1"},
	} {
		expect.Error(t, expect.Err(netfile.ReadGUID2LID(strings.NewReader(strings.Replace(good, c.old, c.new, 1)), n)), c.want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(tiny)
	f.Add(report(parse(f, "FT(2;2,2)", 0), "s1_0/3"))
	for _, name := range []string{"ft2_4_8_lmc2.txt.gz", "ft2_4_8_a_none.net.gz"} {
		f.Add(text(f, name))
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := netfile.ReadIB(strings.NewReader(s))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := netfile.WriteIB(&out, n); err != nil {
			return
		}
		again, err := netfile.ReadIB(strings.NewReader(out.String()))
		expect.MustTrue(t, err == nil, "what is written cannot be read: %v\n%s", err, out.String())
		if len(again.Cables()) != len(n.Cables()) {
			t.Fatalf("%d cables, then %d", len(n.Cables()), len(again.Cables()))
		}
	})
}

func FuzzGUID2LID(f *testing.F) {
	n := parse(f, "FT(2;2,2)", 0)
	var out bytes.Buffer
	expect.Must(f, netfile.WriteGUID2LID(&out, n))
	f.Add(out.String())
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := netfile.ReadGUID2LID(strings.NewReader(s), n); err == nil && got.MaxLID() > 0xBFFF {
			t.Fatalf("LIDs to %d", got.MaxLID())
		}
	})
}

// report writes a network as a report of ports, as the source of ibnetdiscover has it. Ports
// named in slow are one lane wide.
func report(n *network.Network, slow string) string {
	var b strings.Builder
	kind := func(v network.Node) string {
		if n.IsHost(v) {
			return "CA"
		}
		return "SW"
	}
	for v := range network.Node(n.Nodes()) {
		ends, own := n.Ends(v), n.Info(v)
		for p := len(ends); p > 0; p-- {
			at, far := network.End{Node: v, Port: uint8(p)}, ends[p-1]
			if far.Node == network.NoNode {
				fmt.Fprintf(&b, "%2s %5d %2d 0x%016x %s %s%36s'%s'\n", kind(v), own.LID, p, own.Port, "??", "???", "", own.Name)
				continue
			}
			width, peer := "4x", n.Info(far.Node)
			if n.EndName(at) == slow || n.EndName(far) == slow {
				width = "1x"
			}
			fmt.Fprintf(&b, "%2s %5d %2d 0x%016x %s %s - %2s %5d %2d 0x%016x ( '%s' - '%s' )\n",
				kind(v), own.LID, p, own.Port, width, "HDR", kind(far.Node), peer.LID, far.Port, peer.Port, own.Name, peer.Name)
		}
	}
	return b.String()
}

// A report of ports has the cables, names, LIDs and rates of the network.
func TestReadPorts(t *testing.T) {
	want := parse(t, "FT(2;3,4)", 0, "leaf1-spine2")
	n := read(t, "# a comment\n"+report(want, "s1_0/5"))
	expect.MustFalse(t, n.Hosts() != want.Hosts() || n.Switches() != want.Switches() || len(n.Cables()) != len(want.Cables()),
		"%d hosts, %d switches, %d cables", n.Hosts(), n.Switches(), len(n.Cables()))
	for i, c := range n.Cables() {
		rate := 200e9
		if n.EndName(c.A) == "s1_0/5" {
			rate = 50e9
		}
		if c != want.Cables()[i] || n.Rate(c.A) != rate || n.Rate(c.B) != rate {
			t.Errorf("%s: %v, want %v; rate %v", n.CableName(c), c, want.Cables()[i], n.Rate(c.A))
		}
	}
	for v := range network.Node(n.Nodes()) {
		a, b := n.Info(v), want.Info(v)
		expect.True(t, a.Name == b.Name && a.LID == b.LID && a.Port == b.Port, "%+v, want %+v", a, b)
	}
	expect.Equal(t, n.UsualRate(n.SwitchCables()), 200e9, "usual rate")
}

func TestReadPortsRefuses(t *testing.T) {
	good := report(parse(t, "FT(2;2,2)", 0), "")
	first, rest, _ := strings.Cut(good, "\n")
	for name, x := range map[string][2]string{
		"a line is missing": {rest, "which is not in this text"},
		"a line twice":      {good + first + "\n", "is given twice"},
		"another line":      {good + "hello\n", "no line of a report of ports"},
		"cut":               {good[:len(good)-20], "the text ends within this line"},
		"no port":           {strings.Replace(good, "  1 0x", "  0 0x", 1), "a port is 1..254"},
	} {
		if _, err := netfile.ReadIB(strings.NewReader(x[0])); err == nil || !strings.Contains(err.Error(), x[1]) {
			t.Errorf("%s: error %v, want %q", name, err, x[1])
		}
	}
}

// What ibnetdiscover (infiniband-diags 44) and ibnetdiscover -p print of one network over ibsim, with a cable of one lane and one
// at SDR among those at EDR, is the same network with the same rates.
func TestReadSlow(t *testing.T) {
	n, report := read(t, text(t, "ft2_4_4_slow.txt.gz")), read(t, text(t, "ft2_4_4_slow.ports.gz"))
	expect.MustFalse(t, len(n.Cables()) != 32 || len(report.Cables()) != 32, "%d and %d cables", len(n.Cables()), len(report.Cables()))
	for i, c := range n.Cables() {
		rate := 100e9
		switch n.CableName(c) {
		case "s2_1/3":
			rate = 25e9
		case "s1_0/8":
			rate = 8e9
		}
		if report.Cables()[i] != c || report.CableName(c) != n.CableName(c) || n.Rate(c.A) != rate || report.Rate(c.B) != rate {
			t.Errorf("%s: %v, %v, want %v", n.CableName(c), n.Rate(c.A), report.Rate(c.B), rate)
		}
	}
	for v := range network.Node(n.Nodes()) {
		a, b := n.Info(v), report.Info(v)
		expect.True(t, a.Name == b.Name && a.LID == b.LID, "%+v and %+v", a, b)
	}
}

// ibnetdiscover states width and speed behind the LID of the far end.
func TestReadRates(t *testing.T) {
	n := read(t, text(t, "ft2_4_8_nofail.txt.gz"))
	for _, c := range n.Cables() {
		if n.Rate(c.A) != 8e9 || n.Rate(c.B) != 8e9 {
			t.Fatalf("%s: %v", n.CableName(c), n.Rate(c.A))
		}
	}
	if n = n.Without(n.SwitchCables()[:1], nil); n.Rate(n.SwitchCables()[0].B) != 8e9 {
		t.Error("without a cable, the others have no rate")
	}
	if n = parse(t, "FT(2;2,2)", 0); n.UsualRate(n.Cables()) != 0 {
		t.Error("a notation has a rate")
	}
}

// Chips of switches that no cable joins are planes of XDR: one network with the rates of all, if they are alike.
func TestXDRPlanes(t *testing.T) {
	plane := func(u int, row string) string {
		return fmt.Sprintf("\"MF0;leaf:Q3400/U%d\", NVIDIA, 0x00000000000000a%d, LID %d\n", u, u, u) +
			fmt.Sprintf("sw1p1 : 1 : ACT : LINK UP : 5 : 1x : 200 : RS : NO-RTR : 0x00000000000000b%d : 1 : %d : \"n1 mlx5_0\"\n", u, 10+u) +
			fmt.Sprintf(row, u, 20+u)
	}
	const second = "sw2p1 : 2 : ACT : LINK UP : 5 : 1x : 200 : RS : NO-RTR : 0x00000000000000c%d : 1 : %d : \"n2 mlx5_0\"\n"
	n := expect.Value(netfile.ReadNetDump(strings.NewReader(plane(1, second) + plane(2, second))))(t)
	expect.True(t, n.Hosts() == 2 && n.Switches() == 1 && n.Rate(network.End{Node: 0, Port: 1}) == 400e9, "%d hosts, %d switches, %v", n.Hosts(), n.Switches(), n.Rate(network.End{Node: 0, Port: 1}))
	expect.Equal(t, strings.Join(n.Notes, "; "), "2 planes of XDR are taken for one network, each cable for 2 of 200 Gbit/s", "notes")
	_, err := netfile.ReadNetDump(strings.NewReader(plane(1, second) + plane(2, "sw2p1 : 2 : DOWN : POLL : N/A : N/A : N/A : N/A : N/A : : : :%.0d%.0d\n")))
	expect.Error(t, err, "planes of XDR: chips U1 to U2 of the switches are networks of their own, and the cables of U1 and U2 differ: give one plane alone")
	// The chips of a large switch are joined by cables.
	_, err = netfile.ReadNetDump(strings.NewReader(plane(1, second) + plane(2, "sw9p1 : 9 : ACT : LINK UP : 5 : 4x : 50 : RS : NO-RTR : 0x00000000000000a1 : sw9p1 : 1 : \"MF0;leaf:Q3400/U1\"%.0d%.0d\n")))
	expect.Error(t, err, "leads to port \"sw9p1\"")
}

// Two subnets in one text count their LIDs each from one.
func TestTwoSubnetsOfOneText(t *testing.T) {
	one := func(k int) string {
		return fmt.Sprintf("Switch 4 \"S-%d\" # \"sw%d\" base port 0 lid 1 lmc 0\n[1] \"H-%d1\"[1] # \"a%d\" lid 2\n[2] \"H-%d2\"[1] # \"b%d\" lid 3\n", k, k, k, k, k, k) +
			fmt.Sprintf("Ca 1 \"H-%d1\" # \"a%d\"\n[1] \"S-%d\"[1] # lid 2 lmc 0 \"sw%d\" lid 1\nCa 1 \"H-%d2\" # \"b%d\"\n[1] \"S-%d\"[2] # lid 3 lmc 0 \"sw%d\" lid 1\n", k, k, k, k, k, k, k, k)
	}
	_, err := netfile.ReadIB(strings.NewReader(one(1) + one(2)))
	expect.Error(t, err, "line 12: \"a2\" has LID 2 twice: these are two subnets, which no cable joins; give the file of each, -t A,B")
}
