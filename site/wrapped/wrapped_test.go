package wrapped

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
)

func networkOf(t *testing.T, notation string, down ...string) (whole, net *network.Network) {
	t.Helper()
	s, err := netfile.Read(notation, 0)
	expect.Must(t, err)
	net, err = s.Whole.Degrade(down)
	expect.Must(t, err)
	return s.Whole, net
}

// The plan goes around slow cables as that of evbench plan does, and the report says how long the exchange takes.
func TestSlowCables(t *testing.T) {
	whole, _ := networkOf(t, "../netfile/testdata/ft2_4_4_slow.txt.gz")
	var hosts []Host
	for v := range whole.Hosts() {
		hosts = append(hosts, Host{Node: network.Node(v), Ranks: 2})
	}
	var r Report
	r.about(expect.Value(newJob(whole, whole, hosts, nil))(t))
	expect.Equal(t, r.Answer().String(), "NOT KNOWN: The exchange takes as long as 16 messages in a row; no plan takes less than 15, 1 less than this one, and whether a shorter one exists is not known.", "answer")
	expect.True(t, r.Phases == 16 && r.Hosts == 16 && r.Ranks == 32 && r.Bound == 1 && r.link == 2, "%+v", r)
}

// TestJob plans for some hosts of a network, in an order of their own.
func TestJob(t *testing.T) {
	whole, net := networkOf(t, "FT(2;4,4)", "leaf0-spine0")
	var hosts []Host
	for _, v := range []int{9, 1, 3, 6, 0, 11} {
		hosts = append(hosts, Host{Node: network.Node(v), Name: fmt.Sprintf("n%d.x", v), Ranks: 2})
	}
	j := expect.Value(newJob(whole, net, hosts, nil))(t)
	if down := fmt.Sprint(j.Plan.Tree.DownNames()); down != "[leaf0-spine0]" || j.Plan.Paths.Most > 1 {
		t.Errorf("down %s, paths %+v", down, j.Plan.Paths)
	}
	var b bytes.Buffer
	expect.Must(t, j.Write(&b))
	want := "# evbench plan 4\n# x-host 0 n0.x 2\n# x-host 1 n1.x 2\n# x-host 2 n3.x 2\n# x-host 4 n6.x 2\n# x-host 8 n9.x 2\n# x-host 9 n11.x 2\n# topology "
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("the file begins with\n%.300s", b.String())
	}
	p, err := plan.Read(&b, nil)
	expect.False(t, err != nil || p.Hash() != j.Plan.Hash(), "read back: %v", err)
	routes := expect.Value(j.Routes())(t)
	// A leaf sends to a host through the spine of the plan, in every table.
	for src, h := range j.hosts {
		for dst, d := range j.hosts {
			k, _ := j.Plan.Tree.SpineTop(j.Plan.Path(src, dst))
			if k < 0 {
				continue
			}
			leaf := net.Leaf(h.Node).Node
			port := routes.Tables.Row(net.Index(leaf))[routes.Net.Info(d.Node).LID]
			if at := net.At(leaf, int(port)).Node; net.Index(at) != j.Plan.Tree.Leaves()+k {
				t.Errorf("from %s to %s by %s, not spine%d", h.Name, d.Name, net.Info(at).Name, k)
			}
		}
	}
}

// TestJobOfThreeLevels plans for all hosts of a network whose switches have names of their own, with two dead
// cables, one of them above. Plain tables hold the plan.
func TestJobOfThreeLevels(t *testing.T) {
	built, _ := networkOf(t, "FT(3;2,2,2)")
	info := make([]network.Info, built.Nodes())
	for v := range info {
		if info[v] = built.Info(network.Node(v)); !built.IsHost(network.Node(v)) {
			info[v].Name = fmt.Sprintf("sw%02d", v)
		}
	}
	var file bytes.Buffer
	expect.Must(t, netfile.WriteIB(&file, built.WithInfo(info)))
	whole := expect.Value(netfile.ReadIB(&file))(t)
	net := expect.Value(whole.Degrade([]string{"sw08-sw12", "pod1-spine1-top0"}))(t)
	var hosts []Host
	for v := range whole.Hosts() {
		hosts = append(hosts, Host{Node: network.Node(v), Name: fmt.Sprint("n", v), Ranks: 1})
	}
	j := expect.Value(newJob(whole, net, hosts, nil))(t)
	if down := fmt.Sprint(j.Plan.Tree.DownNames()); down != "[sw08-sw12 sw15-sw17]" && down != "[sw08-sw12 sw15-sw18]" {
		t.Errorf("dead are %s", down)
	}
}

// Plain tables hold the plan of a network with parallel cables, of which one may be dead, each message over the
// plan's two.
func TestJobOfCables(t *testing.T) {
	for _, down := range [][]string{nil, {"leaf0-spine0/1"}, {"leaf0-spine0/0", "leaf2-spine1/1"}} {
		whole, net := networkOf(t, "PGFT(2;4,4;1,2;1,2)", down...)
		var hosts []Host
		for v := range network.Node(whole.Hosts()) {
			hosts = append(hosts, Host{Node: v, Name: fmt.Sprint("n", v), Ranks: 1})
		}
		j := expect.Value(newJob(whole, net, hosts, nil))(t)
		routes := expect.Value(j.Routes())(t)
		tree, lids := j.Plan.Tree, map[network.Node]bool{}
		for src, h := range j.hosts {
			for dst, d := range j.hosts {
				path := j.Plan.Path(src, dst)
				if src == dst || path < 0 {
					continue
				}
				spine, lane := tree.SpineTop(path)
				up, down := tree.LaneCables(lane)
				leaf, lid := whole.Leaf(h.Node).Node, routes.Net.Info(d.Node).LID
				port := routes.Tables.Port(leaf, int(lid))
				at := whole.At(leaf, int(port))
				back := whole.At(at.Node, int(routes.Tables.Port(at.Node, int(lid))))
				lids[d.Node] = true
				if whole.Index(at.Node) != tree.Leaves()+spine || cableOf(whole, leaf, at.Node, int(port)) != up ||
					back.Node != whole.Leaf(d.Node).Node || cableOf(whole, back.Node, at.Node, int(back.Port)) != down {
					t.Errorf("%s to %s: by %s and port %d of its leaf, planned spine%d, cables %d and %d", h.Name, d.Name, whole.EndName(at), back.Port, spine, up, down)
				}
			}
		}
		expect.Equal(t, len(lids), 16, "hosts with paths")
	}
}

// cableOf returns which of the cables of a leaf to a spine is at a port of the leaf.
func cableOf(n *network.Network, leaf, spine network.Node, port int) (cable int) {
	for p := 1; p < port; p++ {
		if n.At(leaf, p).Node == spine {
			cable++
		}
	}
	return cable
}

func TestJobRefuses(t *testing.T) {
	whole, net := networkOf(t, "FT(2;2,2)")
	expect.Error(t, expect.Err(newJob(whole, net, []Host{{Node: 0}, {Node: 1}, {Node: 0}}, nil)), "twice")
	four, same := networkOf(t, "FT(4;2,2,2,2)")
	expect.Error(t, expect.Err(newJob(four, same, []Host{{Node: 0}, {Node: 1}}, nil)), "not a tree of two or three levels: ")
	_, cut := networkOf(t, "FT(2;2,2)", "leaf0-spine0", "leaf0-spine1")
	expect.True(t, expect.Err(newJob(whole, cut, []Host{{Node: 0}, {Node: 2}}, nil)) != nil, "a leaf without links is planned")
}

func TestSummary(t *testing.T) {
	read := func(text string) []*Times {
		x := expect.Value(readTimes(strings.NewReader(text)))(t)
		return []*Times{x}
	}
	before := read("alltoall own 4 3000 0.1 0.4\nalltoall own 4 3000 0.1 0.2\nalltoall own 4 30 0.1 0.1\nmore 3\n")
	after := read("alltoall plan 4 3000 0.1 0.1\nalltoall plan 4 3000 0.2 0.2\nalltoall plan 4 3000 0.1 0.15\nalltoall own 4 30 0.1 0.1\n")
	rows := Summary(before, after, 240e3, 0.75, 1, 1)
	expect.MustFalse(t, len(rows) != 2 || before[0].More != 3, "%+v", rows)
	near := func(got, want float64) bool { return got > want*0.999999 && got < want*1.000001 }
	if r := rows[0]; !r.Plan || r.Calls != 3 || !near(r.Before, 0.3) || !near(r.After, 0.15) || !near(r.Ratio, 2) ||
		!near(r.EfficiencyAfter, 2.0/3) || !near(r.EfficiencyBefore, 1.0/3) || !near(r.OfBound, 8.0/9) {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Plan || r.Bytes != 30 || r.OfBound != 0 || !near(r.Ratio, 1) {
		t.Errorf("%+v", r)
	}
	// Two ranks on each of two hosts: of three peers one is beside.
	if e := Summary(nil, after, 240e3, 0, 2, 2)[0].EfficiencyAfter; !near(e, 2.0/3*2*2/3) {
		t.Errorf("efficiency %v", e)
	}
}

func FuzzTimes(f *testing.F) {
	f.Add("alltoall own 4 3000 0.1 0.4\nmore 3\n")
	f.Add("alltoall plan -4 3000 NaN 1e999\n")
	f.Fuzz(func(t *testing.T, s string) {
		x, err := readTimes(strings.NewReader(s))
		if err != nil {
			return
		}
		for _, r := range Summary(nil, []*Times{x}, 1e9, 1, 1, 1) {
			expect.False(t, r.Calls < 1 || r.After < 0 || r.EfficiencyAfter < 0, "%+v", r)
		}
	})
}

// TestTurns wants runs in turn where tables can be put back, else those without the plan first.
func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after bool
		want          string
	}{
		{"no routes", false, false, "own plan own plan"},
		{"both", true, true, "before own after plan before own after plan"},
		{"one way", false, true, "own own after plan plan"},
	} {
		var did []string
		tables := func(name string, there bool) func(context.Context) error {
			if !there {
				return nil
			}
			return func(context.Context) error { did = append(did, name); return nil }
		}
		dir := t.TempDir()
		s := Session{
			Launcher: &Launcher{Command: []string{script(t, `echo "$*" >>`+dir+`/log; echo loaded 4 >>`+dir+`/times`)}, Stdout: io.Discard, Stderr: io.Discard},
			Order:    Order{Library: "l", Plan: "p", Times: filepath.Join(dir, "times")}, Compare: true, Rounds: 2,
			Before: tables("before", tt.before), After: tables("after", tt.after),
			Say: func(_ string, a ...any) {
				did = append(did, map[bool]string{true: "own", false: "plan"}[a[2] == "without the plan"])
			},
		}
		before, after, err := s.Run(t.Context())
		if got := strings.Join(did, " "); err != nil || got != tt.want || len(before) != 2 || len(after) != 2 {
			t.Errorf("%s: %s, want %s; %v", tt.name, got, tt.want, err)
		}
		log, err := os.ReadFile(dir + "/log")
		expect.False(t, err != nil || bytes.Count(log, []byte("EVBENCH_PLAN=p")) != 2 || bytes.Count(log, []byte("btl_tcp_eager_limit")) != 2, "%s, %v", log, err)
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mpirun")
	expect.Must(t, os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	return file
}

// TestLoaded wants a sign of the library: without it the program has run as it would alone.
func TestLoaded(t *testing.T) {
	dir := t.TempDir()
	times := filepath.Join(dir, "times")
	for _, tt := range []struct{ name, command, want string }{
		{"no sign", "true", "lib.so was not loaded: "},
		{"no rank", "echo loaded 0 >" + times, "lib.so was not loaded: "},
		{"failed, too", "exit 3", "ended with exit status 3"},
		{"refused", "echo loaded 4 >" + times + "; echo refused the hash is not that >>" + times, "no call followed the plan: the hash is not that"},
		{"refused once", "echo loaded 4 >" + times + "; echo alltoall plan 4 1 1 1 >>" + times + "; echo nonblocking 2 >>" + times + "; echo refused one >>" + times, ""},
		{"loaded", "echo loaded 4 >" + times + "; echo nonblocking 2 >>" + times, ""},
	} {
		l := Launcher{Command: []string{script(t, tt.command)}, Stdout: io.Discard, Stderr: io.Discard}
		got, err := l.Run(t.Context(), &Order{Library: "lib.so", Times: times})
		expect.False(t, tt.want == "" && (err != nil || got.Loaded != 4 || got.Nonblocking != 2) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)),
			"%s: %+v, %v", tt.name, got, err)
	}
}

// TestLoadable has LD_PRELOAD name a file that it does not end at a space or a colon.
func TestLoadable(t *testing.T) {
	self := expect.Value(os.Hostname())(t)
	node := func(name string) string {
		return "echo ' Data for node: " + name + "\tNum slots: 1\tMax slots: 0\tNum procs: 1'"
	}
	here := t.TempDir()
	for _, dir := range []string{"plain", "my files", "a:b"} {
		file := filepath.Join(here, dir, "lib.so")
		expect.Must(t, errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("x"), 0o600)))
		for _, host := range []string{self, "elsewhere"} {
			got, err := (&Launcher{Command: []string{script(t, node(host))}}).loadable(t.Context(), file, t.TempDir())
			if host != self && dir != "plain" {
				if err == nil || !strings.Contains(err.Error(), "LD_PRELOAD ends a name at a space or a colon") || !strings.Contains(err.Error(), dir) {
					t.Errorf("%s for %s: %q, %v", dir, host, got, err)
				}
				continue
			}
			if text, readErr := os.ReadFile(got); err != nil || readErr != nil || string(text) != "x" || strings.ContainsAny(got, " :") {
				t.Errorf("%s for %s: %q, %v, %v", dir, host, got, err, readErr)
			}
		}
	}
	if got, err := (&Launcher{Command: []string{script(t, node(self))}}).loadable(t.Context(), "/a b/lib.so", filepath.Join(here, "my files")); err == nil {
		t.Errorf("a link at %q", got)
	}
}

// TestArguments has every program of several find the library, which mpirun is told for each.
func TestArguments(t *testing.T) {
	l := Launcher{Command: []string{"mpirun", "-n", "2", "a", ":", "-n", "3", "b", "c:d"}}
	got := strings.Join(l.arguments([]string{"--mca", "x", "1"}, []string{"-x", "E=1"}), " ")
	expect.Equal(t, got, "--mca x 1 -x E=1 -n 2 a : -x E=1 -n 3 b c:d", "got")
}

// MPICH's mpirun is told the environment once, and takes what Open MPI's is told besides for options of its own.
func TestToldHydra(t *testing.T) {
	t.Setenv("LD_PRELOAD", "")
	l := Launcher{Command: []string{"mpirun", "-n", "2", "a", ":", "-n", "3", "b"}, hydra: true}
	got := strings.Join(l.told(&Order{Library: "lib", Plan: "p", Times: "t", Min: 7, Eager: 9}), " ")
	expect.Equal(t, got, "-genv LD_PRELOAD lib -genv EVBENCH_TIMES t -genv EVBENCH_PLAN p -genv EVBENCH_MIN 7 -n 2 a : -n 3 b", "arguments")
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		command []string
		want    string
	}{
		{nil, "give the program to run"},
		{[]string{"/nowhere/mpirun"}, "no /nowhere/mpirun here: the mpirun of Open MPI or MPICH is needed"},
		{[]string{script(t, "echo HYDRA build details:")}, ""},
		{[]string{script(t, "echo slurm 22.05")}, "is not the mpirun of Open MPI or MPICH"},
		{[]string{script(t, "exit 3")}, "exit status 3"},
		{[]string{script(t, "echo 'mpirun (Open MPI) 4.1.4'")}, ""},
	} {
		err := (&Launcher{Command: tt.command}).Check(t.Context())
		expect.False(t, tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)),
			"%v: %v, want %q", tt.command, err, tt.want)
	}
}

// TestEnds ends a job, with what it has started.
func TestEnds(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "up")
	l := &Launcher{Command: []string{script(t, "sleep 1000 & echo $! >"+fifo+"; echo up; wait")}, Stderr: io.Discard}
	ctx, cancel := context.WithCancelCause(t.Context())
	in, out := io.Pipe()
	l.Stdout = out
	why := errors.New("enough")
	go func() {
		_, _ = io.ReadFull(in, make([]byte, 3))
		cancel(why)
		_, _ = io.Copy(io.Discard, in)
	}()
	expect.Is(t, expect.Err(l.Run(ctx, &Order{Times: filepath.Join(dir, "times")})), why)
}

// rails is a network of two hosts with an adapter each on two leaves.
func rails(t *testing.T) *network.Network {
	t.Helper()
	whole, _ := networkOf(t, "FT(2;2,2)")
	info := make([]network.Info, whole.Nodes())
	for v := range network.Node(whole.Nodes()) {
		if info[v] = whole.Info(v); whole.IsHost(v) {
			info[v].Name = fmt.Sprintf("node%d mlx5_%d", v%2, v/2)
		}
	}
	return whole.WithInfo(info)
}

// Ranks of a host take its adapters in the order of the lines, or of their names.
func TestHostsOfAdapters(t *testing.T) {
	n := rails(t)
	mpirun := func(ranks ...int) string {
		text := "echo mpirun starts"
		for i, r := range ranks {
			text += fmt.Sprintf("; echo ' Data for node: node%d.cluster\tNum slots: 9\tMax slots: 0\tNum procs: %d'", i, r)
		}
		return script(t, text)
	}
	named := func(node network.Node, host, adapter string, order int) Host {
		return Host{Node: node, Name: host, Ranks: 1, Adapter: adapter, Order: order}
	}
	byName := []Host{named(0, "node0", "", 0), named(2, "node0", "", 1), named(1, "node1", "", 2), named(3, "node1", "", 3)}
	for _, tt := range []struct {
		name, hosts string // "#": by rank
		launcher    string
		want        []Host
		refused     string
	}{
		{"all of each host", "node0\nnode1\n", "", byName, ""},
		{"of mpirun", "", mpirun(2, 2), byName, ""},
		{"as listed", "node0 mlx5_1\nnode0 mlx5_0\nnode1 mlx5_0\n", "",
			[]Host{named(2, "node0", "mlx5_1", 0), named(0, "node0", "mlx5_0", 1), named(1, "node1", "mlx5_0", 2)}, ""},
		{"one of each host", "node0 mlx5_1\nnode1 mlx5_0\n", "", []Host{named(2, "node0", "mlx5_1", 0), named(1, "node1", "mlx5_0", 0)}, ""},
		{"one of each host, several ranks", "node0 mlx5_1 slots=2\nnode1 mlx5_0 slots=2\n", mpirun(2, 2),
			[]Host{{2, "node0", 2, "mlx5_1", 0}, {1, "node1", 2, "mlx5_0", 0}}, ""},
		{"by rank", "#", mpirun(3, 1), []Host{named(0, "#0", "", 0), named(2, "#0", "", 1), named(1, "#1", "", 2), named(3, "#1", "", 3)}, ""},
		{"by rank, others", "#", mpirun(3, 2), nil, "net.txt: mpirun starts 5 ranks for 4 adapters: hosts with several adapters have one rank on each"},
		{"two ranks an adapter", "node0 slots=4\nnode1 slots=4\n", "", nil, "hosts.txt: 2 ranks on each of 4 adapters: hosts with several adapters have one rank on each"},
		{"more ranks", "node0 slots=3\nnode1 slots=3\n", "", nil, "hosts.txt: line 1: node0 has 3 ranks and 2 adapters"},
		{"fewer ranks", "", mpirun(1, 1), nil, "mpirun's map: mpirun starts 1 rank on node0 for 2 adapters"},
		{"other ranks", "node0 mlx5_1\nnode0 mlx5_0\nnode1 mlx5_0\n", mpirun(2, 2), nil, "hosts.txt: mpirun starts 2 ranks on node1 for 1 adapter:"},
		{"an adapter twice", "node0 mlx5_1\nnode0 mlx5_1\nnode1 mlx5_0\n", "", nil, "hosts.txt: line 2: adapter node0 mlx5_1 of host node0 is named twice"},
		{"an unknown one", "node0 mlx5_7\nnode1 mlx5_0\n", "", nil, "hosts.txt: line 1: host node0 has no adapter mlx5_7 in the network; it has mlx5_0, mlx5_1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Source: &netfile.Source{Whole: n, Net: n}, Network: "net.txt", HostFile: "hosts.txt", Hosts: strings.TrimPrefix(tt.hosts, "#"), ByRank: tt.hosts == "#"}
			l := &Launcher{}
			if tt.launcher != "" {
				l.Command = []string{tt.launcher}
			}
			hosts, err := hostsOf(t.Context(), o, l)
			if tt.refused != "" {
				expect.Error(t, err, tt.refused)
				return
			}
			expect.Must(t, err)
			expect.True(t, slices.Equal(hosts, tt.want), "%+v, want %+v", hosts, tt.want)
		})
	}
}

// A plan of several adapters a host has its lines in the order of the ranks, and the report both bounds.
func TestJobOfAdapters(t *testing.T) {
	n := rails(t)
	hosts := []Host{{1, "node1", 1, "mlx5_0", 0}, {3, "node1", 1, "mlx5_1", 1}, {2, "node0", 1, "mlx5_1", 2}, {0, "node0", 1, "mlx5_0", 3}}
	j := expect.Value(newJob(n, n, hosts, nil))(t)
	var b bytes.Buffer
	expect.Must(t, j.Write(&b))
	expect.Contains(t, b.String(), "plan 4\n", "# x-host 1 node1 1 mlx5_0\n# x-host 3 node1 1 mlx5_1\n# x-host 2 node0 1 mlx5_1\n# x-host 0 node0 1 mlx5_0\n# topology")
	var r Report
	r.about(j)
	expect.True(t, r.Hosts == 2 && r.Adapters == 4 && r.Ranks == 4 && r.Phases == 3 && r.Least == 2 && r.Bound == 1, "%+v", r)
	var text bytes.Buffer
	expect.Must(t, r.WriteText(&text))
	expect.Contains(t, text.String(), "plan      3 phases (at least 2 between hosts) for 2 hosts, 4 adapters, 4 ranks; at most 100.0% of the link rate")
	// A rank sends to 2 others of 3 over its own link: 2,000 bytes in 0.1 s at 160 kbit/s.
	r.Measured(nil, []*Times{{Calls: []Call{{"alltoall", true, 4, 3000, 0.1, 0.1}}}}, 160e3)
	expect.True(t, r.Calls[0].EfficiencyAfter == 1 && r.Calls[0].OfBound == 1, "%+v", r.Calls)

	var said []string
	s := Session{Launcher: &Launcher{}, Say: func(format string, a ...any) { said = append(said, fmt.Sprintf(format, a...)) }}
	s.choose(j.Plan.Hosts)
	expect.Equal(t, s.Order.Devices, "node1/mlx5_0/mlx5_1,node0/mlx5_1/mlx5_0", "adapters for UCX")
	expect.Contains(t, strings.Join(said, "\n"), "UCX_NET_DEVICES, unless that is set", "over other layers choose it yourself", "EVBENCH_DEVICES=node1/mlx5_0")
	read := expect.Value(headerIn(&b))(t)
	s.choose(read.hosts)
	expect.Equal(t, s.Order.Devices, "node1/mlx5_0/mlx5_1,node0/mlx5_1/mlx5_0", "adapters of the plan's file")
	lines := "# evbench plan 3\n# x-host 1 node1 1 mlx5_0\n# x-host 0 node1 1 mlx5_1\n# x-host 2 node0 2\n# hosts 3\n# path-bits 3,0,1\n# readers 0\n"
	s.send(expect.Value(headerIn(strings.NewReader(lines + "0 0 1 -\n")))(t).bits)
	expect.Equal(t, s.Order.Bits, "node1/0/3,node0/1", "path bits of the plan's file")
	expect.Contains(t, strings.Join(said, "\n"), "beside EVBENCH_PLAN set EVBENCH_PATH_BITS=node1/0/3,node0/1")
	s.send(expect.Value(headerIn(strings.NewReader(lines[strings.Index(lines, "# hosts"):])))(t).bits)
	expect.Contains(t, said[len(said)-1], "its hosts no names: set UCX_IB_LID_PATH_BITS")
	said = nil
	for i := range j.Plan.Hosts {
		j.Plan.Hosts[i].Adapter = ""
	}
	s.choose(j.Plan.Hosts)
	expect.True(t, s.Order.Devices == "" && len(said) == 1 && strings.Contains(said[0], "must use its n-th adapter"), "%q, %q", s.Order.Devices, said)
}
