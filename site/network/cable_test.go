package network_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evbench/internal/lists"
	"evbench/site/network"
	"evbench/testing/expect"
)

func TestCables(t *testing.T) {
	n := build(t, "PGFT(2;4,3;1,2;1,2)")
	all := n.Cables()
	expect.False(t, len(all) != 12+3*2*2 || len(n.SwitchCables()) != 12, "%d cables, %d between switches", len(all), len(n.SwitchCables()))
	for _, c := range all {
		expect.True(t, n.At(c.A.Node, int(c.A.Port)) == c.B && n.At(c.B.Node, int(c.B.Port)) == c.A, "%v is no cable", c)
	}
	expect.Equal(t, n.CableName(n.SwitchCables()[0]), "s1_0/5", "the first cable")
}

func TestDegrade(t *testing.T) {
	n := build(t, "FT(2;4,8)")
	for _, c := range []struct {
		down string
		dead int
	}{
		{"s1_0/5", 1},
		{"s2_0/1", 1}, // the same from above
		{"s1_0-s2_0", 1},
		{"leaf0-spine0", 1},
		{"0x0002c90401000000/5", 1},
		{"0x2c90300000001", 1}, // the port of h0
		{"h3/1", 1},
		{"h3", 1},
		{"server31", 1},
		{"s2_3", 8},
		{"spine3,leaf0-spine3,leaf0-spine2", 9},
		{"leaf7", 8},
	} {
		d, err := n.Degrade(strings.Split(c.down, ","))
		if err != nil {
			t.Error(err)
			continue
		}
		expect.Equal(t, len(n.Cables())-len(d.Cables()), c.dead, "%s: dead cables", c.down)
	}
	d := expect.Value(n.Degrade([]string{"leaf0-spine0"}))(t)
	expect.False(t, d.At(n.Switch(0), 5).Node != network.NoNode || d.At(n.Switch(8), 1).Node != network.NoNode || n.At(n.Switch(0), 5).Node != n.Switch(8),
		"the dead cable is not dead at both ends, or not alive in the network it came from")
	expect.True(t, n.Without(nil, []network.Node{n.Switch(9)}).Isolated(n.Switch(9)), "s2_1 has cables")
}

// Names of plans for three levels mean the cables that the names of Build mean, also where some
// are dead already or two switches are joined by several.
func TestDegradeThreeLevels(t *testing.T) {
	for _, notation := range []string{"PGFT(3;4,3,5;1,4,3;1,1,1)", "PGFT(3;4,3,5;1,4,3;1,2,3)"} {
		whole := build(t, notation)
		for _, c := range []struct{ down, same string }{
			{"leaf5-spine2", "s1_5-s2_6"},
			{"pod1-spine2-top2", "s2_6-s3_10"},
			{"pod1-spine2", "s2_6"},
			{"spine2-top2", "s3_10"},
			{"spine2", "s2_2,s2_6,s2_10,s2_14,s2_18"},
			{"leaf5", "s1_5"},
			{"server17,leaf14-spine3", "h17,s1_14-s2_19"},
			{"spine2-top2-pod1-spine2", "s3_10-s2_6"},
		} {
			n := expect.Value(whole.Degrade([]string{"s1_0-s2_0", "s3_11"}))(t)
			got, err := n.Degrade(strings.Split(c.down, ","))
			if err != nil {
				t.Error(err)
				continue
			}
			want, err := n.Degrade(strings.Split(c.same, ","))
			expect.True(t, err == nil && len(want.Cables()) != len(n.Cables()) && reflect.DeepEqual(got.Cables(), want.Cables()),
				"%s: %s is not %s, %v", notation, c.down, c.same, err)
		}
		for _, name := range []string{"pod1-spine0-top3", "pod5-spine0-top0", "leaf15-spine0", "spine4", "leaf0-top0"} {
			expect.Error(t, expect.Err(whole.Degrade([]string{name})), "no node, port or cable "+strconv.Quote(name))
		}
	}
	expect.True(t, expect.Err(build(t, "FT(4;2,2,2,2)").Degrade([]string{"pod0-spine0"})) != nil, "four levels have pods")
}

func TestDegradeRefuses(t *testing.T) {
	n := build(t, "FT(2;4,8)")
	dead := expect.Value(n.Degrade([]string{"s1_0/5"}))(t)
	for name, want := range map[string]string{
		"":             `no node, port or cable ""; there are "s1_0" to "s2_3", ports such as "s1_0/1"`,
		"leaf9-spine1": `no node, port or cable "leaf9-spine1"`,
		"s1_0/9":       `"s1_0" has ports 1..8`,
		"s1_0/0":       `has ports 1..8`,
		"s1_0/x":       `has ports 1..8`,
		"s9_0/1":       `no node "s9_0"`,
		"s1_0/5":       "this port has no cable",
		"s1_0-s2_0":    "no cable joins them",
		"0xdead":       `no node, port or cable "0xdead"`,
	} {
		expect.Error(t, expect.Err(dead.Degrade([]string{name})), want)
	}
	info := make([]network.Info, n.Nodes())
	for v := range info {
		info[v] = n.Info(network.Node(v))
	}
	info[33].Name = "s1_0"
	expect.Error(t, expect.Err(n.WithInfo(info).Degrade([]string{"s1_0"})), "2 nodes are called")
}

// hostParts names, for each host, the first host it reaches, by plain search.
func hostParts(n *network.Network) []network.Node {
	part := make([]network.Node, n.Nodes())
	for v := range part {
		part[v] = network.NoNode
	}
	for h := range network.Node(n.Hosts()) {
		for todo := []network.Node{h}; len(todo) > 0; {
			v := todo[0]
			todo = todo[1:]
			if v < 0 || part[v] != network.NoNode {
				continue
			}
			part[v] = h
			for _, e := range n.Ends(v) {
				todo = append(todo, e.Node)
			}
		}
	}
	return part[:n.Hosts()]
}

func TestRandom(t *testing.T) {
	for _, notation := range []string{"FT(2;2,4)", "FT(2;4,8)", "PGFT(3;2,2,3;1,2,2;1,2,1)", "QFT(3;4,2,4;1,2,4;1,2,1)"} {
		n := build(t, notation)
		cables := n.SwitchCables()
		for seed := range uint64(30) {
			// Spare as much as can be: then a tree is left.
			most := 0
			for count := 1; ; count++ {
				dead, err := n.Random(count, seed)
				if err != nil {
					break
				}
				most = count
				expect.MustTrue(t, slices.Equal(hostParts(n.Without(dead, nil)), hostParts(n)),
					"%s, seed %d: %d dead cables part hosts", notation, seed, count)
			}
			expect.True(t, most >= len(cables)-(n.Switches()-1), "%s, seed %d: at most %d of %d cables spared", notation, seed, most, len(cables))
		}
	}
}

// TestRandomUniform: a draw that parts no hosts is the plain draw, so every
// cable is about as often dead.
func TestRandomUniform(t *testing.T) {
	n := build(t, "FT(2;3,4)")
	hits := map[string]int{}
	const draws = 3000
	for seed := range uint64(draws) {
		dead, err := n.Random(2, seed)
		expect.MustTrue(t, err == nil && len(dead) == 2, "%v", err)
		for _, c := range dead {
			hits[n.CableName(c)]++
		}
	}
	for _, c := range n.SwitchCables() { // 12 cables, 2 dead: 500 each
		h := hits[n.CableName(c)]
		expect.True(t, h >= 420 && h <= 580, "%s is dead in %d of %d draws", n.CableName(c), h, draws)
	}
	a, _ := n.Random(3, 7)
	b, _ := n.Random(3, 7)
	expect.True(t, fmt.Sprint(a) == fmt.Sprint(b), "one seed, two draws")
}

func TestRandomTooMany(t *testing.T) {
	n := build(t, "FT(2;2,2)")
	expect.Error(t, expect.Err(n.Random(3, 1)), "of 4 between switches, these draws can spare 2")
	expect.True(t, expect.Err(n.Random(-1, 1)) != nil, "-1 cables drawn")
}

func TestNumbered(t *testing.T) {
	n := build(t, "FT(2;4,8)")
	got := expect.Value(n.Numbered(2))(t)
	want := expect.Value(network.Parse("FT(2;4,8)", 2))(t)
	for v := range network.Node(n.Nodes()) {
		expect.Equal(t, got.Info(v), want.Info(v), "got.Info")
	}
	expect.True(t, expect.Err(build(t, large[0]).Numbered(1)) != nil, "70,000 LIDs given")
}

func TestParts(t *testing.T) {
	n := build(t, "FT(2;2,4)")
	p := n.Parts()
	expect.True(t, len(p) == 1 && len(p[0]) == 8, "parts %v", p)
	d := expect.Value(n.Degrade([]string{"leaf1-spine0", "leaf1-spine1", "h7"}))(t)
	expect.Equal(t, fmt.Sprint(d.Parts()), "[[0 1 4 5 6] [2 3] [7]]", "parts")
}

// Path bits share the LIDs of hosts, which all have as many; a host without LIDs does not count.
func TestPathBits(t *testing.T) {
	for _, tt := range []struct {
		name string
		lmc  int
		info func(h network.Node, i *network.Info)
		want string
	}{
		{"two LIDs", 1, func(network.Node, *network.Info) {}, "[0 1 0 1 0 1]"},
		{"four LIDs", 2, func(network.Node, *network.Info) {}, "[0 1 2 3 0 1]"},
		{"a host without", 1, func(h network.Node, i *network.Info) {
			if h == 2 {
				i.LID, i.LMC = 0, 0
			}
		}, "[0 1 0 1 0 1]"},
		{"one LID", 0, func(network.Node, *network.Info) {}, "each host has one LID, and no path bits"},
		{"other LMC", 2, func(h network.Node, i *network.Info) {
			if h == 2 {
				i.LMC = 1
			}
		}, "hosts with different numbers of LIDs cannot share them: h0 has 4, h2 has 2"},
	} {
		n := expect.Value(network.Parse("FT(2;2,3)", tt.lmc))(t)
		info := lists.Map(lists.Range[network.Node](n.Nodes()), n.Info)
		for h := range n.Hosts() {
			tt.info(network.Node(h), &info[h])
		}
		n = n.WithInfo(info)
		bits, err := n.PathBits()
		got := fmt.Sprint(bits)
		if err != nil {
			got = err.Error()
		}
		expect.Contains(t, got, tt.want)
	}
}
