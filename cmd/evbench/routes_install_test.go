package main

import (
	"bytes"
	"errors"
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
	if code, text, said := call(t, args...); code != exitDone || !strings.Contains(text, "the switches hold these tables, read back and compared") || held() == before {
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
	if code, text, said := call(t, undo...); code != exitDone || !strings.Contains(text, "the switches hold their former tables") || held() != before {
		t.Errorf("exit %d: %s%s", code, text, said)
	}
	for i, text := range files() {
		if text != were[i] {
			t.Errorf("file %d is not as it was", i)
		}
	}
	if code, _, said := call(t, undo...); code != exitUsage || !strings.Contains(said, "no tables were installed from here, or they are undone") {
		t.Errorf("exit %d: %s", code, said)
	}
}

// liveOpenSM starts OpenSM with default settings, but for the tables of a healthy plan, and writes the
// files that commands need to reach it.
func liveOpenSM(t *testing.T, n *network.Network, in func(string) string) *ibtest.Live {
	t.Helper()
	if code := run(t.Context(), []string{"evbench", "plan", "-t", n.Notation, "-s", "linear-shift", "-r", "ftree", "-o", in("healthy.txt"), "--quiet"}, os.Stdout, os.Stderr); code != exitDone {
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

// TestRoutesRenumber: a plan that needs more LIDs than hosts have is refused before anything is done;
// with --renumber files are written, and undone, with the LIDs of before.
func TestRoutesRenumber(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{
		{"plan", "-t", "FT(2;4,8)", "--down", "leaf0-spine0", "-s", "fors", "-o", in("plan.txt"), "--quiet"},
		{"topo", "convert", "FT(2;4,8)", "--lmc", "0", "--format", "ibnetdiscover", "-o", in("fabric.net")},
		{"topo", "convert", "FT(2;4,8)", "--lmc", "0", "--format", "guid2lid", "-o", in("lids")},
	} {
		if code, _, said := call(t, args...); code != exitDone {
			t.Fatal(said)
		}
	}
	args := []string{"routes", "install", in("plan.txt"), "--target", "opensm", "-t", in("fabric.net"), "--dir", in("osm")}
	if code, _, said := call(t, args...); code != exitUsage || !strings.Contains(said, "--renumber: the plan needs LMC 2 and hosts have 0, so ports would get other LIDs") {
		t.Errorf("exit %d: %s", code, said)
	}
	if _, err := os.Stat(in("osm")); err == nil {
		t.Error("something was written")
	}
	if code, text, said := call(t, append(args, "--renumber")...); code != exitDone || !strings.Contains(text, "start OpenSM with guid2lid in its cache directory") {
		t.Errorf("exit %d: %s%s", code, text, said)
	}
	if code, text, said := call(t, "routes", "undo", in("osm")); code != exitDone || !strings.Contains(text, "start OpenSM anew with "+in("osm/guid2lid")) {
		t.Errorf("exit %d: %s%s", code, text, said)
	}
	lids, err := os.ReadFile(in("osm/guid2lid"))
	want, errWant := os.ReadFile(in("lids"))
	if err = errors.Join(err, errWant); err != nil || !bytes.Equal(lids, want) {
		t.Errorf("the LIDs are not those of before, %v", err)
	}
	if left, err := os.ReadDir(in("osm")); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func writeTables(t *testing.T, p *plan.Plan, n *network.Network, in func(string) string) {
	t.Helper()
	r := expect.Value(opensm.Compute(p, n, opensm.Options{}))(t)
	expect.Must(t, r.Write(in("")))
	f := expect.Value(os.Create(in("fabric.net")))(t)
	defer f.Close()
	expect.Must(t, netfile.WriteIB(f, n))
}
