package lft_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"evbench/site/engines/opensm"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
)

func equal(a, b *lft.Tables) bool {
	if a.LIDs != b.LIDs || a.Lanes() != b.Lanes() {
		return false
	}
	for i := range a.Net.Switches() {
		s := a.Net.Switch(i)
		for lid := range a.LIDs {
			if a.Port(s, lid) != b.Port(s, lid) || a.Lane(s, lid) != b.Lane(s, lid) {
				return false
			}
		}
	}
	return true
}

func dumped(t testing.TB, tables *lft.Tables) string {
	t.Helper()
	var b strings.Builder
	expect.Must(t, tables.WriteDump(&b))
	return b.String()
}

// TestDumpIsOpenSMs compares with a dump of OpenSM but for the words "Channel
// Adapter" and "Switch", which are a remark there.
func TestDumpIsOpenSMs(t *testing.T) {
	b := unzip(t, "testdata/file/opensm-lfts.dump.gz")
	n := parseNetwork(t, "FT(2;4,8)", 0)
	tables := expect.Value(lft.ReadDump(bytes.NewReader(b), n))(t)
	ref := reference{Topo: "ft2_4_8", Scen: "a_none", Eng: "ftree"}.load(t)
	expect.True(t, equal(tables, ref), "the dump and the table differ")
	want := strings.NewReplacer("# Channel Adapter ", "# ", "# Switch ", "# ").Replace(string(b))
	var blocks []string // OpenSM's order of switches is that of a hash
	for _, x := range strings.SplitAfter(want, " lids dumped\n") {
		if x != "" && !strings.Contains(dumped(t, tables), x) {
			blocks = append(blocks, x)
		}
	}
	if len(blocks) > 0 || len(dumped(t, tables)) != len(want) {
		t.Errorf("%d bytes, not %d; not in it:\n%s", len(dumped(t, tables)), len(want), strings.Join(blocks, "\n"))
	}
}

// TestReadFiles reads files for OpenSM's engine "file", good ones and bad, and
// what dump_lfts says that switches have.
func TestReadFiles(t *testing.T) {
	lids := expect.Value(os.Open("testdata/file/ft2_4_8_lmc2.guid2lid"))(t)
	defer lids.Close()
	n := parseNetwork(t, "FT(2;4,8)", 0)
	four := expect.Value(netfile.ReadGUID2LID(lids, n))(t)
	cut := expect.Value(four.Degrade([]string{"s1_0/5"}))(t)
	for _, c := range []struct {
		file, back string
		n          *network.Network
		unreach    int64 // -1: any
		err        string
	}{
		{"perm.lfts", "perm.dump_lfts.txt", n, 0, ""},
		{"fors.lfts", "lmc2_fors.dump_lfts.txt", four, 0, ""},
		{"deadport.lfts", "", cut, -1, ""},
		{"missing.lfts", "", four, -1, ""},
		{"badport.lfts", "", n, 0, `line 6: LID 5: port "099": s1_0 has ports 0..8`},
	} {
		t.Run(c.file, func(t *testing.T) {
			tables, err := lft.ReadDump(bytes.NewReader(unzip(t, "testdata/file/ft2_4_8_"+c.file+".gz")), c.n)
			if c.err != "" {
				expect.MustTrue(t, err != nil && err.Error() == c.err, "%v, want %s", err, c.err)
				return
			}
			expect.Must(t, err)
			r := lft.Check(tables, lft.Options{})
			expect.False(t, c.unreach >= 0 && r.Unreachable != c.unreach || c.unreach < 0 && r.Unreachable == 0 && r.MissingEntries == 0, "%+v", r)
			if c.back == "" {
				return
			}
			back := expect.Value(lft.ReadDump(bytes.NewReader(unzip(t, "testdata/file/ft2_4_8_"+c.back+".gz")), c.n))(t)
			d, err := lft.Diff(tables, back)
			expect.True(t, err == nil && d.Hosts == 0 && d.Lost == 0, "what was written and what was read back differ: %+v, %v", d, err)
		})
	}
}

func TestRoundTrips(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := somewhere(t, rng)
		tables := arbitrary(n, rng, 0)
		back, err := lft.Read(strings.NewReader(dumped(t, tables)), n)
		expect.MustTrue(t, err == nil && equal(back, tables), "seed %d: dump: %v", seed, err)
		if seed%2 == 0 {
			for i := range n.Switches() {
				for lid := range tables.LaneRow(i) {
					tables.LaneRow(i)[lid] = uint8(rng.IntN(lft.MaxLanes))
				}
			}
		}
		var b bytes.Buffer
		expect.Must(t, tables.WriteJSON(&b))
		if back, err = lft.Read(&b, n); err != nil || !equal(back, tables) || back.Engine != tables.Engine {
			t.Fatalf("seed %d: JSON: %v", seed, err)
		}
	}
}

func TestReadDumpErrors(t *testing.T) {
	n := parseNetwork(t, "FT(2;2,2)", 0)
	const head = "Unicast lids [0-8] of switch Lid 5 guid 0x0002c90401000000 ('s1_0'):\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "no forwarding table in it"},
		{"other", "hello\n0x0001 001\n", "no forwarding table in it"},
		{"no GUID", "Unicast lids of nothing\n", `line 1: a switch without its GUID: no "guid 0x"`},
		{"bad GUID", "Unicast lids guid 0xzz\n", "line 1: a switch without its GUID: 0x is not"},
		{"long GUID", "Unicast lids guid 0x11112222333344445555\n", "line 1: a switch without its GUID: 0x11112222333344445555 is not a number of 64 bits"},
		{"unknown switch", "\nUnicast lids guid 0x77:\n", "line 2: switch 0x0000000000000077 is not in the network"},
		{"switch twice", head + head, "line 2: switch s1_0 (0x0002c90401000000) a second time"},
		{"LID twice", head + "0x0001 001\n0x0001 002\n", "line 3: LID 1 a second time for s1_0"},
		{"LID of nobody", head + "0x0009 001\n", "line 2: no node of the network has LID 9"},
		{"LID too large", head + "0x10000 001\n", `line 2: LID "0x10000": not a number`},
		{"no port", head + "0x0001\n", `line 2: LID 1: port "": s1_0 has ports 0..4`},
		{"port too large", head + "0x0001 005\n", `line 2: LID 1: port "005": s1_0 has ports 0..4`},
		{"no number", head + "0x0001 UNREACHABLE\n", `line 2: LID 1: port "UNREACHABLE"`},
		{"other GUID", head + "0x0001 001 # portguid 0x99:\n", "line 2: LID 1 is of port GUID 0x0000000000000099 here, in the network of 0x0002c90300000001 (h0)"},
		{"long line", head + strings.Repeat("x", 1<<17), "line 2: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect.Error(t, expect.Err(lft.ReadDump(strings.NewReader(c.text), n)), c.want)
		})
	}
	good := head + "0x0001 255\n0x0002 002 : (Channel Adapter portguid 0x0002c90300000011: 'h1')\n1 lids dumped\nMulticast mlids\n0xc000 1\n"
	tables, err := lft.ReadDump(strings.NewReader(good), n)
	expect.True(t, err == nil && tables.Port(n.Switch(0), 1) == lft.NoPort && tables.Port(n.Switch(0), 2) == 2, "%v", err)
}

// A dump that is cut anywhere is refused, or lacks whole tables only.
func TestReadCutDump(t *testing.T) {
	n := parseNetwork(t, "FT(2;2,3)", 0)
	text := dumped(t, expect.Value(opensm.MinHop.Route(n, nil))(t))
	whole := expect.Value(lft.ReadDump(strings.NewReader(text), n))(t)
	for end := range len(text) {
		got, err := lft.ReadDump(strings.NewReader(text[:end]), n)
		if err != nil {
			continue
		}
		if strings.HasSuffix(text[:end], "\n") && !strings.Contains(text[:end], "dumped") {
			continue // the first table: what ends the others is not known
		}
		for i := range n.Switches() {
			row, none := string(got.Row(i)), strings.Repeat("\xff", got.LIDs)
			expect.True(t, row == string(whole.Row(i)) || row == none, "cut at %d, the table of switch %d is %q", end, i, row)
		}
	}
}

func TestReadJSONErrors(t *testing.T) {
	n := parseNetwork(t, "FT(2;1,2)", 0)
	var b bytes.Buffer
	expect.Must(t, lft.New("x", n).WriteJSON(&b))
	for _, c := range []struct{ old, new, want string }{
		{"evbench/routes/1", "other", `schema "other", not "evbench/routes/1"`},
		{`"lids":6`, `"lids":7`, "3 switches with 7 entries; the network has 3 and needs 6"},
		{"0x0002c90401000000", "0x0002c90401000001", "is not in the network, or is there twice"},
		{"[-1,", "[-2,", `switches[0] "s1_0": LID 0: port -2: must be -1..2`},
		{"[-1,", "[3,", `port 3: must be -1..2`},
		{"[-1,", "[", `5 ports and 0 lanes for 6 LIDs`},
		{`]}`, `],"lanes":[1,2]}`, `6 ports and 2 lanes for 6 LIDs`},
		{`]}`, `],"lanes":[1,2,3,4,5,15]}`, `LID 5: lane 15: must be 0..14`},
		{"{", "{,", "routes: invalid character"},
	} {
		text := strings.Replace(b.String(), c.old, c.new, 1)
		expect.Error(t, expect.Err(lft.Read(strings.NewReader(text), n)), c.want)
	}
}

// TestReadForms: opensm.fdbs, and the head that ibdiagnet gives its switches; what dump_fts -a prints of LIDs without a
// port. Checked against OpenSM 3.3.23 and infiniband-diags 44 on a simulated network.
func TestReadForms(t *testing.T) {
	n := parseNetwork(t, "FT(2;1,2)", 0)
	const guid = "0x0002c90401000000"
	want := expect.Value(lft.Read(strings.NewReader("Unicast lids [0x0-0x5] of switch DR path slid 0; dlid 0; 0 guid "+guid+" (s1_0):\n0x0001 001 : (x)\n0x0002 002 : (y)\n"), n))(t)
	for _, text := range []string{
		"dump_ucast_routes: Switch " + guid + "\nLID    : Port : Hops : Optimal\n0x0001 : 001  : 01   : yes\n0x0002 : 002  : 03   : No 2 hop path possible via port 3!\n0x0003 : UNREACHABLE\n",
		"osm_ucast_mgr_dump_ucast_routes: Switch " + guid + "\nLID    : Port : Hops : Optimal\n0x0001 : 001  : HOPS UNKNOWN\n0x0002 : 002  : 00   : yes\n",
		"Unicast lids [0x0-0x5] of switch DR path slid 0; dlid 0; 0 guid " + guid + " (s1_0):\n0x0000 255 : (path #0 - illegal port)\n0x0001 001 : (x)\n0x0002 002 : (y)\n6 lids dumped\n",
	} {
		got, err := lft.Read(strings.NewReader(text), n)
		expect.True(t, err == nil && equal(got, want), "%v: %q", err, text)
	}
	_, err := lft.Read(strings.NewReader("dump_ucast_routes: Switch "+guid+"\n0x0001 : 009  : 01   : yes\n"), n)
	expect.Error(t, err, "line 2: LID 1: port \"009\": s1_0 has ports 0..2")
}

// FuzzRead checks that what is read can be written and read again.
func FuzzRead(f *testing.F) {
	n := parseNetwork(f, "FT(2;1,2)", 1)
	tables := arbitrary(n, rand.New(rand.NewPCG(1, 1)), 0)
	var b bytes.Buffer
	expect.Must(f, tables.WriteJSON(&b))
	f.Add(b.Bytes())
	f.Add([]byte(dumped(f, tables)))
	f.Add([]byte("dump_ucast_routes: Switch 0x0002c90401000000\n0x0001 : 001  : 01   : yes\n0x0002 : UNREACHABLE\n"))
	f.Add([]byte("Unicast lids guid 0x0002c90401000000\n0x0001 255 # portguid 0x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := lft.Read(bytes.NewReader(text), n)
		if err != nil {
			return
		}
		lft.Check(got, lft.Options{})
		lft.Deadlock(got)
		var b bytes.Buffer
		expect.Must(t, got.WriteJSON(&b))
		if again, err := lft.Read(&b, n); err != nil || !equal(again, got) {
			t.Fatal("JSON:", err)
		}
		if got.Lanes() > 1 {
			return
		}
		text = []byte(dumped(t, got))
		if again, err := lft.Read(bytes.NewReader(text), n); err != nil || dumped(t, again) != string(text) {
			t.Fatal("dump:", err)
		}
	})
}

func savedText(t testing.TB, tables *lft.Tables) string {
	t.Helper()
	var b strings.Builder
	expect.Must(t, tables.WriteSaved(&b))
	return b.String()
}

// TestSavedSaysItsNetwork saves tables of degraded networks and finds the same network,
// dead nodes included, and the same entries.
func TestSavedSaysItsNetwork(t *testing.T) {
	for _, c := range []struct {
		notation string
		lmc      int
		down     []string
	}{
		{"FT(2;4,8)", 0, nil},
		{"FT(2;4,8)", 2, []string{"leaf0-spine0", "spine2", "server5"}},
		{"PGFT(2;6,4;1,3;1,3)", 1, []string{"s1_0/7", "s1_1/8"}},
		{"FT(3;2,2,4)", 0, []string{"s3_1", "s1_0"}},
	} {
		n := expect.Value(parseNetwork(t, c.notation, c.lmc).Degrade(c.down))(t)
		tables := expect.Value(opensm.UpDown.Route(n, nil))(t)
		text := savedText(t, tables)
		back, said, err := lft.ReadSaved(strings.NewReader(text), nil)
		expect.MustTrue(t, err == nil && said, "%s: %v, %v", c.notation, said, err)
		expect.True(t, equal(back, tables) && savedText(t, back) == text && len(back.Roots) == len(tables.Roots) && len(back.Roots) != 0,
			"%s: what is read differs from what was written", c.notation)
		for v := range network.Node(n.Nodes()) {
			if n.Info(v) != back.Net.Info(v) || len(n.Ends(v)) != len(back.Net.Ends(v)) {
				t.Errorf("%s: node %d is %+v, was %+v", c.notation, v, back.Net.Info(v), n.Info(v))
			}
		}
		expect.True(t, len(n.Cables()) == len(back.Net.Cables()) && n.Without(back.Net.Cables(), nil).Cables() == nil,
			"%s: the cables are others", c.notation)
		// Without the comments it is a dump, and says nothing of its network.
		again, said, err := lft.ReadSaved(strings.NewReader(dumped(t, tables)), n)
		expect.True(t, err == nil && !said && equal(again, tables), "%s: the dump: %v, %v", c.notation, said, err)
		plain, err := lft.ReadDump(strings.NewReader(text), n)
		expect.True(t, err == nil && equal(plain, tables), "%s: the comments disturb: %v", c.notation, err)
		for line := range strings.Lines(text) {
			expect.True(t, len(line) <= 1000, "a line of %d characters, which OpenSM would cut", len(line))
		}
	}
}

func TestSavedRefusals(t *testing.T) {
	good := savedText(t, minHop(t, parseNetwork(t, "FT(2;1,2)", 0)))
	for _, c := range []struct{ what, old, now, err string }{
		{"counts", "2 hosts, 3", "two hosts, 3", "line 1: not "},
		{"a host is missing", "# host 0x0002c90300000011 0x0002c90300000010 2 0 h1\n", "", "line 3: a switch after 1 of 2 hosts"},
		{"a host too many", "2 hosts, 3", "1 hosts, 3", "line 3: more than 1 hosts"},
		{"a switch is missing", "3 switches", "4 switches", "line 10: 2 hosts, 3 switches and 4 cables differ from the numbers on line 1"},
		{"a cable is missing", "# cable 0x0002c90401000001/2 0x0002c90402000000/2\n", "", "line 9: 2 hosts, 3 switches and 3 cables differ"},
		{"no GUID", "host 0x0002c90300000001", "host 0x0002c9030000000g", `line 2: "0x0002c9030000000g" is not a GUID`},
		{"no node GUID", "0x0002c90300000010 2", "0002c90300000010 2", "line 3: "},
		{"twice", "host 0x0002c90300000011", "host 0x0002c90300000001", "line 3: GUID 0x0002c90300000001 a second time"},
		{"LID", "0x0002c90300000010 2", "0x0002c90300000010 49152", `line 3: LID "49152": must be 0..49151`},
		{"LID twice", "0x0002c90300000010 2", "0x0002c90300000010 1", "line 3: LID 1 a second time"},
		{"LMC", "2 0 h1", "2 8 h1", `line 3: LMC "8": must be 0..7`},
		{"ports", "3 2 s1_0", "3 255 s1_0", `line 4: number of ports "255": must be 0..254`},
		{"fields", "3 2 s1_0", "3 2", "line 4: "},
		{"port of a cable", "cable 0x0002c90401000001/2", "cable 0x0002c90401000001/3", `line 10: port "3": must be 1..2`},
		{"unknown end", "cable 0x0002c90401000001/2", "cable 0x0002c90401000009/2", "line 10: 0x0002c90401000009 has no line of its own"},
		{"end twice", "cable 0x0002c90401000001/2", "cable 0x0002c90401000000/2", "line 10: port 2 of s1_0 has a cable already"},
		{"root", "# cable 0x0002c90300000001/1", "# root s2_0\n# cable 0x0002c90300000001/1", `line 7: "s2_0" is not a GUID`},
		{"entries", "0x0002 001", "0x0002 003", "line 20: LID 2: port"},
	} {
		text := strings.Replace(good, c.old, c.now, 1)
		expect.MustTrue(t, text != good, "%s: %q is not in the text:\n%s", c.what, c.old, good)
		_, said, err := lft.ReadSaved(strings.NewReader(text), nil)
		expect.True(t, said && err != nil && strings.HasPrefix(err.Error(), c.err), "%s: %v, want %s", c.what, err, c.err)
	}
	expect.True(t, expect.Err2(lft.ReadSaved(strings.NewReader(good[:100]), nil)) != nil, "a text that ends in a line of its comments is read")
}

// FuzzReadSaved checks that what is read can be written and read again.
func FuzzReadSaved(f *testing.F) {
	f.Add([]byte(savedText(f, minHop(f, parseNetwork(f, "FT(2;1,2)", 0)))))
	f.Add([]byte("# network: 1 hosts, 1 switches, 1 cables\n# host 0x1 0x2 3 1 a b\n# switch 0x3 0x3 1 2 c\n# root 0x3\n# cable 0x1/1 0x3/2\nUnicast lids guid 0x3\n0x2 2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tables, said, err := lft.ReadSaved(bytes.NewReader(text), new(network.Builder).Build())
		if err != nil || !said {
			return
		}
		back, said, err := lft.ReadSaved(strings.NewReader(savedText(t, tables)), nil)
		expect.True(t, err == nil && said && equal(back, tables), "%v, %v", said, err)
	})
}
