package netfile_test

import (
	"fmt"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

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
	if n.Hosts() != want.Hosts() || n.Switches() != want.Switches() || len(n.Cables()) != len(want.Cables()) {
		t.Fatalf("%d hosts, %d switches, %d cables", n.Hosts(), n.Switches(), len(n.Cables()))
	}
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
		if a, b := n.Info(v), want.Info(v); a.Name != b.Name || a.LID != b.LID || a.Port != b.Port {
			t.Errorf("%+v, want %+v", a, b)
		}
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
	if len(n.Cables()) != 32 || len(report.Cables()) != 32 {
		t.Fatalf("%d and %d cables", len(n.Cables()), len(report.Cables()))
	}
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
		if a, b := n.Info(v), report.Info(v); a.Name != b.Name || a.LID != b.LID {
			t.Errorf("%+v and %+v", a, b)
		}
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
