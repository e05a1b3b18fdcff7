package judge

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/study/judge/foreign"
	"evbench/testing/expect"
	"evbench/topology"
)

// input is a network with what is dead, its hosts and the tables of an engine.
func input(t *testing.T, notation, engine string, down ...string) Input {
	t.Helper()
	whole := expect.Value(network.Parse(notation, 0))(t)
	n, err := whole.Degrade(down)
	expect.Must(t, err)
	in := Input{Name: notation, Whole: whole, Net: n, Hosts: network.AllHosts(n)}
	if engine != "" {
		if in.Tables, err = engines.Compute(engine, n, engines.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func judged(t *testing.T, in Input) *Verdict {
	t.Helper()
	v := expect.Value(Judge(in))(t)
	return v
}

// The figures of the lab: 16 servers, a dead link.
func TestJudgeLab(t *testing.T) {
	in := input(t, "FT(2;4,4)", "opensm-minhop", "leaf0-spine0")
	in.Result = &foreign.Result{What: "lab", Efficiency: 0.616}
	v := judged(t, in)
	expect.True(t, v.AtMost.Phases == 16 && v.AtMost.Witness == "leaf0" && strings.Contains(v.AtMost.Why, "leaf0-spine0 dead"),
		"at most %+v", v.AtMost)
	expect.True(t, math.Abs(v.Measured.OfAtMost-0.616/(15.0/16)) <= 1e-9, "measured %+v", v.Measured)
	expect.True(t, len(v.Repairs) == 1 && v.Repairs[0].Link == "leaf0-spine0" && v.Repairs[0].Efficiency == 1, "repairs %+v", v.Repairs)
	expect.True(t, v.Planned.Phases == 16 && len(v.Rerouted) != 0 && v.Rerouted[0].Phases <= v.Tables.Phases,
		"planned %+v, rerouted %+v", v.Planned, v.Rerouted)
}

// A file has the shape of the notation that it was written from, in which cables that are
// not there are dead, and has its bound.
//
//gate:race
func TestJudgeFile(t *testing.T) {
	want := judged(t, input(t, "FT(2;4,8)", "", "leaf0-spine0", "leaf5-spine1"))
	in := input(t, "FT(2;4,8)", "", "leaf0-spine0", "leaf5-spine1")
	var text bytes.Buffer
	expect.Must(t, netfile.WriteIB(&text, in.Net))
	n := expect.Value(netfile.ReadIB(&text))(t)
	v := judged(t, Input{Name: "file", Whole: n, Net: n, Hosts: network.AllHosts(n)})
	expect.True(t, v.AtMost.Phases == want.AtMost.Phases && len(v.Dead) == 2 && len(v.Repairs) == 2 && v.Repairs[0].Link == "s1_0-s2_0",
		"%+v, dead %v, repairs %+v", v.AtMost, v.Dead, v.Repairs)
}

// Three levels: links of both.
func TestJudgePods(t *testing.T) {
	v := judged(t, input(t, "FT(3;2,2,4)", "dmodc", "s1_0-s2_0", "s2_2/3"))
	expect.MustTrue(t, v.AtMost != nil && len(v.Dead) == 2 && len(v.Repairs) == 2 && v.Planned != nil, "%+v", v)
	expect.True(t, v.Repairs[1].Efficiency == v.AtMost.Healthy, "all repaired: %v, healthy %v", v.Repairs[1].Efficiency, v.AtMost.Healthy)
}

// Other shapes have the judgement of their tables only, and say so.
func TestJudgeOther(t *testing.T) {
	v := judged(t, input(t, "Dragonfly(1;3;1;4)", "opensm-minhop"))
	expect.True(t, v.AtMost == nil && v.Tables != nil && len(v.Notes) != 0 && strings.HasPrefix(v.Notes[0], "no bound, repairs or plan: "), "%+v", v)
}

// Two cables between the upper levels of three; where one is dead, the tree no longer has the bound of the network, but all routes
// have one.
func TestJudgeStack(t *testing.T) {
	v := judged(t, input(t, "PGFT(3;2,2,2;1,2,2;1,1,2)", "opensm-minhop"))
	expect.True(t, v.AtMost != nil && v.AtMost.Phases == 7 && v.Planned.Phases == 7, "%+v", v.AtMost)
	v = judged(t, input(t, "PGFT(3;2,2,2;1,2,2;1,2,2)", "opensm-minhop", "s1_0/3"))
	expect.True(t, v.AtMost.Phases == 7 && v.Planned == nil && len(v.Dead) == 1 && strings.Contains(v.Notes[0], "evbench plan has one"), "%+v, %v", v.AtMost, v.Notes)
}

// Parallel cables die and are repaired one by one.
func TestJudgeCables(t *testing.T) {
	v := judged(t, input(t, "PGFT(2;4,4;1,2;1,2)", "opensm-minhop", "leaf0-spine0/0", "leaf1-spine1/1"))
	expect.MustTrue(t, v.AtMost != nil && v.Planned != nil && len(v.Repairs) == 2, "%+v", v)
	expect.True(t, v.AtMost.Phases == 16 && v.AtMost.Healthy == 1 && v.Planned.Phases == 16 && v.Repairs[1].Efficiency == 1, "%+v, %+v", v.AtMost, v.Planned)
	expect.True(t, strings.Join(v.Dead, " ") == "leaf0-spine0/0 leaf1-spine1/1" && strings.Contains(v.AtMost.Why, "3 of its 4 uplinks (1.33:1, oversubscribed): an exchange takes at least 16 steps; leaf0-spine0/0 dead"),
		"dead %v, why %q", v.Dead, v.AtMost.Why)
}

// Tables are judged as by following each pair, for any hosts in any order.
func TestTablesAgainstPairs(t *testing.T) {
	for seed := range uint64(8) {
		in := input(t, "FT(2;4,6)", []string{"opensm-minhop", "dmodc"}[seed%2], "leaf1-spine2", "leaf3-spine0")
		rng := rand.New(rand.NewPCG(seed, 0))
		rng.Shuffle(len(in.Hosts.Nodes), func(i, j int) {
			in.Hosts.Nodes[i], in.Hosts.Nodes[j] = in.Hosts.Nodes[j], in.Hosts.Nodes[i]
		})
		in.Hosts.Nodes = in.Hosts.Nodes[:10+seed]
		got := judged(t, in).Tables
		phases, most := slow(in.Tables, in.Hosts.Nodes)
		expect.True(t, math.Abs(got.Phases-float64(phases)) <= 1e-6 && got.Routes == max(most, int64(len(in.Hosts.Nodes)-1)),
			"seed %d: %v phases and %d routes, want %d and %d", seed, got.Phases, got.Routes, phases, most)
		for _, l := range got.Links {
			if !got.Decides {
				break
			}
			if want := over(in.Tables, in.Hosts.Nodes, l.end); len(want) != len(l.Pairs) || int64(len(want)) != l.Routes {
				t.Errorf("seed %d: %s: %d pairs of %d routes, want %d", seed, l.Port, len(l.Pairs), l.Routes, len(want))
			} else {
				for _, p := range l.Pairs {
					expect.True(t, want[p], "seed %d: %v does not pass %s", seed, p, l.Port)
				}
			}
		}
	}
}

// over are the pairs whose routes leave by a port.
func over(t *lft.Tables, hosts []network.Node, at network.End) map[HostPair]bool {
	out := map[HostPair]bool{}
	for _, src := range hosts {
		for _, dst := range hosts {
			if src == dst {
				continue
			}
			if path, _ := t.Route(src, int(t.Net.Info(dst).LID)); slices.Contains(path, at) {
				out[HostPair{t.Net.Info(src).Name, t.Net.Info(dst).Name}] = true
			}
		}
	}
	return out
}

func slow(t *lft.Tables, hosts []network.Node) (phases int, most int64) {
	all := map[network.End]int64{}
	for k := 1; k < len(hosts); k++ {
		shared, worst := map[network.End]int{}, 1
		for i, src := range hosts {
			path, _ := t.Route(src, int(t.Net.Info(hosts[(i+k)%len(hosts)]).LID))
			for _, e := range path[:len(path)-1] { // the last leads to the host
				shared[e]++
				all[e]++
				worst, most = max(worst, shared[e]), max(most, all[e])
			}
		}
		phases += worst
	}
	return phases, most
}

func TestJudgeRefuses(t *testing.T) {
	lost := input(t, "FT(2;2,4)", "dmodc")
	lost.Tables.Row(0)[lost.Net.Info(5).LID] = lft.NoPort
	good := input(t, "FT(2;2,4)", "")
	planes := input(t, "FT(2;2,4)", "", "leaf2-spine0", "leaf2-spine1")
	planes.Hosts.Host = []int{0, 1, 2, 3, 0, 4, 5, 6} // h0 and h4 are adapters of one
	with := func(r foreign.Result, rate float64) Input {
		in := good
		in.Result, in.Rate = &r, rate
		return in
	}
	for _, x := range []struct {
		name string
		in   Input
		want string
	}{
		{"a table that loses packets", lost, "no message is taken from h0 to h5"},
		{"other ranks", with(foreign.Result{Ranks: 9, Seconds: 1, Bytes: 1}, 1e9), "9 ranks, the hosts here have 8: --hosts"},
		{"no rate", with(foreign.Result{HostRate: 1e9}, 0), "--rate"},
		{"too good", with(foreign.Result{HostRate: 2e9}, 1e9), "more than the 100.0%"},
		{"other dead links", with(foreign.Result{Efficiency: 0.5, Down: []string{"leaf0-spine1"}, DownKnown: true}, 0), "the network has no dead link"},
		{"hosts that nothing joins", input(t, "FT(2;2,4)", "", "leaf2-spine0", "leaf2-spine1"), "no live cables join h0 and h4"},
		{"adapters of one host that nothing joins", planes, "no live cables join h1 and h4; of several planes judge one"},
		{"a host without a cable", input(t, "FT(2;2,4)", "", "h3"), "host h3 has no cable"},
	} {
		v, err := Judge(x.in)
		expect.True(t, err != nil && strings.Contains(err.Error(), x.want), "%s: %+v, error %v, want %q", x.name, v, err, x.want)
	}
}

// Several ranks on a host send their messages over one cable; those within it over none.
func TestEfficiency(t *testing.T) {
	in := input(t, "FT(2;2,4)", "")
	in.Hosts.Slots, in.Rate = 3, 8e9
	in.Result = &foreign.Result{Ranks: 24, Seconds: 1e-3, Bytes: 10_000}
	// 7 hosts · 9 pairs of ranks · 10 kB in a millisecond, of 1 GB/s.
	v := judged(t, in)
	e, err := v.efficiency(in)
	expect.True(t, err == nil && math.Abs(e-0.63) <= 1e-12, "%v, %v", e, err)
}

func TestReadHosts(t *testing.T) {
	n := input(t, "FT(2;2,4)", "").Net
	for text, want := range map[string]struct {
		hosts []network.Node
		slots int
	}{
		"h3\nh1 # the second\n":                {[]network.Node{3, 1}, 1},
		"h3 slots=2\nh1 slots=2 max_slots=4\n": {[]network.Node{3, 1}, 2},
		"h3:4\nh1:4\n":                         {[]network.Node{3, 1}, 4},
		"h[2-4]\n":                             {[]network.Node{2, 3, 4}, 1},
		"h0\nh1\nh0\nh1\n":                     {[]network.Node{0, 1}, 2},
		"server7\nserver0\n":                   {[]network.Node{7, 0}, 1},
		"h3 h1\n":                              {[]network.Node{3, 1}, 1},
		"h3 h1 h2\n":                           {[]network.Node{3, 1, 2}, 1},
		"h3-ib0.site\nh1-hsn0\n":               {[]network.Node{3, 1}, 1},
		"2: h1\n0: h3\n3: h1\n1: h3\n":         {[]network.Node{3, 1}, 2},
		mpirunMap:                              {[]network.Node{3, 1}, 3},
		mpirunMap[:strings.Index(mpirunMap, " Data")]:                                                                                      {[]network.Node{3, 1}, 4},
		"SLURM_DISTRIBUTION=block\nSLURM_JOB_ID=7\nSLURM_JOB_NODELIST=h[3,1]\nSLURM_TASKS_PER_NODE=4(x2)\n":                                {[]network.Node{3, 1}, 4},
		" Data for node: h1.a.b\tNum slots: 1\tMax slots: 0\tNum procs: 1\n Data for node: h0\tNum slots: 1\tMax slots: 0\tNum procs: 1\n": {[]network.Node{1, 0}, 1},
		"SLURM_DISTRIBUTION=block\nSLURM_NODELIST=h[1-3]\n":                                                                                {[]network.Node{1, 2, 3}, 1},
		"SLURM_DISTRIBUTION=block\nSLURM_JOB_NODELIST=h[0-7]\nSLURM_STEP_NODELIST=h[1-2]\nSLURM_STEP_TASKS_PER_NODE=2,2\n":                 {[]network.Node{1, 2}, 2},
	} {
		h, err := network.ReadJob(strings.NewReader(text), n)
		if err != nil || h.Slots != want.slots || len(h.Nodes) != len(want.hosts) {
			t.Errorf("%q: %+v, %v", text, h, err)
			continue
		}
		for i, v := range want.hosts {
			expect.True(t, h.Nodes[i] == v, "%q: %v", text, h.Nodes)
		}
	}
	for text, want := range map[string]string{
		"":                                   "0 hosts",
		"h0\n":                               "1 host: an",
		"h0\nnode1\n":                        "line 2: host node1 is not in the network",
		"h0\ns1_0\n":                         "is a switch",
		"h0 slots=2\nh1\n":                   "h0 has 2 ranks and h1 has 1",
		"h0\nh1\nh0\n":                       "line 3: h0 has 2 ranks and h1 has 1",
		"h0\n10.0.0.1\n":                     "line 2: host 10.0.0.1 is not in the network",
		"h0\nh99.a\n":                        "line 2: host h99.a is not in the network",
		"h0 slots=-1\n":                      "slots",
		" Data for node: h0\tNum slots: 4\n": "is not a host of mpirun's map with its number of ranks",
		" Data for node:\n":                  "is not a host of mpirun's map with its number of ranks",
		"h0 cores=3\n":                       "there is slots=N",
		"h[0-\n":                             "line 1",
		"h0:4097\nh1:4097\n":                 "slots",
		"0: h0\n0: h1\n":                     "line 2: rank 0 is given twice; first on line 1",
		"h0 mlx5_0\nh1\n":                    "line 1: host h0 has no adapter mlx5_0 in the network; it has h0",
		"node1 mlx5_0\nh1\n":                 "line 1: adapter mlx5_0 of host node1 is not in the network",
		"a h0\na h1\nb h2\na h1\n":           "line 4: adapter h1 of host a is named twice",
		"a h0\nb h0\n":                       "line 2: h0 is of host a and of host b",
		"a h0\nb h2 slots=2\n":               "a has 1 rank and b has 2",
		"a h0\na h1 slots=2\nb h2\n":         "adapters of a have 1 and 2 ranks",
		"h0 x y\n":                           "line 1: host x is not in the network",
		"0: h0\n2: h1\n":                     "rank 2 of 2",
		"0: h0\nh1\n":                        "is not a rank and its host",
		"SLURM_JOB_ID=7\n":                   "without SLURM_JOB_NODELIST",
		"SLURM_JOB_NODELIST=h[0-2]\nSLURM_TASKS_PER_NODE=2(x2)\n":                             "other than 3 nodes",
		"SLURM_DISTRIBUTION=block\nSLURM_JOB_NODELIST=h[0-2]\nSLURM_TASKS_PER_NODE=2(x2),1\n": "h0 has 2 ranks and h2 has 1",
		"SLURM_JOB_NODELIST=h[0-2]\nSLURM_TASKS_PER_NODE=2(x99999999)\n":                      "tasks of nodes",
		"SLURM_JOB_NODELIST=h[0-2]\nSLURM_TASKS_PER_NODE=two\n":                               "tasks of nodes",
		" Data for node: h9\tNum slots: 4\tMax slots: 0\tNum procs: 3\n":                      "line 1: host h9 is not in the network",
	} {
		expect.Error(t, expect.Err(network.ReadJob(strings.NewReader(text), n)), want)
	}
}

// mpirunMap is what mpirun shows with --display-allocation --display-map.
const mpirunMap = "======================   ALLOCATED NODES   ======================\n" +
	"\th3: flags=0x11 slots=4 max_slots=0 slots_inuse=0 state=UP\n\th1: flags=0x10 slots=4 max_slots=0 slots_inuse=0 state=UP\n" +
	"=================================================================\n" +
	" Data for JOB [15366,1] offset 0 Total slots allocated 8\n\n ========================   JOB MAP   ========================\n\n" +
	" Data for node: h3\tNum slots: 4\tMax slots: 0\tNum procs: 3\n \tProcess OMPI jobid: [15366,1] App: 0 Process rank: 0 Bound: N/A\n" +
	" Data for node: h1\tNum slots: 4\tMax slots: 0\tNum procs: 3\n \tProcess OMPI jobid: [15366,1] App: 0 Process rank: 3 Bound: N/A\n"

// A job keeps the names of their list, each once, also where a list goes on later, or has two
// names for one host.
func TestHostNames(t *testing.T) {
	n := input(t, "FT(2;2,4)", "").Net
	for text, want := range map[string]string{
		"# all\nh[1-2] slots=3\n\nh0:4 # late\nh2\nh1\n": "[h1 h2 h0]",
		"h1\nserver0\nserver1\nh0\n":                     "[h1 server0 server1 h0]",
		"h1.cluster.example\nh0\n":                       "[h1 h0]",
	} {
		h, err := network.ReadJob(strings.NewReader(text), n)
		expect.True(t, err == nil && fmt.Sprint(h.Names) == want, "%q: %v, %v; want %s", text, h.Names, err, want)
	}
}

func FuzzReadHosts(f *testing.F) {
	n := expect.Value(network.Parse("FT(2;2,4)", 0))(f)
	f.Add("h3 slots=2\nh1 slots=2\n")
	f.Add("h[0-7]:3\n")
	f.Add(mpirunMap)
	f.Add("SLURM_JOB_NODELIST=h[0-2]\nSLURM_TASKS_PER_NODE=2(x2),2\n")
	f.Add("0: h0\n1: h1\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := network.ReadJob(strings.NewReader(text), n)
		if err != nil {
			return
		}
		seen := map[network.Node]bool{}
		for _, v := range h.Nodes {
			expect.MustTrue(t, !seen[v] && n.IsHost(v), "%q: %v", text, h.Nodes)
			seen[v] = true
		}
		expect.MustTrue(t, h.Slots >= 1 && len(h.Nodes) >= 2, "%q: %+v", text, h)
	})
}

// A bound of what is left of a tree names links that are dead.
//
//gate:race
func TestReasons(t *testing.T) {
	for seed := range uint64(20) {
		healthy, _ := topology.New(topology.Options{Ports: 4, Leaves: 6})
		dead := expect.Value(healthy.Random(6, seed))(t)
		v := judged(t, input(t, "FT(2;4,6)", "", topology.LinkNames(dead)...))
		expect.False(t, v.AtMost.Witness != "server" && !strings.Contains(v.AtMost.Why, "leaf"), "%+v", v.AtMost)
		last := v.Repairs[len(v.Repairs)-1]
		expect.True(t, last.Efficiency == 1 && len(v.Dead) == 6, "after all repairs %+v", last)
	}
}

// What the programs printed on 16 servers of the lab at 20 Mbit/s with a dead link, under tables that allow 62.5 %,
// with the labels of mpirun, too.
// An exchange ends with its slowest rank, whose time counts where it is printed. Where a mean or a burst hides it, the
// figure is an upper limit, nothing is refused, and no tables are said to have been others.
func TestMeasuredBySlowest(t *testing.T) {
	read := func(name string) string {
		text := expect.Value(os.ReadFile("testdata/" + name + ".txt"))(t)
		return string(text)
	}
	mean := strings.NewReplacer("   Min Latency(us)   Max Latency(us)  Iterations", "", "         860787.85        1982171.37           5", "")
	const fragments = 15 * 131072 * 8 / 20e6 // seconds on the link of a host
	for _, x := range []struct {
		name, text string
		efficiency float64
		limit      string
	}{
		{"osu_alltoall -f", read("osu-5.3-f"), fragments / 1.98217137, ""},
		{"that without -f", mean.Replace(read("osu-5.3-f")), fragments / 1.20955487, "mean of the ranks"},
		{"osu_alltoall", read("osu-5.3"), fragments / 1.35826771, "mean of the ranks"},
		{"osu_alltoallv -c -f", read("osu-7.4-alltoallv-f"), fragments / 1.6171102, ""},
		{"IMB-MPI1 Alltoall", read("imb-2021.11"), fragments / 1.42029593, ""},
		{"mpiGraph", read("mpigraph-1.5-64KiB"), 0.558, "bursts from buffers"},
		{"osu_alltoall -f, Open MPI 4.1, --tag-output --timestamp-output", read("osu-7.4-tag-time-ompi4"), fragments / 2 / 0.75455332, ""},
		{"osu_alltoall -f, Open MPI 5.0, --output tag,timestamp", read("osu-7.4-tag-time-ompi5"), fragments / 2 / 0.72030079, ""},
		{"osu_alltoall -f, Open MPI 5.0, --output xml", read("osu-7.4-xml-ompi5"), fragments / 2 / 0.76939186, ""},
		{"IMB-MPI1 Alltoall, Open MPI 5.0, --output tag,timestamp", read("imb-2021.11-tag-time-ompi5"), fragments / 2 / 0.66004993, ""},
		{"mpiGraph, Open MPI 4.1, --tag-output --timestamp-output", read("mpigraph-1.5-tag-time-ompi4"), 0.554, "bursts from buffers"},
	} {
		in := input(t, "FT(2;4,4)", "minhop", "leaf0-spine0")
		r, err := foreign.Read([]byte(x.text), foreign.Options{})
		expect.Must(t, err, "%s", x.name)
		in.Result, in.Rate = r, 20e6
		v := judged(t, in)
		m := v.Measured
		expect.True(t, math.Abs(m.Efficiency-x.efficiency) <= 5e-4 && (m.Limit == "") == (x.limit == "") && strings.Contains(m.Limit, x.limit),
			"%s: %+v, want %.4f and %q", x.name, m, x.efficiency, x.limit)
		text := v.Answer().Sentence
		for _, row := range v.lines() {
			text += "\n" + strings.Join(row, " ")
		}
		expect.True(t, !strings.Contains(text, aboveTables) && strings.Contains(strings.ToLower(text), "no more than") == (x.limit != ""),
			"%s:\n%s", x.name, text)
	}
}

// A mean is refused only where no rank could have been so fast, with several ranks on a host, too.
func TestMeanRefused(t *testing.T) {
	in := input(t, "FT(2;2,2)", "")
	in.Rate = 8e9
	for _, x := range []struct {
		slots   int
		seconds float64 // of 3·slots² MB over the link of a host, a millisecond each
		refused bool
	}{{1, 2.95e-3, false}, {1, 2.9e-3, true}, {3, 26.6e-3, false}, {3, 26e-3, true}} {
		in.Hosts.Slots = x.slots
		for _, limit := range []string{"a mean", ""} {
			in.Result = &foreign.Result{What: "a call", Seconds: x.seconds, Bytes: 1e6, Ranks: 4 * x.slots, Limit: limit}
			v, err := Judge(in)
			expect.True(t, (err != nil) == x.refused, "%+v, limit %q: %+v, %v", x, limit, v, err)
		}
	}
}

// The page has the answer first, and each link that is dead or decides.
func TestWritePage(t *testing.T) {
	for _, x := range []struct {
		notation string
		down     []string
		want     []string
	}{
		{"FT(2;4,4)", []string{"leaf0-spine0"}, []string{
			`<p class="answer">BAD: `, "10.0% of the link rate was measured; 93.8% is possible. Its tables allow 62.5%: spine1 to leaf0 is their fullest link. Repair leaf0-spine0, or run a plan.", "its tables allow more: measure the pairs",
			"<td>h0</td><td class=\"n\">12</td><td>h[4-9],h[10-15]</td>",
			"<title>leaf0-spine0: dead</title>", "<title>leaf0-spine1: 16 routes up, 24 down; decides</title>", "dfsssp",
		}},
		{"FT(3;2,2,4)", []string{"s1_0-s2_0", "s2_2/3"}, []string{"leaf0-spine0: dead", "pod1-spine0-top0: dead"}},
		{"PGFT(2;4,4;1,2;1,2)", []string{"leaf0-spine0/0"}, []string{"<title>leaf0-spine0/0: dead</title>", "<title>leaf0-spine0/1: 1", "Repair leaf0-spine0/0"}},
		{"PGFT(2;4,7;1,2;1,16)", nil, []string{"no bound, repairs or plan", "routes up"}},
	} {
		in := input(t, x.notation, "opensm-minhop", x.down...)
		in.Result = &foreign.Result{What: "a run", Efficiency: 0.1}
		var b strings.Builder
		expect.Must(t, judged(t, in).WritePage(&b))
		for _, want := range x.want {
			expect.True(t, strings.Contains(b.String(), want), "%s: no %q", x.notation, want)
		}
	}
}
