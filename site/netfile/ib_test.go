package netfile_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
)

// text returns what a file of testdata holds.
func text(t testing.TB, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	expect.Must(t, err)
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	data := expect.Value(io.ReadAll(r))(t)
	return string(data)
}

func read(t testing.TB, s string) *network.Network {
	t.Helper()
	n := expect.Value(netfile.ReadIB(strings.NewReader(s)))(t)
	return n
}

func parse(t testing.TB, notation string, lmc int, down ...string) *network.Network {
	t.Helper()
	n, err := network.Parse(notation, lmc)
	expect.Must(t, err)
	if n, err = n.Degrade(down); err != nil {
		t.Fatal(err)
	}
	return n
}

// facts are what there is to know about a network: a line for each node and each
// cable. Nodes without cables are left out where the text form does it too.
func facts(n *network.Network) []string {
	var out []string
	for v := range network.Node(n.Nodes()) {
		if !n.Isolated(v) {
			out = append(out, fmt.Sprintf("%v host %v ports %d", n.Info(v), n.IsHost(v), len(n.Ends(v))))
		}
	}
	for i := range n.Others() {
		out = append(out, fmt.Sprintf("%v at %s", n.Info(n.Other(i)), n.EndName(n.Leaf(n.Other(i)))))
	}
	for _, c := range n.Cables() {
		a, b := n.EndName(c.A), n.EndName(c.B)
		out = append(out, min(a, b)+" "+max(a, b))
	}
	slices.Sort(out)
	return out
}

func same(t *testing.T, what string, got, want *network.Network) {
	t.Helper()
	a, b := facts(got), facts(want)
	for i := range max(len(a), len(b)) {
		x, y := "nothing", "nothing"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			t.Errorf("%s: %s, want %s", what, x, y)
			return
		}
	}
}

// TestReadDiscovered reads what ibnetdiscover has printed of simulated networks:
// the same nodes under the same numbers, and the same cables.
func TestReadDiscovered(t *testing.T) {
	for _, c := range []struct {
		file string
		want *network.Network
	}{
		{"ft2_4_8_nofail.txt.gz", parse(t, "FT(2;4,8)", 0)},
		{"ft2_4_8_lmc2.txt.gz", parse(t, "FT(2;4,8)", 2)},
		{"ft2_4_8_c_l0s0_l5s1_l3s2.txt.gz", parse(t, "FT(2;4,8)", 0, "leaf0-spine0", "leaf5-spine1", "leaf3-spine2")},
		{"ft2_20_18_nofail.txt.gz", parse(t, "FT(2;20,18)", 0)},
		{"qft3_lmc1_down.txt.gz", parse(t, "QFT(3;4,2,4;1,2,4;1,2,1)", 1, "s1_1/5", "s1_6/5", "s1_6/6", "s2_0/8", "s2_2/5", "s2_3/6")},
	} {
		n := read(t, text(t, c.file))
		same(t, c.file, n, c.want)
		for v := range network.Node(n.Nodes()) {
			expect.Equal(t, n.Info(v), c.want.Info(v), "%s: node %d", c.file, v)
		}
	}
}

// TestReadSim reads what ibsim was given, and its LIDs.
func TestReadSim(t *testing.T) {
	for _, c := range []struct {
		file, lids string
		want       *network.Network
	}{
		{"ft2_4_8_a_none.net.gz", "ft2_4_8.guid2lid", parse(t, "FT(2;4,8)", 0)},
		{"ft2_4_8_a_none.net.gz", "ft2_4_8_lmc2.guid2lid", parse(t, "FT(2;4,8)", 2)},
		{"ft2_4_8_c_l0s0_l5s1_l3s2.net.gz", "ft2_4_8.guid2lid", parse(t, "FT(2;4,8)", 0, "s1_0/5", "s1_5/6", "s1_3/7")},
		{"pgft3_4_4_4.net.gz", "pgft3_4_4_4.guid2lid", parse(t, "FT(3;4,4,4)", 0)},
	} {
		n, err := netfile.ReadGUID2LID(strings.NewReader(text(t, c.lids)), read(t, text(t, c.file)))
		if err != nil {
			t.Error(err)
			continue
		}
		same(t, c.file, n, c.want)
	}
}

func TestWriteGUID2LID(t *testing.T) {
	for file, n := range map[string]*network.Network{
		"ft2_4_8.guid2lid": parse(t, "FT(2;4,8)", 0), "ft2_4_8_lmc2.guid2lid": parse(t, "FT(2;4,8)", 2), "pgft3_4_4_4.guid2lid": parse(t, "FT(3;4,4,4)", 0),
	} {
		var out bytes.Buffer
		if err := netfile.WriteGUID2LID(&out, n); err != nil || out.String() != text(t, file) {
			t.Errorf("%s: another file is written, %v:\n%.200s", file, err, out.String())
		}
	}
}

// TestWriteDiscovered: block by block, what ibnetdiscover prints, but for the
// speeds of cables.
func TestWriteDiscovered(t *testing.T) {
	for file, n := range map[string]*network.Network{
		"ft2_4_8_nofail.txt.gz": parse(t, "FT(2;4,8)", 0), "ft2_4_8_lmc2.txt.gz": parse(t, "FT(2;4,8)", 2),
		"ft2_4_8_c_l0s0_l5s1_l3s2.txt.gz": parse(t, "FT(2;4,8)", 0, "s1_0/5", "s1_5/6", "s1_3/7"),
	} {
		var out bytes.Buffer
		expect.Must(t, netfile.WriteIB(&out, n))
		blocks := func(s string) []string {
			b := strings.Split(strings.TrimSpace(strings.ReplaceAll(s, " 4xSDR", "")), "\n\n")
			return slices.Sorted(slices.Values(b[1:])) // without the heading
		}
		got, want := blocks(out.String()), blocks(text(t, file))
		for i := range want {
			// The system image GUID is a matter of ibsim.
			if i >= len(got) || trim(got[i]) != trim(want[i]) {
				t.Fatalf("%s: block\n%s\nwant\n%s", file, got[min(i, len(got)-1)], want[i])
			}
		}
	}
}

func trim(block string) string {
	lines := strings.Split(block, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return strings.HasPrefix(s, "sysimgguid") }), "\n")
}

// TestWriteSim: block by block what ibsim was given.
func TestWriteSim(t *testing.T) {
	for file, n := range map[string]*network.Network{
		"ft2_4_8_a_none.net.gz": parse(t, "FT(2;4,8)", 0), "pgft3_4_4_4.net.gz": parse(t, "FT(3;4,4,4)", 0),
		"ft2_4_8_c_l0s0_l5s1_l3s2.net.gz": parse(t, "FT(2;4,8)", 0, "s1_0/5", "s1_5/6", "s1_3/7"),
	} {
		var out bytes.Buffer
		expect.Must(t, netfile.WriteSim(&out, n))
		blocks := func(s string) []string {
			_, s, _ = strings.Cut(s, "\n") // the heading
			return slices.Sorted(slices.Values(strings.Split(strings.TrimSpace(s), "\n\n")))
		}
		got, want := blocks(out.String()), blocks(text(t, file))
		expect.True(t, slices.Equal(got, want), "%s: another network is written", file)
	}
}

// odd is a network with everything a tidy one has not: an adapter with two
// ports, names that occur twice or cannot be written, unused ports, two cables
// between switches, a cable from a switch to itself, nodes without cables.
func odd(t testing.TB) *network.Network {
	t.Helper()
	var b network.Builder
	for i, in := range []network.Info{
		{Name: "node 1 HCA-1:1", GUID: 0x10, Port: 0x11, LID: 4, LMC: 2},
		{Name: "node 1 HCA-1:3", GUID: 0x10, Port: 0x13, LID: 8, LMC: 2},
		{Name: "MT4129", GUID: 0x20, Port: 0x21, LID: 12, LMC: 0},
		{Name: "MT4129", GUID: 0x30, Port: 0x31, LID: 13, LMC: 0},
		{Name: `with "quotes", lid 7`, GUID: 0x40, Port: 0x41, LID: 14, LMC: 1},
		{Name: "bare", GUID: 0x50, Port: 0x51, LID: 16},
	} {
		h := b.Host(in)
		expect.MustTrue(t, int(h) == i, "%v", h)
	}
	for i, name := range []string{"MF0;sw-1:MSX6036/U1", "#2", "alone"} {
		b.Switch(network.Info{Name: name, GUID: 0x100 + uint64(i), Port: 0x100 + uint64(i), LID: uint16(20 + i)}, 12+i)
	}
	end := func(v, p int) network.End { return network.End{Node: network.Node(v), Port: uint8(p)} }
	for _, c := range [][2]network.End{
		{end(0, 1), end(6, 1)}, {end(1, 1), end(7, 2)}, {end(2, 1), end(6, 12)}, {end(3, 1), end(7, 13)}, {end(4, 1), end(7, 5)},
		{end(6, 5), end(7, 6)}, {end(6, 6), end(7, 7)}, {end(6, 8), end(6, 9)},
	} {
		expect.Must(t, b.Cable(c[0], c[1]))
	}
	return b.Build()
}

// TestRoundTrip writes and reads networks: nothing but isolated nodes is lost,
// and a second round changes no byte.
func TestRoundTrip(t *testing.T) {
	networks := []*network.Network{odd(t), parse(t, "FT(1;3)", 0), parse(t, "QFT(3;4,2,4;1,2,4;1,2,1)", 3)}
	big := parse(t, "PGFT(3;4,2,8;1,2,4;1,2,1)", 1)
	for seed := range uint64(20) {
		dead := expect.Value(big.Random(int(seed), seed))(t)
		networks = append(networks, big.Without(dead, []network.Node{network.Node(seed), big.Switch(int(seed))}))
	}
	for i, n := range networks {
		what := fmt.Sprintf("network %d, %s", i, cmp.Or(n.Notation, "odd"))
		again := rewrite(t, netfile.WriteIB, n)
		same(t, what, again, n)
		same(t, what+", sim", withLIDs(t, rewrite(t, netfile.WriteSim, n), n), n)
		var first, second bytes.Buffer
		expect.Must(t, netfile.WriteIB(&first, again))
		if err := netfile.WriteIB(&second, rewrite(t, netfile.WriteIB, again)); err != nil || first.String() != second.String() {
			t.Errorf("%s: a second round changes the text, %v", what, err)
		}
	}
}

func rewrite(t *testing.T, write func(io.Writer, *network.Network) error, n *network.Network) *network.Network {
	t.Helper()
	var out bytes.Buffer
	expect.Must(t, write(&out, n))
	return read(t, out.String())
}

// withLIDs gives a network the LIDs of another, through a file guid2lid.
func withLIDs(t *testing.T, n, from *network.Network) *network.Network {
	t.Helper()
	var pins bytes.Buffer
	expect.Must(t, netfile.WriteGUID2LID(&pins, from))
	out := expect.Value(netfile.ReadGUID2LID(&pins, n))(t)
	return out
}

func TestWriteRefuses(t *testing.T) {
	n := parse(t, "FT(2;2,2)", 0)
	info := make([]network.Info, n.Nodes())
	for v := range info {
		info[v] = n.Info(network.Node(v))
	}
	info[5].GUID = info[4].GUID
	expect.Error(t, netfile.WriteIB(io.Discard, n.WithInfo(info)), `"s1_0" and "s1_1" have one GUID`)
	info[5].GUID++
	info[1].GUID, info[1].Port = info[0].GUID, info[0].Port+0x1000 // one adapter
	expect.Error(t, netfile.WriteSim(io.Discard, n.WithInfo(info)), "one after the other")
	expect.OK(t, netfile.WriteIB(io.Discard, n.WithInfo(info)), "ibnetdiscover writes GUIDs of ports")
}

// TestSimPortGUID: adapters whose port has the node's GUID, as newer ones have,
// keep the port's in ibsim.
func TestSimPortGUID(t *testing.T) {
	n := parse(t, "FT(2;2,2)", 0)
	info := make([]network.Info, n.Nodes())
	for v := range info {
		info[v] = n.Info(network.Node(v))
		info[v].Port = info[v].GUID
	}
	n = n.WithInfo(info)
	same(t, "discovered", rewrite(t, netfile.WriteIB, n), n)
	for v, i := range info {
		if got := rewrite(t, netfile.WriteSim, n).Info(network.Node(v)).Port; !slices.ContainsFunc(info, func(x network.Info) bool { return x.Port == got }) {
			t.Errorf("%s has port GUID 0x%x", i.Name, got)
		}
	}
}

// A name of a file has no control characters, as it goes into terminals, plans, tables and scripts; both spellings find it.
func TestNamesAreText(t *testing.T) {
	built := expect.Value(netfile.Read("FT(2;2,2)", 0))(t)
	var b bytes.Buffer
	expect.Must(t, netfile.WriteIB(&b, built.Net))
	n := expect.Value(netfile.ReadIB(strings.NewReader(strings.ReplaceAll(b.String(), `"h1"`, "\"h1\x1b[31mX\xe9\""))))(t)
	const is = `h1\x1b[31mX\xe9`
	expect.Equal(t, n.Name(1), is, "name")
	for _, name := range []string{is, "h1\x1b[31mX\xe9"} {
		expect.Equal(t, expect.Value(network.Names(n).Node(name))(t), network.Node(1), "%q", name)
	}
}
