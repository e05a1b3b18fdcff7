package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/plan/best"
	"evbench/site/engines"
	"evbench/site/engines/minmax"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/study/judge/foreign"
	"evbench/testing/expect"
)

// slowed gives all cables 100 Gbit/s, and those named a share of it.
func slowed(t *testing.T, n *network.Network, share map[string]float64) *network.Network {
	t.Helper()
	rates := map[network.End]float64{}
	for _, c := range n.Cables() {
		rates[c.A] = 100e9
	}
	for name, x := range share {
		cables := expect.Value(network.Names(n).Down(name))(t)
		for _, c := range cables {
			rates[c.A] = x * 100e9
		}
	}
	return n.WithRates(rates)
}

// A slow link counts with what it carries, in the bound, the tables and the repairs; and the
// link rate is known.
func TestJudgeSlow(t *testing.T) {
	in := input(t, "FT(2;4,4)", "dmodc", "leaf1-spine2")
	in.Whole = slowed(t, in.Whole, map[string]float64{"leaf0-spine0": 0.25, "leaf0-spine1": 0.5})
	in.Net, _ = in.Whole.Degrade([]string{"leaf1-spine2"})
	in.Tables = in.Tables.Clone("dmodc", in.Net)
	v := judged(t, in)
	// 48 messages of leaf0 over 0.25 + 0.5 + 1 + 1 links.
	expect.True(t, math.Abs(v.AtMost.Phases-48/2.75) <= 1e-9 && v.AtMost.Witness == "leaf0" && v.Rate == 100e9,
		"at most %+v, rate %v", v.AtMost, v.Rate)
	expect.True(t, strings.Join(v.Slow, " ") == "leaf0-spine0 (25.0%) leaf0-spine1 (50.0%)", "slow %v", v.Slow)
	// 48 messages over two links; with the one of half the rate 16 phases would last twice as long.
	p := v.Planned
	expect.True(t, p.Phases == 24 && p.Efficiency == 15.0/24 && strings.Join(p.Avoids, " ") == "leaf0-spine0 leaf0-spine1" && p.Uses == nil, "planned %+v", p)
	r := v.Repairs
	expect.True(t, len(r) == 3 && r[0].Link == "leaf0-spine0" && r[0].Slow == 0.25 && r[2].Efficiency == 1, "repairs %+v", r)
	expect.True(t, v.Tables.Links[0].Capacity == 0.25 && v.Tables.Decides, "links %+v", v.Tables.Links)
	want := 15.0 / (float64(v.Tables.Routes) / 0.25)
	expect.True(t, math.Abs(v.Tables.Unphased-want) <= 1e-9, "without phases %v, want %v", v.Tables.Unphased, want)
}

// Where all links between switches are slower than hosts, these have more than the links carry.
func TestJudgeSlowUplinks(t *testing.T) {
	in := input(t, "FT(2;2,2)", "dmodc")
	slow := map[string]float64{}
	for _, link := range []string{"leaf0-spine0", "leaf0-spine1", "leaf1-spine0", "leaf1-spine1"} {
		slow[link] = 0.5
	}
	in.Whole = slowed(t, in.Whole, slow)
	in.Net = in.Whole
	in.Tables = in.Tables.Clone("dmodc", in.Net)
	v := judged(t, in) // four messages of a leaf over two halves of a link
	expect.True(t, v.AtMost.Phases == 4 && v.AtMost.Efficiency == 0.75 && v.Planned.Efficiency <= 0.75 && v.Rate == 100e9, "at most %+v, planned %+v", v.AtMost, v.Planned)
}

// Parallel cables carry together what one cable of their rates carries: bounds are equal, and so
// is the order of repairs.
func TestJudgeSlowCables(t *testing.T) {
	phases := func(notation string, down []string, share map[string]float64) float64 {
		in := input(t, notation, "", down...)
		in.Whole = slowed(t, in.Whole, share)
		in.Net = expect.Value(in.Whole.Degrade(down))(t)
		return judged(t, in).AtMost.Phases
	}
	two := map[string]float64{}
	for leaf := range 4 {
		for _, cable := range []string{"spine0/0", "spine0/1", "spine1/0", "spine1/1"} {
			two[fmt.Sprintf("leaf%d-%s", leaf, cable)] = 0.5
		}
	}
	two["leaf2-spine0/1"] = 0.25
	for _, down := range []string{"", "leaf0-spine0/1", "leaf2-spine0/0"} {
		one, dead := map[string]float64{"leaf2-spine0": 0.75}, []string(nil)
		if down != "" {
			dead = []string{down}
			one[strings.TrimSuffix(strings.TrimSuffix(down, "/0"), "/1")] -= 0.5
		}
		if down == "leaf0-spine0/1" {
			one["leaf0-spine0"] = 0.5
		}
		a, b := phases("PGFT(2;4,4;1,2;1,2)", dead, two), phases("PGFT(2;4,4;1,2;1,1)", nil, one)
		expect.True(t, math.Abs(a/b-1) < 0.01, "%s: %v, with one cable %v", down, a, b)
	}
}

// The cable of a host is a link, too.
func TestJudgeSlowHost(t *testing.T) {
	in := input(t, "FT(2;4,4)", "")
	in.Whole = slowed(t, in.Whole, map[string]float64{"h5": 0.5})
	in.Net = in.Whole
	v := judged(t, in)
	expect.True(t, v.AtMost.Phases == 30 && strings.Contains(v.AtMost.Why, "h5-leaf1") && len(v.Repairs) == 1 && v.Repairs[0].Efficiency == 1,
		"%+v, repairs %+v", v.AtMost, v.Repairs)
}

// Of two and three levels whose cables carry 1 to 4 messages and some of whose hosts are slow, judge and plan have one
// bound: that of the links, or of a slow host's own cable. The plan takes no less.
func TestJudgeSlowHostsAndFastCables(t *testing.T) {
	levels := [4]int{}
	for seed := range uint64(expect.Samples(60, 12)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		notation := fmt.Sprintf("PGFT(2;%d,%d;1,%d;1,%d)", 1+rng.IntN(5), 2+rng.IntN(3), 1+rng.IntN(3), 1+rng.IntN(2))
		if seed%2 == 1 {
			notation = fmt.Sprintf("PGFT(3;%d,%d,%d;1,%d,%d;1,1,%d)", 1+rng.IntN(4), 1+rng.IntN(3), 2+rng.IntN(2), 1+rng.IntN(2), 1+rng.IntN(2), 1+rng.IntN(2))
		}
		in := input(t, notation, "")
		in.Whole.Notation = "" // as from a file: fast cables count
		share, slow, rates := []float64{0.25, 0.5, 0.75}[rng.IntN(3)], 1+rng.IntN(3), map[network.End]float64{}
		low, high, mixed := 1+rng.IntN(4), 1+rng.IntN(4), seed%4 == 0
		for i, c := range in.Whole.Cables() {
			switch leaf := in.Whole.HostCount(c.A.Node)+in.Whole.HostCount(c.B.Node) > 0; {
			case in.Whole.IsHost(c.A.Node) && i < slow && in.Whole.Hosts() > 2*slow:
				rates[c.A] = 100e9 * share
			case in.Whole.IsHost(c.A.Node):
				rates[c.A] = 100e9
			case mixed:
				rates[c.A] = 100e9 * float64(1+rng.IntN(4))
			case leaf:
				rates[c.A] = 100e9 * float64(low)
			default:
				rates[c.A] = 100e9 * float64(high)
			}
		}
		in.Whole = in.Whole.WithRates(rates)
		in.Net = in.Whole
		p := expect.Value(network.Spineless(in.Net))(t)
		r := p.Rates()
		if r.Faster || !p.Exact(&p.Tree.Live) {
			r.Faster, r.Least = true, minmax.OfTree(p, p.Tree)
		}
		made, err := best.Tree(p.Tree, plan.Options{Schedule: "fors"}, r)
		expect.Must(t, err)
		about := made.Of(made.Cost(plan.Equal, 0))
		what := fmt.Sprintf("seed %d, %s × %d, %d, mixed %t, %d hosts at %g", seed, notation, low, high, mixed, len(p.Rates().Hosts), share)
		expect.MustTrue(t, about.Takes >= about.Least-1e-9 && float64(made.Phases()) >= float64(made.Bound.Phases), "%s: %+v", what, about)
		v := judged(t, in)
		expect.MustTrue(t, v.AtMost.Phases > about.Least-1-1e-6 && v.AtMost.Phases < about.Least+1+1e-6, "%s: judge %g, plan %g", what, v.AtMost.Phases, about.Least)
		if !p.Exact(&p.Tree.Live) {
			continue
		}
		levels[p.Tree.Levels()]++
		expect.MustTrue(t, math.Abs(v.Planned.Efficiency-float64(in.Whole.Hosts()-1)/about.Takes) < 1e-9, "%s: judge plans %g, plan takes %g", what, v.Planned.Efficiency, about.Takes)
	}
	expect.True(t, levels[2] == expect.Samples(30, 6) && levels[3] >= expect.Samples(8, 1), "judged by levels: %v", levels)
}

// What is no better than the present is not offered: orders, tables and plans where hosts are slow.
func TestOnlyBetterIsOffered(t *testing.T) {
	offered := map[string]int{}
	all := expect.Samples(40, 10)
	for seed := range uint64(all) {
		rng := rand.New(rand.NewPCG(seed, 9))
		in := input(t, fmt.Sprintf("PGFT(2;%d,%d;1,%d;1,1)", 2+rng.IntN(3), 2+rng.IntN(3), 1+rng.IntN(3)), "opensm-minhop")
		in.Whole = slowed(t, in.Whole, map[string]float64{"h0": 0.5, "h3": []float64{0.25, 0.5, 1}[rng.IntN(3)]})
		in.Net = in.Whole
		in.Tables = in.Tables.Clone("opensm-minhop", in.Net)
		v := judged(t, in)
		now, text := v.Tables.Phased*(1+1e-9), ""
		better := func(x float64) bool {
			steps := float64(v.each)/x - float64(v.each)/v.Tables.Unphased
			return x > now && (x >= v.Tables.Unphased/1.03 || steps <= 2)
		}
		for _, row := range v.lines() {
			text += row[0] + "\n"
			offered[row[0]]++
		}
		expect.True(t, v.Ordered == nil || better(v.Ordered.Efficiency), "seed %d: order %+v, now %g", seed, v.Ordered, now)
		expect.True(t, strings.Contains(text, "plan\n") == better(v.Planned.Efficiency), "seed %d: plan %+v, now %g", seed, v.Planned, now)
		other := slices.ContainsFunc(v.Rerouted, func(x Tables) bool {
			return x.Phased > v.Tables.Phased*(1+1e-9) || x.Unphased > v.Tables.Unphased*(1+1e-9)
		})
		expect.True(t, strings.Contains(text, "re-route\n") == other, "seed %d: %+v, now %+v", seed, v.Rerouted, v.Tables)
	}
	expect.True(t, offered["tables"] == all && offered["plan"] < all, "offered: %v", offered)
}

// Of slow links a plan uses those with which it takes less time.
func TestPlannedSlow(t *testing.T) {
	for share, uses := range map[float64]bool{0.97: true, 0.9: false, 0.25: false} {
		in := input(t, "FT(2;4,4)", "")
		in.Whole = slowed(t, in.Whole, map[string]float64{"leaf0-spine0": share})
		in.Net = in.Whole
		p := judged(t, in).Planned
		expect.True(t, (len(p.Uses) == 1) == uses && (len(p.Avoids) == 0) == uses, "%v: %+v", share, p)
		if !uses {
			expect.True(t, p.Phases == 16 && p.Efficiency == 15.0/16, "%v: %+v", share, p)
			continue
		}
		// 12 of 15 phases or more have a message up or down that link.
		expect.True(t, p.Phases == 15 && p.Efficiency <= 15/(3+12/share)+1e-9 && p.Efficiency >= share, "%v: %+v", share, p)
	}
	in := input(t, "FT(2;4,4)", "")
	in.Whole = slowed(t, in.Whole, map[string]float64{"h5": 0.5})
	in.Net = in.Whole
	p := judged(t, in).Planned
	expect.True(t, p.Efficiency == 0.5 && p.Uses == nil && p.Avoids == nil, "a host with half of its rate: %+v", p)
}

// Three levels, also of more hosts than plans are made for: links of a pod.
func TestJudgeSlowPods(t *testing.T) {
	in := input(t, "FT(3;2,2,4)", "")
	in.Whole = slowed(t, in.Whole, map[string]float64{"s2_0/3": 0.5, "s2_1/3": 0.5})
	in.Net = in.Whole
	if v := judged(t, in); math.Abs(v.AtMost.Phases-48/3.0) > 1e-9 || v.AtMost.Witness != "pod0" || len(v.Repairs) != 2 {
		t.Errorf("%+v, repairs %+v", v.AtMost, v.Repairs)
	}
	in = input(t, "FT(3;11,11,11)", "", "s1_0-s2_0")
	v := judged(t, in)
	expect.True(t, v.AtMost.Phases == (11*1320/10.0) && v.AtMost.Witness == "leaf0" && v.Repairs[0].Efficiency == 1 &&
		strings.Contains(v.AtMost.Why, "an exchange takes at least 1452 steps"), "%+v, repairs %+v", v.AtMost, v.Repairs)
}

// Phases by what links carry are those of package lft where all carry the same, and half as
// fast where all carry half.
//
//gate:race
func TestPhasedIsCongest(t *testing.T) {
	in := input(t, "FT(2;4,6)", "opensm-minhop", "leaf1-spine2", "leaf3-spine0")
	f, err := newFabric(in.Whole, in.Net, in.Hosts)
	expect.Must(t, err)
	hosts := in.Net.Hosts()
	shifts := lft.Congest(in.Tables, lft.Shifts(hosts)) // with the one by 0
	want := shifts.Slowdown*float64(hosts) - 1
	got := expect.Value(f.tables(in.Tables))(t).Phases
	expect.True(t, math.Abs(got-want) <= 1e-9, "%v, want %v", got, want)
	rates := map[network.End]float64{}
	for _, c := range in.Net.SwitchCables() {
		rates[c.A] = 50e9
	}
	for v := range network.Node(in.Net.Hosts()) {
		rates[network.End{Node: v, Port: 1}] = 100e9
	}
	if f, err = newFabric(in.Whole, in.Net.WithRates(rates), in.Hosts); err != nil {
		t.Fatal(err)
	}
	if got := expect.Value(f.tables(in.Tables))(t).Phases; got < 1.9*want || got > 2*want+1e-9 {
		t.Errorf("links of half the rate: %v, whole %v", got, want)
	}
}

// What weights prove is near the bound of package scheduler where links are equal, and never
// above it.
func TestSplitIsABound(t *testing.T) {
	for seed := range uint64(30) {
		whole := expect.Value(network.Parse("FT(2;4,6)", 0))(t)
		dead := expect.Value(whole.Random(int(seed%7), seed))(t)
		f := expect.Value(newFabric(whole, whole.Without(dead, nil), network.AllHosts(whole)))(t)
		if f.tree == nil {
			continue
		}
		most, got := f.bound(f.faults()).phases, f.capacities(f.tree, f.faults()).split(f.demand)
		expect.False(t, f.tree.Connected() == nil && most > float64(f.tree.Servers()-1) && (got > most+1e-9 || got < 0.97*(most-1)),
			"seed %d: %v, the bound is %v", seed, got, most)
	}
}

// The repairs of 326 servers with nine dead links are ranked within two seconds.
func BenchmarkRepairs326(b *testing.B) {
	whole := expect.Value(network.Parse("FT(2;20,18)", 0))(b)
	dead := expect.Value(whole.Random(9, 1))(b)
	hosts := network.AllHosts(whole)
	hosts.Nodes = hosts.Nodes[:326]
	f := expect.Value(newFabric(whole, whole.Without(dead, nil), hosts))(b)
	for b.Loop() {
		expect.MustTrue(b, len(f.repairs(f.faults())) == 9, "repairs are missing")
	}
}

// The tables of 11,664 hosts are judged within twenty seconds.
func BenchmarkTables11664(b *testing.B) {
	n := expect.Value(network.Parse("FT(3;18,18,36)", 0))(b)
	t := expect.Value(engines.Compute("dmodc", n, engines.Options{}))(b)
	f := &fabric{whole: n, net: n, hosts: network.AllHosts(n)}
	expect.Must(b, f.take(traffic{}))
	for b.Loop() {
		expect.Must(b, expect.Err(f.tables(t)))
	}
}

func readWords(t *testing.T, w Words) (*Input, error) {
	t.Helper()
	n := expect.Value(network.Parse("FT(2;2,4)", 0))(t)
	in := &Input{Name: "FT(2;2,4)", Whole: n, Net: n}
	if w.Format == "" {
		w.Format = foreign.Auto
	}
	return in, w.Read(in, os.ReadFile)
}

// Hosts are those of the list, else of the result, else all.
func TestWords(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		expect.Must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	graph := file("graph", "START mpiGraph v1.5\nProcs\t2\nRecv\th5:0\th0:1\nh5:0 from\t0.0\t1.0\nh0:1 from\t1.0\t0.0\n")
	for _, x := range []struct {
		words        Words
		hosts, slots int
		rate         float64
	}{
		{Words{}, 8, 1, 0},
		{Words{Hosts: "h1:2\nh3:2\n", Rate: "10Gbit/s", Result: "50%"}, 2, 2, 1e10},
		{Words{Result: graph}, 2, 1, 0},
	} {
		in, err := readWords(t, x.words)
		expect.False(t, err != nil || len(in.Hosts.Nodes) != x.hosts || in.Hosts.Slots != x.slots || in.Rate != x.rate || (in.Result != nil) != (x.words.Result != ""),
			"%+v: %+v, %v", x.words, in, err)
	}
	for want, w := range map[string]Words{
		"--format":              {Format: "text"},
		"--rate":                {Rate: "fast"},
		"must be above 0":       {Rate: "0Gbit/s"},
		"--size":                {Size: "big"},
		"--size is for":         {Size: "1KiB", Result: "50%"},
		"--size is":             {Size: "1KiB", Result: graph},
		"--case chooses":        {Case: "x", Result: graph},
		"neither a file nor":    {Result: filepath.Join(dir, "none")},
		"none":                  {Result: filepath.Join(dir, "none"), Format: foreign.OSU},
		"is a directory":        {Result: dir},
		"bad: line 1: slots":    {Hosts: "h1:x\n", HostsFrom: "bad"},
		"is not in the network": {Result: file("other", "START mpiGraph v1.5\nRecv\tn1:0\tn2:1\nn1:0 from\t0.0\t1.0\nn2:1 from\t1.0\t0.0\n")},
	} {
		expect.Error(t, expect.Err(readWords(t, w)), want)
	}
}
