package lft_test

import (
	"fmt"
	"strings"
	"testing"

	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// Over a ring of five switches shortest ways block each other on one lane. A dump of them says no lanes; levels in each
// form decide, as far as they go.
func TestLevels(t *testing.T) {
	n := parseNetwork(t, "HyperX(5;1)", 0) // joined each with each: no ring
	ring := expect.Value(n.Degrade([]string{"s1_0-s1_2", "s1_0-s1_3", "s1_1-s1_3", "s1_1-s1_4", "s1_2-s1_4"}))(t)
	tables := expect.Value(engines.Compute("sssp", ring, engines.Options{}))(t)
	text := dumped(t, tables)
	all := func(write func(src, dst, level int) string, level func(src, dst int) int) string {
		var b strings.Builder
		for src := 1; src <= 5; src++ {
			for dst := 1; dst <= 5; dst++ {
				if src != dst {
					b.WriteString(write(src, dst, level(src, dst)))
				}
			}
		}
		return b.String()
	}
	short := func(src, dst, level int) string {
		return fmt.Sprintf("%d %d\t sl......................0x%x \n", src, dst, level)
	}
	record := func(src, dst, level int) string {
		return fmt.Sprintf("PathRecord dump:\n\t\tdlid....................%d\n\t\tslid....................%d\n\t\tsl......................0x%x\n", dst, src, level)
	}
	psl := func(src, dst, level int) string {
		return fmt.Sprintf("0x%016x %d %d\n", ring.Info(network.Node(src-1)).GUID, dst, level)
	}
	dump := func(src, dst, level int) string {
		text := fmt.Sprintf("0x%04X : %-2d : %-3d : %-4d\n", dst, level, 4, 3)
		if dst == 1 || src == 1 && dst == 2 { // the first of a source
			text = fmt.Sprintf("Channel Adapter 0x%016x, base LID %d, \"h%d mlx5_0\", port 1\n# LID  : SL : MTU : RATE\n", ring.Info(network.Node(src-1)).Port, src, src-1) + text
		}
		return text
	}
	own := func(src, dst int) int { return src } // a lane for each source: free
	for name, c := range map[string]struct{ levels, want string }{
		"none":               {"", "NOT KNOWN: On one lane packets can block each other in a cycle, and a dump has no lanes: give the service levels (--sl). All 20 pairs of hosts reach each other."},
		"lines":              {all(short, own), "GOOD: All 20 pairs of hosts reach each other, without a deadlock"},
		"records":            {all(record, own), "GOOD: All 20 pairs of hosts reach each other, without a deadlock"},
		"ibdiagnet":          {all(psl, own), "GOOD: All 20 pairs of hosts reach each other, without a deadlock"},
		"OpenSM's dump":      {all(dump, own), "GOOD: All 20 pairs of hosts reach each other, without a deadlock"},
		"unreachable":        {"Switch 0x0000000000000077, base LID 9, \"s\", port 0\n0x0001 : 0  : 4   : 3   \n" + all(dump, own) + "0x0002 : UNREACHABLE\n", "GOOD: "},
		"one level":          {all(short, func(int, int) int { return 3 }), "BAD: All 20 pairs of hosts reach each other, but packets can block each other in a cycle."},
		"some":               {"1 2 1\n1 3 1\n", "NOT KNOWN: 18 pairs have no service level, the first h0 to LID 4 of h3: give all of them. All 20 pairs of hosts reach each other."},
		"of a manager alone": {"PathRecord dump:\n dlid..0\n slid..0\n sl..0x0\n1 6 2\n", "NOT KNOWN: 20 pairs have no service level"},
	} {
		got := expect.Value(lft.Read(strings.NewReader(text), ring))(t)
		if c.levels != "" {
			expect.Must(t, got.ReadLevels(strings.NewReader(c.levels)), name)
		}
		said := lft.Examine(got, lft.Extent{ReachOnly: true}).Answer().String()
		expect.True(t, strings.HasPrefix(said, c.want), "%s: %s; want %s", name, said, c.want)
	}
	for text, want := range map[string]string{
		"":          "no service level in it",
		"1 2 15\n":  "line 1: service level 15: must be 0..14",
		"1 77 1\n":  "line 1: no node of the network has LID 77",
		"99 1 1\n":  "line 1: no node of the network has LID 99",
		"h0 h1 1\n": "no service level in it",
	} {
		expect.Error(t, tables.ReadLevels(strings.NewReader(text)), want)
	}
}

// A dump without a switch's table, or with an error of its tool, shows no fault of the network.
func TestDumpLacks(t *testing.T) {
	n := parseNetwork(t, "FT(2;2,2)", 0)
	text := dumped(t, expect.Value(engines.Compute("minhop", n, engines.Options{}))(t))
	tables := strings.SplitAfter(text, "lids dumped\n")
	head, _, _ := strings.Cut(tables[0], "\n")
	for name, c := range map[string]struct{ text, want string }{
		"whole":              {text, "GOOD: All 12 pairs of hosts reach each other"},
		"no leaf":            {strings.Join(tables[1:], ""), "NOT KNOWN: The dump has no table of s1_0: dump it again. "},
		"a head alone":       {head + "\nibwarn: [7] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1)\n0 lids dumped\n" + strings.Join(tables[1:], ""), "NOT KNOWN: The dump has no table of s1_0: dump it again."},
		"two":                {strings.Join(tables[2:], ""), "NOT KNOWN: The dump has no table of 2 switches, the first s1_0: dump it again. "},
		"an error, harmless": {"ibwarn: [7] no matter\n" + text, "GOOD: All 12 pairs of hosts reach each other"},
		"part of a table":    {"dump_fts: failed: block 0\n" + strings.Replace(text, "0x0001 001", "#", 1), "NOT KNOWN: An error of the tool is in the dump: \"dump_fts: failed: block 0\". "},
		"a wrong port":       {strings.Replace(strings.Join(tables[1:], ""), "0x0001 001", "0x0001 000", 1), "BAD: "},
	} {
		got := expect.Value(lft.Read(strings.NewReader(c.text), n))(t)
		said := lft.Examine(got, lft.Extent{}).Answer().String()
		expect.True(t, strings.HasPrefix(said, c.want), "%s: %s; want %s", name, said, c.want)
	}
}
