package network_test

import (
	"strings"
	"testing"

	"evbench/site/network"
	"evbench/testing/expect"
)

func build(t testing.TB, notation string) *network.Network {
	t.Helper()
	n := expect.Value(network.Parse(notation, 0))(t)
	return n
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		notation, want        string
		hosts, switches, lids int
	}{
		{"FT(2;4,8)", "PGFT(2;4,8;1,4;1,1)", 32, 12, 44},
		{" ft( 2; 20 , 18 ) ", "PGFT(2;20,18;1,20;1,1)", 360, 38, 398},
		{"FT(3;4,4,4)", "PGFT(3;4,4,4;1,4,4;1,1,1)", 64, 48, 112},
		{"FT(3;2,3,4)", "PGFT(3;2,3,4;1,2,3;1,1,1)", 24, 12 + 8 + 6, 24 + 26},
		{"FT(1;8)", "PGFT(1;8;1;1)", 8, 1, 9},
		{"FT(4;2,2,2,2)", "PGFT(4;2,2,2,2;1,2,2,2;1,1,1,1)", 16, 32, 48},
		{"kary(2;3)", "PGFT(3;2,2,2;1,2,2;1,1,1)", 8, 12, 20},
		{"KARY(4;2)", "PGFT(2;4,4;1,4;1,1)", 16, 8, 24},
		{"XGFT(3;4,2,8;1,2,8)", "PGFT(3;4,2,8;1,2,8;1,1,1)", 64, 48, 112},
		{"PGFT(3;4,2,8;1,2,4;1,2,1)", "PGFT(3;4,2,8;1,2,4;1,2,1)", 64, 40, 104},
		{"QFT(3;4,2,8;1,2,4;1,2,1)", "QFT(3;4,2,8;1,2,4;1,2,1)", 64, 40, 104},
	} {
		n, err := network.Parse(c.notation, 0)
		if err != nil {
			t.Error(err)
			continue
		}
		expect.False(t, n.Notation != c.want || n.Hosts() != c.hosts || n.Switches() != c.switches || n.MaxLID() != c.lids,
			"%s: %s, %d hosts, %d switches, LIDs to %d; want %+v", c.notation, n.Notation, n.Hosts(), n.Switches(), n.MaxLID(), c)
	}
}

func TestParseLMC(t *testing.T) {
	n := expect.Value(network.Parse("FT(2;4,8)", 2))(t)
	if h, s := n.Info(1), n.Info(n.Switch(0)); h.LID != 8 || h.LMC != 2 || s.LID != 132 || s.LMC != 0 || n.MaxLID() != 143 {
		t.Errorf("h1 %+v, s1_0 %+v, LIDs to %d", h, s, n.MaxLID())
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		notation string
		lmc      int
		want     string
	}{
		{"", 0, "write FT(L"},
		{"FT(2;4,8", 0, "write FT(L"},
		{"FAT(2;4,8)", 0, `no kind "FAT"`},
		{"FT(2;4)", 0, "2 levels, but 1 numbers in group 2"},
		{"FT(2;4,8;1,4)", 0, "3 groups"},
		{"FT(2,2;4,8)", 0, "write FT(L"},
		{"FT(2;4,-8)", 0, `"-8" is not a number`},
		{"FT(2;4,99999999999999999999)", 0, "is not a number 0..49151"},
		{"FT(2;0,8)", 0, "must be at least 1"},
		{"FT(0;)", 0, "is not a number"},
		{"FT(2;127,8)", 0, ""},
		{"FT(2;200,255)", 0, "at most 254 ports"},
		{"FT(3;100,100,100)", 0, "more than 49151 nodes"},
		{"FT(2;120,250)", 1, "needs LIDs to"},
		{"FT(2;4,8)", 8, "LMC 8: must be 0..7"},
		{"FT(2;4,8)", -1, "LMC -1: must be 0..7"},
		{"kary(2;33)", 0, "n being 1..32"},
		{"kary(2;32)", 0, "more than 49151 nodes"},
		{"kary(2;2,2)", 0, "n being 1..32"},
		{"PGFT(2;4,8;2,4;1,1)", 0, "a host has one cable"},
		{"QFT(3;4,2,7;1,2,4;1,2,1)", 0, "m3 = 7 is not a multiple of p2 = 2"},
		{"QFT(3;4,2,8;1,3,4;1,1,2)", 0, "w2 = 3 is not a multiple of p3 = 2"},
		{"FT(99;" + strings.Repeat("1,", 98) + "1)", 0, "99 levels, more than 32"},
		{"FT(2;" + strings.Repeat(" ", 2000) + "4,8)", 0, "longer than"},
	} {
		_, err := network.Parse(c.notation, c.lmc)
		switch {
		case c.want == "" && err != nil:
			t.Error(err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%.40s: error %v, want %q", c.notation, err, c.want)
		case err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 300):
			t.Errorf("%.40s: error of %d characters", c.notation, len(err.Error()))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"FT(2;4,8)", "kary(2;3)", "XGFT(2;4,2;1,2)", "PGFT(2;4,2;1,2;1,2)", "QFT(3;4,2,8;1,2,4;1,2,1)", "FT(2;4", "QFT(1;4;1;1)"} {
		f.Add(s, 0)
	}
	f.Fuzz(func(t *testing.T, s string, lmc int) {
		shape, err := network.ParseShape(s)
		if err != nil {
			return
		}
		again, err := network.ParseShape(shape.String())
		expect.MustTrue(t, err == nil && again.String() == shape.String(), "%s is read as %v, %v", shape, again, err)
		if n, err := shape.Build(lmc); err == nil && (n.MaxLID() > 0xBFFF || n.Hosts() < 1) {
			t.Fatalf("%s: %d hosts, LIDs to %d", s, n.Hosts(), n.MaxLID())
		}
	})
}

// firstOf returns the first node of a level, 0 being that of the hosts.
func firstOf(g network.PGFT, level int) network.Node {
	v := 0
	for l := range level {
		v += g.Count(l)
	}
	return network.Node(v)
}

// levelOf returns the level of a node, and which of that level it is.
func levelOf(g network.PGFT, v network.Node) (level, index int) {
	index = int(v)
	for level < len(g.M) && index >= g.Count(level) {
		index -= g.Count(level)
		level++
	}
	return level, index
}

// digitsOf returns the digits s1..sh of a node (HOTI 2014 §II, eqs. 1 to 4), s1 at
// index 0. Those to its level say which of the switches over its hosts it is, s_i
// of w_i; those above lead to it from the top, s_i of m_i. A host's are its
// number, in the radices m.
func digitsOf(g network.PGFT, v network.Node) []int {
	level, index := levelOf(g, v)
	d := make([]int, len(g.M))
	for i := range d {
		r := radix(g, i, level)
		d[i] = index % r
		index /= r
	}
	return d
}

// nodeOf returns the node of a level that has these digits.
func nodeOf(g network.PGFT, level int, digits []int) network.Node {
	index := 0
	for i := len(digits) - 1; i >= 0; i-- {
		index = index*radix(g, i, level) + digits[i]
	}
	return firstOf(g, level) + network.Node(index)
}

func radix(g network.PGFT, i, level int) int {
	if i < level {
		return g.W[i]
	}
	return g.M[i]
}

// TestDigits holds the tuples against the names that cables give: the tuple of
// a node and that of what its ports lead to differ in one digit (eq. 5).
func TestDigits(t *testing.T) {
	g := network.PGFT{M: []int{3, 2, 4}, W: []int{1, 2, 3}, P: []int{1, 2, 1}}
	n := expect.Value(g.Build(0))(t)
	for v := range network.Node(n.Nodes()) {
		level, index := levelOf(g, v)
		d := digitsOf(g, v)
		expect.MustTrue(t, nodeOf(g, level, d) == v && firstOf(g, level)+network.Node(index) == v,
			"node %d: level %d, index %d, digits %v", v, level, index, d)
		for _, e := range n.Ends(v) {
			above, _ := levelOf(g, e.Node)
			if above < level {
				continue
			}
			for i, x := range digitsOf(g, e.Node) {
				if i != above-1 && x != d[i] {
					t.Errorf("%v of level %d is joined to %v", d, level, digitsOf(g, e.Node))
				}
			}
		}
	}
}

var large = []string{"PGFT(4;18,3,18,36;1,3,18,18;1,6,1,1)", "QFT(4;18,3,18,36;1,3,18,18;1,6,1,1)"}
