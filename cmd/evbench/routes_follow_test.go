package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/plan"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/opensm"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
	"evbench/testing/need"
)

// A lastingRun is a command that goes on until it is interrupted.
type lastingRun struct {
	t     *testing.T
	lines *bufio.Scanner
	end   func() int // Ctrl-C, and the exit code
}

// startLasting starts a command, which ends when ctx does at the latest.
func startLasting(ctx context.Context, t *testing.T, args ...string) *lastingRun {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	out, to := io.Pipe()
	code, ended := 0, make(chan struct{})
	var errs bytes.Buffer
	go func() {
		defer close(ended)
		code = run(ctx, append([]string{"evbench"}, args...), to, &errs)
		to.Close()
	}()
	l := &lastingRun{t: t, lines: bufio.NewScanner(out)}
	l.end = func() int {
		cancel()
		for l.lines.Scan() { // what it still has to say
		}
		<-ended
		expect.True(t, errs.Len() <= 0, "%v", errs.String())
		return code
	}
	t.Cleanup(func() {
		cancel()
		out.Close()
		<-ended
	})
	return l
}

// A followRun is evbench routes follow beside a real OpenSM.
type followRun struct {
	*lastingRun
	tree string // its notation
	net  *network.Network
	live *ibtest.Live
	seen []string
}

// startFollowing starts the command and waits until it follows.
func startFollowing(t *testing.T, tree string, flags ...string) *followRun {
	t.Helper()
	return startFollowingIn(t, tree, expect.Value(network.Parse(tree, 2))(t), flags...)
}

// startFollowingIn is startFollowing in a network; a tree that is "" is the network's file.
func startFollowingIn(t *testing.T, tree string, n *network.Network, flags ...string) *followRun {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	f := &followRun{tree: cmp.Or(tree, in("fabric.net")), net: n, live: liveOpenSM(t, n, in)}
	args := append([]string{"routes", "follow", "-t", in("fabric.net"), "--dir", dir, "--pid", fmt.Sprint(f.live.PID()), "--discover", "sh " + in("discover.sh"), "--json"}, append(diags(in), flags...)...)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // until ends then, and says what was said
	t.Cleanup(cancel)
	f.lastingRun = startLasting(ctx, t, args...)
	f.until("in place; following the links")
	return f
}

// until reads lines up to one that says so, and returns it.
func (f *followRun) until(text string) opensm.Line {
	f.t.Helper()
	for f.lines.Scan() {
		var s opensm.Line
		if err := json.Unmarshal(f.lines.Bytes(), &s); err != nil || s.Schema != "evbench/routes-follow/1" {
			f.t.Fatalf("%v: %s", err, f.lines.Text())
		}
		f.seen = append(f.seen, fmt.Sprintf("%s  %s, %.1f ms %s", s.Time.Format("05.000"), s.Step, 1000*s.TookS, s.Error))
		if strings.Contains(s.Step, text) {
			return s
		}
	}
	f.t.Fatalf("never said %q:\n%s", text, strings.Join(f.seen, "\n"))
	return opensm.Line{}
}

func (f *followRun) port(link string) network.End {
	f.t.Helper()
	e := expect.Value(network.Names(f.net).End(link))(f.t)
	return e
}

// change waits for the line about a change, which must say this of links.
func (f *followRun) change(down, up, held string) {
	f.t.Helper()
	s := f.until("change ")
	if c := s.Change; c == nil || s.Error != "" || c.InstalledS <= 0 || c.Superseded ||
		!slices.Equal([]string{strings.Join(c.Down, ","), strings.Join(c.Up, ","), strings.Join(c.Held, ",")}, []string{down, up, held}) {
		f.t.Fatalf("%+v %+v", s, c)
	}
	f.t.Log("\n" + strings.Join(f.seen, "\n"))
	f.seen = nil
}

// holds reads the tables of the switches and fails the test unless they are those of the
// plan without these links, and lead every server to every other.
func (f *followRun) holds(down ...string) {
	f.t.Helper()
	var out, errs bytes.Buffer
	args := []string{"evbench", "plan", "-t", f.tree, "-s", "fors", "--down", strings.Join(down, ",")}
	expect.MustTrue(f.t, run(f.t.Context(), args, &out, &errs) == exitDone, "%v", errs.String())
	p := expect.Value(plan.Read(&out, nil))(f.t)
	r := expect.Value(opensm.Compute(p, f.net, opensm.Options{}))(f.t)
	text := expect.Value(f.live.Program(f.t.Context(), "dump_fts").Output())(f.t)
	have := expect.Value(lft.ReadDump(bytes.NewReader(text), r.Net))(f.t)
	diff, err := lft.Diff(r.Tables, have)
	expect.True(f.t, err == nil && diff.Total() <= 0, "the switches hold something else than the plan without %v: %+v, %v", down, diff, err)
	c := lft.Check(have, lft.Options{})
	expect.True(f.t, c.OK(), "without %v: %+v", down, c.Offences)
}

// writeProgram writes a script that runs a program which sees the simulated network.
func writeProgram(t *testing.T, live *ibtest.Live, program, name string) {
	t.Helper()
	cmd := live.Program(t.Context(), program)
	var script strings.Builder
	fmt.Fprintln(&script, "cd", filepath.Dir(name)) // where a program that is cut short leaves what it has made
	for _, v := range cmd.Env {
		if strings.HasPrefix(v, "IBSIM") || strings.HasPrefix(v, "SIM_HOST") {
			fmt.Fprintf(&script, "export %s\n", v)
		}
	}
	fmt.Fprintln(&script, "exec", strings.Join(cmd.Args, " "))
	expect.Must(t, os.WriteFile(name, []byte(script.String()), 0o644))
}

// TestRoutesFollow has a cable pulled and plugged in again: new tables, and the old ones.
//
//gate:race
func TestRoutesFollow(t *testing.T) {
	need.Heavy(t)
	ibtest.Need(t)
	for _, x := range []struct { // the name is part of a shell's words
		name, tree, port, link string
	}{
		{"two", "FT(2;4,8)", "s1_0/5", "leaf0-spine0"},
		{"three", "FT(3;2,2,4)", "s2_2/4", "pod1-spine0-top1"},
		{"cables", "PGFT(2;2,4;1,1;1,2)", "s1_0/4", "leaf0-spine0/1"},
	} {
		t.Run(x.name, func(t *testing.T) { followed(t, x.tree, x.port, x.link) })
	}
}

func followed(t *testing.T, tree, port, link string) {
	t.Helper()
	f := startFollowing(t, tree, "--policy", "fors", "--tree", tree)
	if s := f.until("OpenSM buffers its log").Step; !strings.Contains(s, `write "force_log_flush TRUE" into `) || !strings.HasSuffix(s, fmt.Sprint("own.conf, then: kill -HUP ", f.live.PID())) {
		t.Error(s)
	}
	f.holds()
	for _, do := range []struct {
		change   func(network.End) error
		down, up string
	}{{f.live.Pull, link, ""}, {f.live.Plug, "", link}, {f.live.Pull, link, ""}} {
		expect.Must(t, do.change(f.port(port)))
		f.change(do.down, do.up, "")
		f.holds(strings.Fields(do.down)...)
	}
	expect.Equal(t, f.end(), exitDone, "exit")
	f.holds(link) // what is installed stays
}

// TestRoutesFollowUnequalPods: three levels as they were built, a pod with a leaf less.
func TestRoutesFollowUnequalPods(t *testing.T) {
	need.Heavy(t)
	ibtest.Need(t)
	whole := expect.Value(network.Parse("FT(3;2,2,3)", 2))(t)
	gone := whole.Switch(5)
	left := expect.Value(ibtest.Lose(whole, func(v network.Node) bool { return v == gone || whole.IsHost(v) && whole.Leaf(v).Node == gone }))(t)
	f := startFollowingIn(t, "", expect.Value(ibtest.Renamed(left).Numbered(2))(t), "--policy", "fors")
	f.until("OpenSM buffers its log")
	f.holds()
	for _, link := range []string{"sw1_0-sw2_1", "sw2_4-sw3_0"} {
		cables := expect.Value(network.Names(f.net).Down(link))(t)
		expect.Must(t, f.live.Pull(cables[0].A))
		f.change(link, "", "")
		f.holds(link)
		expect.Must(t, f.live.Plug(cables[0].A))
		f.change("", link, "")
		f.holds()
	}
	expect.Equal(t, f.end(), exitDone, "exit")
}

// TestRoutesFollowHolds plugs a cable in again: it is not used, as the next change shows.
func TestRoutesFollowHolds(t *testing.T) {
	ibtest.Need(t)
	f := startFollowing(t, "FT(2;4,8)", "--hold", "1h")
	expect.Must(t, f.live.Pull(f.port("s1_0/5")))
	f.until("without s1_0-s2_0 with 38 phases, computed")
	f.change("s1_0-s2_0", "", "")
	expect.Must(t, f.live.Plug(f.port("s1_0/5")))
	f.until("log: s1_0 has changed")
	f.until("discovered the network") // after that line
	expect.Must(t, f.live.Pull(f.port("s1_5/7")))
	f.until("without s1_0-s2_0, s1_5-s2_2 with 38 phases, computed")
	f.change("s1_5-s2_2", "", "s1_0-s2_0")
	f.holds("leaf0-spine0", "leaf5-spine2")
	expect.Equal(t, f.end(), exitDone, "exit")
}

// TestRoutesFollowUsage refuses before anything is done.
func TestRoutesFollowUsage(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	var out, errs bytes.Buffer
	convert := []string{"evbench", "topo", "convert", "FT(2;4,8)", "--lmc", "2", "--format", "ibnetdiscover", "-o", in("fabric.net")}
	expect.MustTrue(t, run(t.Context(), convert, &out, &errs) == exitDone, "%v", errs.String())
	expect.Must(t, os.WriteFile(in("log"), nil, 0o644))
	good := []string{"-t", in("fabric.net"), "--dir", dir, "--log", in("log"), "--pid", fmt.Sprint(standIn(t, "-R", "file", "-U", in(opensm.LFTsFile)).Process.Pid), "--discover", "false"}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitFailed, "discover the network: false: exit status 1"}, // when it had begun
		{[]string{"-t", "none.net"}, exitUsage, "none.net"},
		{[]string{"-t", ""}, exitUsage, "--topology"},
		{[]string{"--dir", in("none")}, exitUsage, "--dir"},
		{[]string{"--log", in("none")}, exitUsage, "--log"},
		{[]string{"--pid", "1"}, exitUsage, "--pid: OpenSM's process \"1\": neither auto nor a process"},
		{[]string{"--dir", t.TempDir()}, exitUsage, "reads its tables from " + in(opensm.LFTsFile)},
		{[]string{"--pid", "1073741823"}, exitUsage, "--pid: process 1073741823"},
		{[]string{"--policy", "minhop"}, exitUsage, "there are fors+hold, fors"},
		{[]string{"--policy", "fors", "--hold", "1m"}, exitUsage, "--hold: not with --policy=fors"},
		{[]string{"--hold", "-1m"}, exitUsage, "must be 0 or more"},
		{[]string{"--wait", "0s"}, exitUsage, "more than 0"},
		{[]string{"--lmc", "8"}, exitUsage, "must be 0..7"},
		{[]string{"--dump", " "}, exitUsage, "--dump: names no command"},
		{[]string{"--objective", "speed"}, exitUsage, "there are phases, paths, balanced"},
		{[]string{"--fill", "4"}, exitUsage, "--fill: only with --tree"},
		{[]string{"--tree", "FT(2;4,9)"}, exitUsage, "12 switches instead of 9 leaves and 4 spines"},
		{[]string{"--tree", "FT(3;4,4,4)"}, exitUsage, "12 switches instead of 48"},
		{[]string{"--tree", "FT(2;4,8)", "--fill", "4,4"}, exitUsage, "fill"},
		{[]string{"PLAN"}, exitUsage, "PLAN"},
	} {
		var out, errs bytes.Buffer
		args := slices.Clone(good)
		for i := 0; i < len(c.args); i += 2 {
			if at := slices.Index(args, c.args[i]); at >= 0 {
				args[at+1] = c.args[i+1] // a flag is given once
			} else {
				args = append(args, c.args[i:min(i+2, len(c.args))]...)
			}
		}
		code := run(t.Context(), append([]string{"evbench", "routes", "follow"}, args...), &out, &errs)
		expect.False(t, code != c.code || !strings.Contains(errs.String(), c.says) || code == exitUsage && out.Len() > 0,
			"%v: exit %d, %s%s", c.args, code, errs.String(), out.String())
	}
}

// TestRoutesInstallOpenSM runs the command against a real OpenSM with default settings, with plans of
// two and of three levels; what it has done is undone, with the LIDs.
func TestRoutesInstallOpenSM(t *testing.T) {
	ibtest.Need(t)
	for name, c := range map[string][2]string{"two": {"FT(2;4,8)", "leaf0-spine0"}, "three": {"FT(3;2,2,4)", "pod1-spine0-top1"}} {
		t.Run(name, func(t *testing.T) { installs(t, c[0], c[1]) })
	}
}

func installs(t *testing.T, tree, down string) {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if code, _, said := call(t, "plan", "-t", tree, "--down", down, "-s", "fors", "-o", in("plan.txt"), "--quiet"); code != exitDone {
		t.Fatal(said)
	}
	n := expect.Value(network.Parse(tree, 2))(t)
	live := liveOpenSM(t, n, in)
	reach := append([]string{"--pid", fmt.Sprint(live.PID())}, diags(in)...)
	held := func() string {
		t.Helper()
		return string(expect.Value(live.Program(t.Context(), "dump_fts", "-n").Output())(t))
	}
	before := held()
	files := func() (out []string) {
		for _, name := range []string{opensm.LFTsFile, opensm.PathsFile, opensm.LIDsFile, opensm.ConfFile} {
			out = append(out, string(expect.Value(os.ReadFile(in(name)))(t)))
		}
		return out
	}
	were := files()
	args := append([]string{"routes", "install", in("plan.txt"), "--target", "opensm", "-t", in("fabric.net"), "--dir", dir}, reach...)
	if code, text, said := call(t, args...); code != exitDone || !strings.Contains(strings.ToLower(text), "the switches hold these tables, read back and compared") || held() == before {
		t.Fatalf("exit %d: %s%s", code, text, said)
	}
	// OpenSM reads the file of this directory, not of another one.
	other := t.TempDir()
	args[8] = other
	if code, text, said := call(t, args...); code != exitUsage || !strings.Contains(said, "reads its tables from "+in(opensm.LFTsFile)+", not from "+other) {
		t.Fatalf("exit %d: %s%s", code, text, said)
	}
	if left, err := os.ReadDir(other); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	undo := append([]string{"routes", "undo", dir}, reach...)
	if code, text, said := call(t, undo...); code != exitDone || !strings.Contains(strings.ToLower(text), "the switches hold their former tables") || held() != before {
		t.Errorf("exit %d: %s%s", code, text, said)
	}
	for i, text := range files() {
		expect.True(t, text == were[i], "file %d is not as it was", i)
	}
	if code, _, said := call(t, undo...); code != exitUsage || !strings.Contains(said, "no tables were installed from here, or they are undone") {
		t.Errorf("exit %d: %s", code, said)
	}
}

// liveOpenSM starts OpenSM with default settings, but for the tables of a healthy plan, and writes the
// files that commands need to reach it.
func liveOpenSM(t *testing.T, n *network.Network, in func(string) string) *ibtest.Live {
	t.Helper()
	given := expect.Value(os.Create(in("given.net")))(t)
	expect.Must(t, netfile.WriteIB(given, n))
	expect.Must(t, given.Close())
	if code := run(t.Context(), []string{"evbench", "plan", "-t", cmp.Or(n.Notation, in("given.net")), "-s", "linear-shift", "-r", "ftree", "-o", in("healthy.txt"), "--quiet"}, os.Stdout, os.Stderr); code != exitDone {
		t.Fatal("no plan")
	}
	p := expect.Value(loadPlan(in("healthy.txt")))(t)
	writeTables(t, p, n, in)
	write(t, in(""), "own.conf", fmt.Sprintf("routing_engine file,no_fallback\nlfts_file %s\n", in(opensm.LFTsFile)))
	live := expect.Value(ibtest.Start(t.Context(), n, "file,no_fallback", nil, "-F", in("own.conf")))(t)
	t.Cleanup(live.Close)
	writeProgram(t, live, "dump_fts", in("dump.sh"))
	writeProgram(t, live, "sminfo", in("sminfo.sh"))
	writeProgram(t, live, "ibnetdiscover", in("discover.sh"))
	return live
}

// diags are the flags that say how the programs that liveOpenSM has written are called.
func diags(in func(string) string) []string {
	return []string{"--dump", "sh " + in("dump.sh"), "--sminfo", "sh " + in("sminfo.sh")}
}

func writeTables(t *testing.T, p *plan.Plan, n *network.Network, in func(string) string) {
	t.Helper()
	r := expect.Value(opensm.Compute(p, n, opensm.Options{}))(t)
	expect.Must(t, expect.Err(opensm.Files{Dir: in("")}.Put(t.Context(), r)))
	f := expect.Value(os.Create(in("fabric.net")))(t)
	defer f.Close()
	expect.Must(t, netfile.WriteIB(f, n))
}
