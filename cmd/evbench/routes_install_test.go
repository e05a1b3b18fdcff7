package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/companion/opensm"
	"evbench/internal/expect"
	"evbench/plan"
	"evbench/routing/ibtest"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

// TestRoutesInstallOpenSM runs the command against a real OpenSM.
func TestRoutesInstallOpenSM(t *testing.T) {
	ibtest.Need(t)
	for _, buffers := range []bool{false, true} {
		t.Run(fmt.Sprint("buffers=", buffers), func(t *testing.T) { installs(t, buffers) })
	}
}

func installs(t *testing.T, buffers bool) {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	call := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"evbench"}, args...), &out, &errs)
		return code, out.String() + errs.String()
	}
	if code, text := call("plan", "-t", "FT(2;4,8)", "--down", "leaf0-spine0", "-s", "fors", "-o", in("plan.txt"), "--quiet"); code != exitDone {
		t.Fatal(text)
	}
	n := expect.Value(network.Parse("FT(2;4,8)", 2))(t)
	live := liveOpenSM(t, n, in, buffers)
	args := []string{"routes", "install", in("plan.txt"), "--target", "opensm", "--dir", dir, "-t", in("fabric.net"),
		"--pid", fmt.Sprint(live.PID()), "--log", live.LogFile(), "--dump", "sh " + in("dump.sh")}
	if code, text := call(args...); code != exitDone || !strings.Contains(text, "the switches hold these tables, read back and compared") {
		t.Fatalf("exit %d: %s", code, text)
	}
	// OpenSM reads the file of this directory, not of another one.
	other := append(args[:6:6], append([]string{t.TempDir()}, args[7:]...)...)
	other[2] = in("healthy.txt")
	if code, text := call(other...); code != exitFailed || !strings.Contains(text, "differ in") {
		t.Fatalf("exit %d: %s", code, text)
	}
}

// liveOpenSM starts OpenSM with the tables of a healthy plan, and writes the
// files that the command needs to reach it. One that buffers its log, as OpenSM does by default,
// has another configuration than that of the command.
func liveOpenSM(t *testing.T, n *network.Network, in func(string) string, buffers bool) *ibtest.Live {
	t.Helper()
	if code := run(t.Context(), []string{"evbench", "plan", "-t", n.Notation, "-s", "linear-shift", "-r", "ftree", "-o", in("healthy.txt"), "--quiet"}, os.Stdout, os.Stderr); code != exitDone {
		t.Fatal("no plan")
	}
	p := expect.Value(loadPlan(in("healthy.txt")))(t)
	writeTables(t, p, n, in)
	conf := in(opensm.ConfFile)
	if buffers {
		text := expect.Value(os.ReadFile(conf))(t)
		conf = in("own.conf")
		write(t, in(""), "own.conf", strings.Replace(string(text), "force_log_flush TRUE\n", "", 1))
	}
	live := expect.Value(ibtest.Start(t.Context(), n, "file,no_fallback", nil, "-F", conf))(t)
	t.Cleanup(live.Close)
	writeProgram(t, live, "dump_fts", in("dump.sh"))
	return live
}

func writeTables(t *testing.T, p *plan.Plan, n *network.Network, in func(string) string) {
	t.Helper()
	r := expect.Value(opensm.Compute(p, n, opensm.Options{}))(t)
	expect.Must(t, r.Write(in("")))
	f := expect.Value(os.Create(in("fabric.net")))(t)
	defer f.Close()
	expect.Must(t, netfile.WriteIB(f, n))
}
