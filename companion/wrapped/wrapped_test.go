package wrapped

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/plan"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

func networkOf(t *testing.T, notation string, down ...string) (whole, net *network.Network) {
	t.Helper()
	s, err := netfile.Read(notation, 0)
	expect.Must(t, err)
	net, err = s.Whole.Degrade(down)
	expect.Must(t, err)
	return s.Whole, net
}

// TestJob plans for some hosts of a network, in an order of their own.
func TestJob(t *testing.T) {
	whole, net := networkOf(t, "FT(2;4,4)", "leaf0-spine0")
	var hosts []Host
	for _, v := range []int{9, 1, 3, 6, 0, 11} {
		hosts = append(hosts, Host{network.Node(v), fmt.Sprintf("n%d.x", v), 2})
	}
	j := expect.Value(NewJob(whole, net, hosts))(t)
	if down := fmt.Sprint(j.Plan.DownNames()); down != "[leaf0-spine0]" || j.Ranks() != 12 || j.Plan.Paths.Most > 1 {
		t.Errorf("down %s, %d ranks, paths %+v", down, j.Ranks(), j.Plan.Paths)
	}
	var b bytes.Buffer
	expect.Must(t, j.Write(&b))
	want := "# evbench plan 1\n# x-host 0 n0.x 2\n# x-host 1 n1.x 2\n# x-host 2 n3.x 2\n# x-host 4 n6.x 2\n# x-host 8 n9.x 2\n# x-host 9 n11.x 2\n# topology "
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("the file begins with\n%.300s", b.String())
	}
	p, err := plan.Read(&b)
	expect.False(t, err != nil || p.Hash() != j.Plan.Hash(), "read back: %v", err)
	routes := expect.Value(j.Routes())(t)
	// A leaf sends to a host through the spine of the plan, in every table.
	for src, h := range j.hosts {
		for dst, d := range j.hosts {
			k := j.Plan.Spine(src, dst)
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
		hosts = append(hosts, Host{network.Node(v), fmt.Sprint("n", v), 1})
	}
	j := expect.Value(NewJob(whole, net, hosts))(t)
	if down := fmt.Sprint(j.Plan.DownNames()); down != "[sw08-sw12 sw15-sw17]" && down != "[sw08-sw12 sw15-sw18]" {
		t.Errorf("dead are %s", down)
	}
}

func TestJobRefuses(t *testing.T) {
	whole, net := networkOf(t, "FT(2;2,2)")
	expect.Error(t, expect.Err(NewJob(whole, net, []Host{{Node: 0}, {Node: 1}, {Node: 0}})), "twice")
	four, same := networkOf(t, "FT(4;2,2,2,2)")
	expect.Error(t, expect.Err(NewJob(four, same, []Host{{Node: 0}, {Node: 1}})), "not a tree of two or three levels: ")
	twins, _ := networkOf(t, "PGFT(2;2,2;1,2;1,2)")
	expect.Error(t, expect.Err(NewJob(twins, twins, []Host{{Node: 0}, {Node: 1}})), "programs are wrapped on trees with one")
	_, cut := networkOf(t, "FT(2;2,2)", "leaf0-spine0", "leaf0-spine1")
	expect.True(t, expect.Err(NewJob(whole, cut, []Host{{Node: 0}, {Node: 2}})) != nil, "a leaf without links is planned")
}

func TestSummary(t *testing.T) {
	read := func(text string) []*Times {
		x := expect.Value(readTimes(strings.NewReader(text)))(t)
		return []*Times{x}
	}
	before := read("alltoall own 4 3000 0.1 0.4\nalltoall own 4 3000 0.1 0.2\nalltoall own 4 30 0.1 0.1\nmore 3\n")
	after := read("alltoall plan 4 3000 0.1 0.1\nalltoall plan 4 3000 0.2 0.2\nalltoall plan 4 3000 0.1 0.15\nalltoall own 4 30 0.1 0.1\n")
	rows := Summary(before, after, 240e3, 0.75, 1)
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
	if e := Summary(nil, after, 240e3, 0, 2)[0].EfficiencyAfter; !near(e, 2.0/3*2*2/3) {
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
		for _, r := range Summary(nil, []*Times{x}, 1e9, 1, 1) {
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

// Hosts with several adapters are refused, unless a list names one adapter of each.
func TestHostsOfAdapters(t *testing.T) {
	whole, _ := networkOf(t, "FT(2;2,2)")
	info := make([]network.Info, whole.Nodes())
	for v := range network.Node(whole.Nodes()) {
		if info[v] = whole.Info(v); whole.IsHost(v) {
			info[v].Name = fmt.Sprintf("node%d mlx5_%d", v%2, v/2)
		}
	}
	n := whole.WithInfo(info)
	o := Options{Source: &netfile.Source{Whole: n, Net: n}, Network: "net.txt", ByRank: true}
	expect.Error(t, expect.Err(hostsOf(t.Context(), o, nil)), "net.txt: 2 hosts have 4 adapters: programs are wrapped where each has one")
	o.ByRank, o.Hosts = false, "node0\nnode1\n"
	expect.Error(t, expect.Err(hostsOf(t.Context(), o, nil)), "net.txt: 2 hosts have 4 adapters")
	o.Hosts = "node0 mlx5_1\nnode1 mlx5_0\n"
	hosts := expect.Value(hostsOf(t.Context(), o, nil))(t)
	expect.True(t, len(hosts) == 2 && hosts[0] == Host{Node: 2, Name: "node0", Ranks: 1} && hosts[1] == Host{Node: 1, Name: "node1", Ranks: 1}, "%+v", hosts)
}
