package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/study/jobs"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
)

// TestJobsSignal stands in for OpenSM with a process that dies of SIGHUP: it hears
// of new tables, and not of the same ones.
//
//gate:race
func TestJobsSignal(t *testing.T) {
	dir := t.TempDir()
	list, out := filepath.Join(dir, "jobs"), filepath.Join(dir, "lft.txt")
	expect.Must(t, os.WriteFile(list, []byte("1 h[0-15]\n"), 0o644))
	call := func(pid int) string {
		var stdout, stderr bytes.Buffer
		args := []string{"evbench", "routes", "jobs", list, "-t", "FT(2;4,8)", "-o", out, "--pid", strconv.Itoa(pid), "--json"}
		code := run(t.Context(), args, &stdout, &stderr)
		expect.MustTrue(t, code == exitDone, "exit %d: %s", code, stderr.String())
		return stdout.String()
	}
	opensm := standIn(t)
	expect.Contains(t, call(opensm.Process.Pid), `"written":true,"signalled":true`)
	_ = opensm.Wait()
	s, ok := opensm.ProcessState.Sys().(syscall.WaitStatus)
	expect.True(t, ok && s.Signal() == syscall.SIGHUP, "the process ended with %v", opensm.ProcessState)
	expect.Contains(t, call(standIn(t).Process.Pid), `"written":false,"signalled":false`)
}

// standIn starts a process that passes for OpenSM, and dies of SIGHUP.
func standIn(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the tests run under nohup, and so would it")
	}
	self := expect.Value(os.Executable())(t)
	name := filepath.Join(t.TempDir(), "opensm")
	if os.Link(self, name) != nil { // on another file system
		b, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(name, b, 0o700)
		}
		expect.Must(t, err)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	in := expect.Value(cmd.StdinPipe())(t)
	out, err := cmd.StderrPipe() // to somebody who may write the log
	expect.Must(t, err)
	expect.Must(t, cmd.Start())
	expect.Begun(t, cmd.Process.Pid)
	t.Cleanup(func() {
		in.Close()
		out.Close()
	})
	return cmd
}

// Only OpenSM is told to read its file: SIGHUP ends most others.
func TestSignalsOnlyOpenSM(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, dir, "jobs", "1 h[0-15]\n")
	write(t, dir, "log", "")
	write(t, dir, "opensm", "#!/bin/sh\nread x || true\n")
	expect.Must(t, os.Chmod(in("opensm"), 0o700))
	for _, args := range [][]string{
		{"plan", "-t", "FT(2;4,8)", "-s", "linear-shift", "-o", in("plan.txt"), "--quiet"},
		{"topo", "convert", "FT(2;4,8)", "--lmc", "2", "--format", "ibnetdiscover", "-o", in("fabric.net")},
	} {
		if code, _, said := call(t, args...); code != exitDone {
			t.Fatal(said)
		}
	}
	for want, pid := range map[string]int{
		"is cat, not OpenSM": bystander(t, "cat"),
		"wrapper":            bystander(t, in("opensm")),
	} {
		expect.Must(t, os.Mkdir(in("osm"), 0o700))
		for _, args := range [][]string{
			{"jobs", in("jobs"), "-t", "FT(2;4,8)", "-o", in("osm/lft.txt")},
			{"install", in("plan.txt"), "--target", "opensm", "--dir", in("osm"), "-t", in("fabric.net"), "--log", in("log"), "--dump", "true"},
			{"follow", "-t", in("fabric.net"), "--dir", in("osm"), "--log", in("log"), "--discover", "false"},
		} {
			args = append(append([]string{"routes"}, args...), "--pid", fmt.Sprint(pid))
			if code, out, said := call(t, args...); code != exitUsage || !strings.Contains(said, want) {
				t.Errorf("%v: exit %d: %s%s", args, code, out, said)
			}
		}
		if err := os.Remove(in("osm")); err != nil { // nothing was written
			t.Error(err)
		}
	}
}

// A jobsRun is evbench routes jobs --follow, which looks as often as it can.
type jobsRun struct{ *lastingRun }

func startJobs(t *testing.T, args ...string) jobsRun {
	t.Helper()
	return jobsRun{startLasting(t.Context(), t, append([]string{"routes", "jobs", "--follow", "--every", "1ms"}, args...)...)}
}

// next returns the next line that does not say what is left out.
func (j jobsRun) next(without string) string {
	j.t.Helper()
	for j.lines.Scan() {
		if s := j.lines.Text(); without == "" || !strings.Contains(s, without) {
			return s
		}
	}
	j.t.Fatal("it has ended")
	return ""
}

// replace writes a file that readers see whole.
func replace(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Dir(name), "new", text)
	expect.Must(t, os.Rename(filepath.Join(filepath.Dir(name), "new"), name))
}

// TestJobsFollow: a queue that fails is said, and asked again; tables are written when jobs
// across switches have changed; OpenSM, here a process that dies of SIGHUP, is told of them, and
// told again where that failed.
//
//gate:race
func TestJobsFollow(t *testing.T) {
	dir := t.TempDir()
	list, out := filepath.Join(dir, "jobs"), filepath.Join(dir, "lft.txt")
	opensm := standIn(t)
	j := startJobs(t, "--queue", "cat "+list, "-t", "FT(2;4,8)", "-o", out, "--pid", fmt.Sprint(opensm.Process.Pid))
	for range 2 {
		s := j.next("")
		expect.True(t, strings.Contains(s, "the jobs: cat: exit status 1") && strings.HasSuffix(s, "; tried again in 1ms"), "%v", s)
	}
	replace(t, list, "1 h[0-7]\n2 h[8-9]\n")
	const first = "1 jobs across switches on 8 hosts; at most 4 routes of jobs on a cable, mean 1.0 (sssp: 4); written, and OpenSM signalled"
	if s := j.next("the jobs: cat"); !strings.HasSuffix(s, "  2 started, 0 ended, 0 moved; "+first) {
		t.Error(s)
	}
	_ = opensm.Wait()
	before := expect.Value(os.ReadFile(out))(t)
	replace(t, list, "3 h[0-7]\n") // the same hosts
	replace(t, list, "3 h[0-11]\n")
	for range 2 {
		expect.Contains(t, j.next(""), "1 jobs across switches on 12 hosts", "is written, but OpenSM has not confirmed it")
	}
	now, err := os.ReadFile(out)
	expect.True(t, err == nil && !bytes.Equal(now, before), "the tables are those of before, %v", err)
	expect.Equal(t, j.end(), exitDone, "exit")
}

// TestJobsFollowInstalls has a real OpenSM load tables when jobs change, and when a cable dies. The aggregation node
// of each switch keeps its routes.
//
//gate:race
func TestJobsFollowInstalls(t *testing.T) {
	ibtest.Need(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	whole := expect.Value(network.Parse("FT(2;4,8)", 0))(t)
	var b network.Builder
	for v := range network.Node(whole.Nodes()) {
		if whole.IsHost(v) {
			b.Host(whole.Info(v))
		} else {
			b.Switch(whole.Info(v), len(whole.Ends(v))+1)
		}
	}
	for i := range whole.Switches() {
		info := network.Info{Name: "Mellanox Technologies Aggregation Node", GUID: 0x0002c90900000000 + uint64(i)<<8}
		info.Port = info.GUID + 1
		v := whole.Switch(i)
		expect.Must(t, b.Other(info, network.End{Node: v, Port: uint8(len(whole.Ends(v)) + 1)}, false))
	}
	for _, c := range whole.Cables() {
		expect.Must(t, b.Cable(c.A, c.B))
	}
	n := expect.Value(b.Build().Numbered(0))(t)
	live := liveOpenSM(t, n, in)
	replace(t, in("jobs"), "1 h[0-15]\n")
	j := startJobs(t, in("jobs"), "--discover", "sh "+in("discover.sh"), "--dir", dir, "--pid", fmt.Sprint(live.PID()),
		"--dump", "sh "+in("dump.sh"), "--sminfo", "sh "+in("sminfo.sh"), "--json")
	installed := func(hosts int) {
		t.Helper()
		// A sweep of OpenSM's own may have read the earlier file: it is loaded once more. Who
		// looks while a cable is pulled may see part of the network: it looks again.
		var r jobs.Routed
		for range 20 {
			r = jobs.Routed{}
			if err := json.Unmarshal([]byte(j.next("tables read back differ in")), &r); err != nil || r.Time == nil {
				t.Fatalf("%+v, %v", r, err)
			}
			if r.Installed && r.Hosts == hosts && r.Error == "" {
				break
			}
		}
		expect.MustTrue(t, r.Installed && r.Hosts == hosts && r.Error == "", "%+v", r)
		text := expect.Value(live.Program(t.Context(), "dump_fts").Output())(t)
		have := expect.Value(lft.ReadDump(bytes.NewReader(text), n))(t)
		file := expect.Value(os.ReadFile(in("evbench.lfts")))(t)
		want := expect.Value(lft.ReadDump(bytes.NewReader(file), n))(t)
		if diff, err := lft.Diff(want, have); err != nil || diff.Total() > 0 {
			t.Errorf("the switches hold other tables: %+v, %v", diff, err)
		}
		c := lft.Check(have, lft.Options{})
		expect.True(t, c.OK(), "%+v", c.Offences)
		expect.True(t, c.Others == 12 && c.OtherPairs == 12*8 && c.OtherUnreachable == 0, "aggregation nodes: %d, %d of %d do not arrive", c.Others, c.OtherUnreachable, c.OtherPairs)
	}
	installed(16)
	replace(t, in("jobs"), "1 h[0-15]\n2 h[16-31]\n")
	installed(32)
	end := expect.Value(network.Names(n).End("s1_0/5"))(t)
	expect.Must(t, live.Pull(end))
	dead := expect.Value(n.Degrade([]string{"s1_0/5"}))(t)
	n = dead
	installed(32)
	expect.Equal(t, j.end(), exitDone, "exit")
}
