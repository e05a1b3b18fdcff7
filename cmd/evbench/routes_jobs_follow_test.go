package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/routing/ibtest"
	"evbench/routing/lft"
	"evbench/study/jobs"
	"evbench/topology/network"
)

// A jobsRun is evbench routes jobs --follow, which looks as often as it can.
type jobsRun struct {
	t     *testing.T
	lines *bufio.Scanner
	end   func() int // Ctrl-C, and the exit code
}

func startJobs(t *testing.T, args ...string) *jobsRun {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, to := io.Pipe()
	code, ended := 0, make(chan struct{})
	var errs bytes.Buffer
	go func() {
		defer close(ended)
		code = run(ctx, append([]string{"evbench", "routes", "jobs", "--follow", "--every", "1ms"}, args...), to, &errs)
		to.Close()
	}()
	j := &jobsRun{t: t, lines: bufio.NewScanner(out)}
	j.end = func() int {
		cancel()
		for j.lines.Scan() { // what it still has to say
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
	return j
}

// next returns the next line that does not say what is left out.
func (j *jobsRun) next(without string) string {
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
		if s := j.next(""); !strings.Contains(s, "1 jobs across switches on 12 hosts") || !strings.Contains(s, "is written, but not heard of") {
			t.Error(s)
		}
	}
	now, err := os.ReadFile(out)
	expect.True(t, err == nil && !bytes.Equal(now, before), "the tables are those of before, %v", err)
	expect.Equal(t, j.end(), exitDone, "exit")
}

// TestJobsFollowInstalls has a real OpenSM load tables when jobs change, and when a cable dies.
func TestJobsFollowInstalls(t *testing.T) {
	ibtest.Need(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	n, err := network.Parse("FT(2;4,8)", 0)
	expect.Must(t, err)
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
