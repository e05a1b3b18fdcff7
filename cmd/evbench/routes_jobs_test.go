package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"evbench/internal/expect"
)

// TestJobsSignal stands in for OpenSM with a process that dies of SIGHUP: it hears
// of new tables, and not of the same ones.
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
	self, err := os.Executable()
	expect.Must(t, err)
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
