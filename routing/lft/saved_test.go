package lft_test

import (
	"bytes"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/routing/lft"
	"evbench/routing/opensm"
	"evbench/topology/network"
)

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
		if plain, err := lft.ReadDump(strings.NewReader(text), n); err != nil || !equal(plain, tables) {
			t.Errorf("%s: the comments disturb: %v", c.notation, err)
		}
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
