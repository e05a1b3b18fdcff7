package judge

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/site/engines"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/study/judge/foreign"
	"evbench/testing/expect"
)

// rails is a network with one adapter of each host on each leaf, called as ibnetdiscover calls adapters.
func rails(t *testing.T, hosts, each, spines int) *network.Network {
	t.Helper()
	n := expect.Value(network.Parse(fmt.Sprintf("PGFT(2;%d,%d;1,%d;1,1)", hosts, each, spines), 0))(t)
	info := make([]network.Info, n.Nodes())
	for v := range network.Node(n.Nodes()) {
		info[v] = n.Info(v)
		if n.IsHost(v) {
			info[v].Name = fmt.Sprintf("node%03d mlx5_%d", int(v)%hosts, int(v)/hosts)
		}
	}
	return n.WithInfo(info)
}

// 64 hosts of 8 adapters on rails, one dead cable: the right link, and the bound of the messages that the network carries.
func TestJudgeRails(t *testing.T) {
	whole := rails(t, 64, 8, 32)
	net := expect.Value(whole.Degrade([]string{"leaf3-spine5"}))(t)
	in := Input{Name: "rails", Whole: whole, Net: net, Hosts: network.AllHosts(net)}
	in.Tables = expect.Value(engines.Compute("dmodc", net, engines.Options{}))(t)
	v := judged(t, in)
	expect.True(t, v.Hosts == 64 && v.Adapters == 512 && v.Slots == 8, "%d hosts, %d adapters, %d ranks", v.Hosts, v.Adapters, v.Slots)
	// 64 adapters of leaf3 send to 7 adapters of 63 other hosts; in the full exchange of 64.
	expect.True(t, v.AtMost.Phases == math.Ceil(64*7*63/31.0) && v.AtMost.Full == math.Ceil(64*7*64/31.0), "at most %+v", v.AtMost)
	expect.Contains(t, v.AtMost.Why, "leaf3 has 64 adapters and 31 of its 32 uplinks (2.06:1, oversubscribed), and 28224 messages for other leaves; leaf3-spine5 dead")
	expect.True(t, len(v.Repairs) == 1 && v.Repairs[0].Link == "leaf3-spine5" && v.Repairs[0].Phases == 882, "repairs %+v", v.Repairs)
	p := v.Planned
	expect.True(t, float64(p.Phases) >= v.AtMost.Phases && float64(p.Phases) <= v.AtMost.Full && p.Efficiency == 504/float64(p.Phases), "planned %+v", p)
	expect.True(t, len(v.Rails) == 8 && v.Rails[3].Phases > v.Rails[2].Phases && v.Rails[3].Tables < v.Rails[2].Tables && v.Rails[7].Adapters == 64, "rails %+v", v.Rails)
	var text bytes.Buffer
	expect.Must(t, v.Document().Write(&text, "text"))
	expect.Contains(t, text.String(), "64 hosts, 8 adapters each, one rank an adapter", "4 to 7 (leaf4 to leaf7): 64 adapters, at most 57.1% of the link rate")
}

// Bounds, tables and plans of hosts of several adapters, and of readers and builders, against counting message by message.
func TestTrafficAgainstPairs(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 5))
		in := input(t, "PGFT(2;6,4;1,3;1,1)", "", fmt.Sprintf("leaf%d-spine1", rng.IntN(4)))
		in.Tables = expect.Value(engines.Compute("opensm-minhop", in.Net, engines.Options{}))(t)
		if seed%3 != 1 {
			in.Hosts.Host = make([]int, 24)
			for i := range in.Hosts.Host {
				in.Hosts.Host[i] = i / 2
			}
			rng.Shuffle(24, func(i, j int) { in.Hosts.Nodes[i], in.Hosts.Nodes[j] = in.Hosts.Nodes[j], in.Hosts.Nodes[i] })
		}
		if seed%3 != 0 {
			in.Readers, in.Builders = "server0-17", "leaf2-3"
		}
		v := judged(t, in)
		out, in2, links := make([]int, 24), make([]int, 24), map[network.End]int64{}
		var up, down [4]int
		for i, a := range in.Hosts.Nodes {
			for j, b := range in.Hosts.Nodes {
				if i == j || in.Hosts.Host != nil && in.Hosts.Host[i] == in.Hosts.Host[j] || in.Readers != "" && (a >= 18 || b < 12) {
					continue
				}
				out[i]++
				in2[j]++
				if a/6 != b/6 {
					up[a/6]++
					down[b/6]++
				}
				way, _ := in.Tables.Route(a, int(in.Net.Info(b).LID))
				for _, e := range way[:len(way)-1] {
					links[e]++
				}
			}
		}
		least, most := max(slices.Max(out), slices.Max(in2)), int64(0)
		for leaf := range 4 {
			live := 0
			for port := 7; port <= 9; port++ {
				if in.Net.At(in.Net.Switch(leaf), port).Node != network.NoNode {
					live++
				}
			}
			least = max(least, (max(up[leaf], down[leaf])+live-1)/live)
		}
		for _, n := range links {
			most = max(most, n)
		}
		expect.True(t, v.AtMost.Phases >= float64(least) && v.AtMost.Phases <= float64(least)+1, "seed %d: at most %+v, links need %d", seed, v.AtMost, least)
		expect.True(t, v.Tables.Routes == max(most, v.each) && v.each == int64(max(slices.Max(out), slices.Max(in2))), "seed %d: %d routes, want %d", seed, v.Tables.Routes, most)
		expect.True(t, v.Planned != nil && float64(v.Planned.Phases) >= v.AtMost.Phases && float64(v.Planned.Phases) <= v.AtMost.Phases+3, "seed %d: planned %+v, at most %+v", seed, v.Planned, v.AtMost)
		expect.True(t, len(v.Repairs) == 1 && v.Repairs[0].Phases <= v.AtMost.Phases, "seed %d: %+v", seed, v.Repairs)
	}
}

// Adapters are of one host by the first word of their description, or as ports of one adapter; a maker's name is none.
func TestAllHosts(t *testing.T) {
	n := rails(t, 4, 2, 2)
	names := func(names ...string) *network.Network {
		info := make([]network.Info, n.Nodes())
		for v := range network.Node(n.Nodes()) {
			if info[v] = n.Info(v); n.IsHost(v) {
				info[v].Name, info[v].GUID = names[int(v)%len(names)], uint64(v)+1
			}
		}
		return n.WithInfo(info)
	}
	for _, x := range []struct {
		net  *network.Network
		want string
	}{
		{n, "0 4 1 5 2 6 3 7 [0 0 1 1 2 2 3 3]"},
		{names("a", "b"), "0 2 4 6 1 3 5 7 [0 0 0 0 1 1 1 1]"},
		{names("b:1", "b:2", "a 1", "a 2", "b:1", "b:2", "a 3", "a 4"), "0 4 1 5 2 3 6 7 [0 0 0 0 1 1 1 1]"},
		{names("MT4123 ConnectX6 Mellanox Technologies"), "0 1 2 3 4 5 6 7 []"},
		{names("localhost mlx5_0"), "0 1 2 3 4 5 6 7 []"},
		{names("mlx5_0"), "0 1 2 3 4 5 6 7 []"},
		{names(" HCA-1", "(none) mlx5_0", "localhost.localdomain mlx5_1"), "0 1 2 3 4 5 6 7 []"},
		{names("a mlx5_0", "a mlx5_1", "b mlx5_0", "c mlx5_0", "a mlx5_0", "a mlx5_1", "b mlx5_1", "d mlx5_0"), "0 1 2 6 3 4 5 7 [0 1 2 2 3 4 5 6]"}, // two are called a
		{names("a", "b", "c", "d", "e", "f", "g", "h"), "0 1 2 3 4 5 6 7 []"},
	} {
		h := network.AllHosts(x.net)
		expect.Equal(t, strings.Trim(fmt.Sprint(h.Nodes), "[]")+" "+fmt.Sprint(h.Host), x.want, "hosts")
	}
	// A file of InfiniBand with two adapters a host reads so, too.
	var text bytes.Buffer
	expect.Must(t, netfile.WriteIB(&text, n))
	expect.True(t, network.AllHosts(expect.Value(netfile.ReadIB(&text))(t)).Hosts() == 4, "hosts of the file")
	for text, want := range map[string]string{
		"node000\nnode002\n":                        "0 4 2 6 [0 0 1 1] 1",
		"node[000-001]:4":                           "0 4 1 5 [0 0 1 1] 2",
		"node000 mlx5_1\nnode001 mlx5_0 slots=1\n":  "4 1 [] 1",
		"node[000-001] mlx5_1\nnode003.a.b mlx5_0":  "4 5 3 [] 1",
		"node001 mlx5_1\nnode000\nnode001 mlx5_0\n": "5 1 0 4 [0 0 1 1] 1",
	} {
		h := expect.Value(network.ReadJob(strings.NewReader(text), n))(t)
		expect.Equal(t, strings.Trim(fmt.Sprint(h.Nodes), "[]")+" "+fmt.Sprint(h.Host, h.Slots), want, "%q", text)
	}
	for text, want := range map[string]string{
		"node000 slots=3\nnode001 slots=3\n": "line 1: node000 has 3 ranks and 2 adapters",
		"node000 mlx5_7\nnode001\n":          "line 1: host node000 has no adapter mlx5_7 in the network; it has mlx5_0, mlx5_1",
		"node000\nnode001\nnode000 mlx5_0\n": "line 3: host node000 has a line of its own and lines for adapters",
		"node000 0x0000000000100001\n":       "",
	} {
		_, err := network.ReadJob(strings.NewReader(text), n)
		expect.Error(t, err, want)
	}
}

// What does not go with readers and builders is an error.
func TestJudgeRolesRefuses(t *testing.T) {
	for want, in := range map[string]Input{
		"there is no server3: leaf1 has 1 servers":        {Readers: "server3"},
		"readers and builders are servers of a tree":      {Readers: "server0", Whole: expect.Value(network.Parse("PGFT(2;4,4;1,2;1,16)", 0))(t)},
		"no server has a message for a server of another": {Readers: "server0", Builders: "server1", Hosts: network.Job{Host: []int{0, 0, 1, 2, 3, 4, 5}}},
	} {
		if in.Whole == nil {
			in.Whole = expect.Value(network.Parse("FT(2;2,4)", 0))(t)
		}
		in.Net = in.Whole
		all := network.AllHosts(in.Net)
		in.Hosts.Nodes, in.Hosts.Slots = slices.Delete(all.Nodes, 3, 4), 1
		expect.Error(t, expect.Err(Judge(in)), want)
	}
}

// T* of any matrix: equal sizes are phases, weights prove it by themselves, and what another method proves is not above it, and near it.
func TestJudgeSizes(t *testing.T) {
	proofs := 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 9))
		notation, down, other := "PGFT(2;4,4;1,2;1,2)", []string{"leaf0-spine0/1", "leaf1-spine1/0"}, 8
		if seed%2 == 1 {
			notation, down, other = "FT(2;3,5)", []string{"leaf0-spine0", "leaf1-spine1"}, 6
		}
		in := input(t, notation, "opensm-minhop", down...)
		h := len(in.Hosts.Nodes)
		in.Bytes = make([]int64, h*h)
		for i := range in.Bytes {
			if in.Bytes[i] = 1000; seed > 1 {
				in.Bytes[i] = rng.Int64N(10) * rng.Int64N(1000) * rng.Int64N(2)
			}
			if src, dst := i/h, i%h; seed > 1 && src < other/2 && dst >= other/2 && dst < other { // leaf0 to leaf1, which share few links
				in.Bytes[i] += 3000
			}
		}
		in.Rate, in.Result = 8e9, &foreign.Result{Sized: true, Seconds: 1, What: "x"}
		v := judged(t, in)
		if seed < 2 {
			equal := judged(t, input(t, notation, "", down...))
			expect.True(t, math.Abs(v.AtMost.ByteTimes/1000-equal.AtMost.Phases) < 1 && v.AtMost.ByteTimes >= 1000*(equal.AtMost.Phases-1), "T* %v, %v phases", v.AtMost.ByteTimes, equal.AtMost.Phases)
		}
		f := expect.Value(newFabric(in.Whole, in.Net, in.Hosts))(t)
		expect.Must(t, f.take(traffic{bytes: in.Bytes}))
		weighed, best := f.capacities(f.tree, f.faults()).split(f.demand), v.AtMost.ByteTimes
		expect.True(t, weighed <= best+1 && best >= float64(v.each), "seed %d: T* %v, weights of another method prove %v", seed, best, weighed)
		if v.AtMost.Witness == "lp" {
			proofs++
			expect.True(t, weighed > 0.97*best, "seed %d: T* %v, weights of another method prove %v", seed, best, weighed)
			expect.True(t, proves(f, v.AtMost.Weights) > best-1-1e-6, "seed %d: weights prove %v, not %v", seed, proves(f, v.AtMost.Weights), best)
		}
		expect.True(t, v.AtMost.Seconds == best*8/8e9 && v.Measured.Efficiency == float64(v.each)*8/8e9 && v.AtMost.Phases == 0, "%+v, %+v", v.AtMost, v.Measured)
		expect.True(t, v.Tables.Phased == 0 && v.Tables.Unphased <= v.AtMost.Efficiency*(1+1e-6) && len(v.Repairs) == 2, "%+v", v.Tables)
		if seed%2 == 1 {
			expect.True(t, v.Planned != nil && v.Planned.Efficiency <= v.AtMost.Efficiency && v.Planned.Efficiency > 0.8*v.AtMost.Efficiency, "seed %d: planned %+v of %v", seed, v.Planned, v.AtMost.Efficiency)
		}
		var text bytes.Buffer
		expect.Must(t, v.Document().Write(&text, "text"))
		expect.Must(t, v.Document().Write(&text, "json"))
		expect.Must(t, v.WritePage(&text))
		expect.Contains(t, text.String(), fmt.Sprintf("%.0f byte times for %d bytes of the busiest", best, v.each), "without phases: engine opensm-minhop")
	}
	expect.True(t, proofs > 5, "%d matrices have weights", proofs)
}

// proves returns the time that weights prove, link by link.
func proves(f *fabric, weights []Weight) float64 {
	up, down, sum := map[string]float64{}, map[string]float64{}, 0.0
	for _, w := range weights {
		up[w.Link], down[w.Link] = float64(w.Up), float64(w.Down)
		sum += float64(w.Up + w.Down)
	}
	t, load := f.tree, 0.0
	for at, n := range f.demand {
		least := math.Inf(1)
		for k := range t.Spines() {
			for i := range t.Cables() {
				for j := range t.Cables() {
					a, b := t.Cable(at/t.Leaves(), k, i), t.Cable(at%t.Leaves(), k, j)
					if t.LinkAlive(a) && t.LinkAlive(b) {
						least = min(least, up[t.LinkName(a)]+down[t.LinkName(b)])
					}
				}
			}
		}
		if n > 0 {
			load += n * least
		}
	}
	return load / sum
}

func TestJudgeSizesRefuses(t *testing.T) {
	in := input(t, "FT(2;2,2)", "")
	for want, r := range map[string]*foreign.Result{
		"give them with --sizes":                    {Sized: true, Seconds: 1},
		"--sizes is for the time":                   {Seconds: 1, Bytes: 10},
		"its busiest rank has 10 bytes, that of --": {Sized: true, Seconds: 1, Busiest: 10},
	} {
		if in.Bytes = slices.Repeat([]int64{100}, 16); strings.HasPrefix(want, "give") {
			in.Bytes = nil
		}
		in.Result = r
		expect.Error(t, expect.Err(Judge(in)), want)
	}
	in.Bytes, in.Result = make([]int64, 16), nil
	expect.Error(t, expect.Err(Judge(in)), "no server has a message")
}
