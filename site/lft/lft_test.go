package lft_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"evbench/internal/answer"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// shortest routes to each LID by the port of lowest number on a shortest way,
// counted from LID, so that routes differ.
func shortest(n *network.Network) *lft.Tables {
	t := lft.New("shortest", n)
	for dst := range network.Node(n.Hosts()) {
		leaf := n.Leaf(dst)
		dist := n.Distances(leaf.Node)
		for i := range n.Switches() {
			var good []uint8
			for p, e := range n.Ends(n.Switch(i)) {
				if e.Node != network.NoNode && !n.IsHost(e.Node) && dist[n.Index(e.Node)] == dist[i]-1 {
					good = append(good, uint8(p+1))
				}
			}
			for k := range 1 << n.Info(dst).LMC {
				lid := int(n.Info(dst).LID) + k
				switch {
				case n.Switch(i) == leaf.Node:
					t.Row(i)[lid] = leaf.Port
				case len(good) > 0:
					t.Row(i)[lid] = good[lid%len(good)]
				}
			}
		}
	}
	return t
}

func TestOffences(t *testing.T) {
	n := parseNetwork(t, "FT(2;2,3)", 0, "s1_2/3")
	tables := shortest(n)
	row := func(name string) []uint8 {
		s := expect.Value(network.Names(n).Node(name))(t)
		return tables.Row(n.Index(s))
	}
	row("s1_0")[3] = lft.NoPort           // h2 from leaf 0
	row("s2_1")[5] = 2                    // h4: leaf 1 sends it up again
	row("s1_1")[5] = 4                    //
	row("s1_2")[1] = 3                    // the dead cable
	row("s1_0")[4] = 1                    // h3's packets to h0
	row("s2_0")[2], row("s1_1")[2] = 2, 4 // h1
	row("s1_2")[2], row("s2_1")[2] = 4, 2
	row("s1_1")[2], row("s2_1")[2] = 3, 1
	r := lft.Check(tables, lft.Options{First: 100})
	var got []string
	for _, o := range r.Offences {
		got = append(got, o.Text)
	}
	want := []string{
		"h4 to h0, LID 1: s1_2/3: dead port",
		"h2 to h1, LID 2: s1_1/3 s2_0/2 s1_1/3 s2_0/2 s1_1/3: loop",
		"h0 to h2, LID 3: s1_0: no entry",
		"h0 to h3, LID 4: s1_0/1: wrong host",
		"h0 to h4, LID 5: s1_0/4 s2_1/2 s1_1/4 s2_1/2 s1_1/4: loop",
		"h2 to h4, LID 5: s1_1/4 s2_1/2 s1_1/4 s2_1/2 s1_1/4: loop",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	expect.True(t, !r.OK() && r.Loops == 6 && r.NoEntry == 2 && r.DeadPorts == 2 && r.WrongHost == 2 && r.Unreachable == 12, "%+v", r)
}

func TestUpAfterDown(t *testing.T) {
	n := parseNetwork(t, "FT(2;2,3)", 0, "s1_0/3", "s1_1/4")
	tables := shortest(n) // leaf 0 to leaf 1: spine 1, leaf 2, spine 0
	ranks := expect.Value(network.Ranks(n, nil))(t)
	r := lft.Check(tables, lft.Options{Ranks: ranks, First: 1})
	expect.True(t, r.UpAfterDown == 8 && len(r.Hops) == 6 && r.OK(), "%+v", r)
	expect.True(t, r.Offences[0].Text == "h2 to h0, LID 1: s1_1/3 s2_0/3 s1_2/4 s2_1/1 s1_0/1: up after down", "%+v", r.Offences)
}

// TestLanesBreakCycles sends a ring around in one lane, and then in two.
func TestLanesBreakCycles(t *testing.T) {
	var b network.Builder
	for i := range 4 {
		b.Host(network.Info{Name: "h" + string(rune('0'+i)), GUID: uint64(i + 1), Port: uint64(i + 1), LID: uint16(i + 1)})
	}
	for i := range 4 {
		b.Switch(network.Info{Name: "r" + string(rune('0'+i)), GUID: uint64(10 + i), Port: uint64(10 + i), LID: uint16(5 + i)}, 3)
	}
	for i := range network.Node(4) {
		for _, c := range [][2]network.End{{{Node: i, Port: 1}, {Node: 4 + i, Port: 1}}, {{Node: 4 + i, Port: 2}, {Node: 4 + (i+1)%4, Port: 3}}} {
			expect.Must(t, b.Cable(c[0], c[1]))
		}
	}
	tables := lft.New("round", b.Build())
	for i := range 4 {
		for lid := 1; lid <= 4; lid++ {
			tables.Row(i)[lid] = 2
		}
		tables.Row(i)[i+1] = 1
	}
	d := lft.Deadlock(tables)
	expect.True(t, !d.Free() && d.Dependencies == 4 && slices.Equal(d.Names, []string{"r0/2", "r1/2", "r2/2", "r3/2"}), "%+v", d)
	for i := range 4 {
		for lid := 2; lid <= i; lid++ { // routes that hold r3/2 and need r0/2
			tables.LaneRow(i)[lid] = 1
		}
	}
	if d = lft.Deadlock(tables); !d.Free() || d.Lanes != 2 {
		t.Errorf("%+v", d)
	}
}

func TestPatterns(t *testing.T) {
	const hosts = 11
	for _, p := range []lft.Pattern{lft.Shifts(hosts), lft.SomeShifts(hosts, 4, 5), lft.Permutations(6, 5), lft.Bisections(6, 5)} {
		for k := range p.Phases {
			dst, again := make([]int32, hosts), make([]int32, hosts)
			p.Fill(k, dst)
			p.Fill(k, again)
			expect.True(t, slices.Equal(dst, again), "%s, phase %d: %v and %v", p.Name, k, dst, again)
			heard, sent := map[int32]bool{}, 0
			for src, d := range dst {
				if d < 0 {
					continue
				}
				if sent++; heard[d] || int(d) == src || d >= hosts {
					t.Errorf("%s, phase %d: %v", p.Name, k, dst)
				}
				heard[d] = true
			}
			want := hosts / 2
			expect.False(t, p.Name == "random bisections" && sent != want, "%d messages, want %d", sent, want)
		}
	}
	if p := lft.SomeShifts(hosts, hosts, 1); p.Name != "linear shift" || p.Phases != hosts {
		t.Errorf("%+v", p)
	}
}

// TestFullBisection holds the estimate against trees where it is known.
func TestFullBisection(t *testing.T) {
	one := parseNetwork(t, "FT(2;8,1)", 0) // a single leaf: nothing is shared
	if c := lft.Congest(shortest(one), lft.Bisections(20, 1)); c.Throughput != 1 || c.Least != 1 || c.Conflicts != 0 {
		t.Errorf("%+v", c)
	}
	thin := parseNetwork(t, "PGFT(2;8,2;1,1;1,1)", 0) // two leaves, one cable each
	c := lft.Congest(shortest(thin), lft.Shifts(16))
	expect.True(t, c.PerPhase[8].Max == 8 && c.PerPhase[8].Mean == 8 && c.PerPhase[8].MeanThroughput == 0.125, "%+v", c.PerPhase[8])
}

func TestMinimal(t *testing.T) {
	for _, c := range []struct {
		text string
		down []string
		want lft.Alternatives
	}{
		{"FT(2;4,8)", nil, lft.Alternatives{Pairs: 56, Least: 4, Mean: 4, Count: []int64{0, 0, 0, 0, 56}}},
		{"FT(2;2,2)", []string{"s1_0/3"}, lft.Alternatives{Pairs: 2, Least: 1, Mean: 1, Count: []int64{0, 2}}},
		{"FT(2;1,2)", []string{"s2_0"}, lft.Alternatives{Pairs: 2, None: 2, Count: []int64{2}}},
		{"PGFT(2;2,2;1,2;1,3)", nil, lft.Alternatives{Pairs: 2, Least: 6, Mean: 6, Count: []int64{0, 0, 0, 0, 0, 0, 2}}},
		{"FT(2;4,1)", nil, lft.Alternatives{Count: []int64{}}},
	} {
		expect.Equal(t, *lft.Minimal(parseNetwork(t, c.text, 0, c.down...)), c.want, "%s without %v", c.text, c.down)
	}
}

func TestDiff(t *testing.T) {
	n := parseNetwork(t, "FT(2;2,2)", 0)
	old, fresh := shortest(n), shortest(n)
	fresh.Engine = "fresh"
	fresh.Row(0)[3], fresh.Row(0)[4], fresh.Row(3)[1] = 3, lft.NoPort, 2
	fresh.Row(1)[6] = 0
	d := expect.Value(lft.Diff(old, fresh))(t)
	var text, doc bytes.Buffer
	expect.Must(t, d.WriteText(&text))
	a := d.Answer()
	expect.Equal(t, a.String()+"; "+strings.Join(a.Why, "; "), "GOOD: 4 of 32 entries differ, on 3 switches.; 3 lead to hosts, 1 to switches; 1 had no port, 1 have none any more", "answer")
	const want = `s1_0: 2 of hosts, 0 of switches: 3→- ×1, 4→3 ×1
s1_1: 0 of hosts, 1 of switches: -→0 ×1
s2_1: 1 of hosts, 0 of switches: 1→2 ×1
`
	expect.Equal(t, text.String(), want, "text.String")
	if err := (answer.Document{Schema: "evbench/routes-diff/1", Fields: d}).Write(&doc, "json"); err != nil || !json.Valid(doc.Bytes()) || !strings.Contains(doc.String(), `"host_entries":2`) {
		t.Error(doc.String(), err)
	}
	expect.True(t, expect.Err(lft.Diff(old, lft.New("", parseNetwork(t, "FT(2;2,3)", 0)))) != nil, "other switches are accepted")
	expect.True(t, expect.Err(lft.Diff(old, lft.New("", parseNetwork(t, "FT(2;2,2)", 1)))) != nil, "other LIDs are accepted")
}

// TestWorkers checks that nothing depends on how many there are.
func TestWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	n := parseNetwork(t, "PGFT(3;4,4,4;1,4,4;1,1,1)", 2)
	tables := arbitrary(n, rng, 0.01)
	ranks := make([]int, n.Nodes())
	all := func(cores int) []any {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		return []any{
			lft.Check(tables, lft.Options{Ranks: ranks}), lft.Deadlock(tables), lft.Load(tables),
			lft.Congest(tables, lft.Permutations(9, 1)), lft.Minimal(n),
		}
	}
	one, many := all(1), all(5)
	expect.True(t, reflect.DeepEqual(one, many), "%+v\n%+v", one, many)
}

// TestNothing checks networks that have nothing to check.
func TestNothing(t *testing.T) {
	var none, alone network.Builder
	alone.Host(network.Info{Name: "h0", GUID: 1, Port: 1, LID: 1})
	alone.Host(network.Info{Name: "h1", GUID: 2, Port: 2, LID: 2})
	for _, n := range []*network.Network{none.Build(), alone.Build()} {
		tables := lft.New("none", n)
		want := int64(n.Hosts()) * int64(max(n.Hosts()-1, 0))
		r := lft.Check(tables, lft.Options{})
		expect.True(t, r.Pairs == want && r.NoCable == want && r.OK() == (want == 0), "%+v", r)
		d := lft.Deadlock(tables)
		expect.True(t, d.Free(), "%+v", d)
		l := lft.Load(tables)
		expect.True(t, l.Cables == 0 && l.Max == 0, "%+v", l)
		for _, p := range []lft.Pattern{lft.Shifts(n.Hosts()), lft.SomeShifts(n.Hosts(), 1, 1), lft.Permutations(2, 1), lft.Bisections(2, 1)} {
			c := lft.Congest(tables, p)
			expect.False(t, c.Worst > 1 || c.Conflicts != 0 || n.Hosts() > 0 && c.Unreachable == 0 && p.Name == "linear shift", "%s: %+v", p.Name, c)
		}
		expect.Equal(t, lft.Minimal(n).Pairs, 0, "lft.Minimal")
	}
}
