package opensm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"evbench/companion"
	"evbench/plan"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
	"evbench/testing/need"
)

func guidOf(n *network.Network, host network.Node) string {
	return fmt.Sprintf("0x%016x", n.Info(host).Port)
}

// soon is a configuration that has a standby take over within some 10 s; by default it takes 40. Asked again before the last
// answer can have come, which on a busy machine takes seconds, OpenSM 3.3.23 may wait for ever.
func soon(t testing.TB, more string) string {
	name := filepath.Join(t.TempDir(), "own.conf")
	expect.Must(t, os.WriteFile(name, []byte("sminfo_polling_timeout 5000\npolling_retry_number 2\n"+more), 0o600))
	return name
}

// beside starts an OpenSM at host 1, which reads the tables, too.
func (f *followed) beside(t *testing.T, says string, args ...string) *ibtest.Live {
	t.Helper()
	l := expect.Value(f.live.Beside(t.Context(), 1, "file,no_fallback", says, append([]string{"-U", filepath.Join(f.o.Dir, LFTsFile), "-g", guidOf(f.net, 1)}, args...)...))(t)
	t.Cleanup(l.Close)
	return l
}

// await waits until something has been told.
func (f *followed) await(t *testing.T, what string) Step {
	t.Helper()
	for end := time.Now().Add(ibtest.Limit); time.Now().Before(end); time.Sleep(poll) {
		f.mu.Lock()
		for _, s := range f.steps {
			if strings.Contains(s.What, what) || s.Err != nil && strings.Contains(s.Err.Error(), what) {
				f.mu.Unlock()
				return s
			}
		}
		f.mu.Unlock()
	}
	f.log(t)
	t.Fatalf("not said: %s", what)
	return Step{}
}

// TestStandbyTakesOver: OpenSM is killed, and a standby that reads the same tables becomes master. It is found
// among both while both run, the switches hold the plan's tables afterwards, and links that die are planned around.
//
//gate:debian13
func TestStandbyTakesOver(t *testing.T) {
	need.Heavy(t)
	ibtest.Need(t)
	t.Parallel()
	f := follows(t, "FT(2;4,8)", 2, "-p", "9", "-g", guidOf(networkOf(t, treeOf(t, "FT(2;4,8)").Wires, 2), 0))
	next := f.beside(t, "Entering STANDBY state", "-F", soon(t, ""), "-p", "1")
	f.joins(t, f.install(t)) // two read the tables
	f.live.Kill()
	f.await(t, fmt.Sprintf("OpenSM is process %d, and master", next.PID()))
	f.change(t, f.live.Pull, false, "leaf0-spine0")
	f.joins(t, f.install(t, "leaf0-spine0"))
}

// TestStandbyLoadsOthers: the standby has not taken the switches' tables along; those of the plan come back.
//
//gate:weekly13
func TestStandbyLoadsOthers(t *testing.T) {
	ibtest.Need(t)
	t.Parallel()
	f := follows(t, "FT(2;2,3)", 1, "-g", guidOf(networkOf(t, treeOf(t, "FT(2;2,3)").Wires, 1), 0))
	f.install(t, "leaf0-spine0")
	want := compute(t, build(t, treeOf(t, "FT(2;2,3)", "leaf1-spine1"), plan.Options{Schedule: "fors"}), f.net, 1)
	_, err := f.o.Install(t.Context(), want) // as a run does for its next case
	expect.Must(t, err)
	other := compute(t, build(t, f.tree, plan.Options{Schedule: "linear-shift", Routing: "ftree"}), f.net, 1)
	files := expect.Value(other.texts(f.o.Dir))(t)
	expect.Must(t, put(f.o.Dir, files)) // somebody has written there
	f.live.Kill()
	next := f.beside(t, "SUBNET UP")
	f.await(t, fmt.Sprintf("OpenSM is process %d, and master", next.PID()))
	if s := f.await(t, "the switches held other tables than the plan's, which was installed again"); s.Err != nil {
		t.Error(s.Err)
	}
	f.joins(t, want)
}

// TestRestarted: OpenSM has ended, a link dies, and the tables of the next plan are loaded by an OpenSM with another
// number as soon as that is there.
//
//gate:debian13
func TestRestarted(t *testing.T) {
	ibtest.Need(t)
	t.Parallel()
	f := follows(t, "FT(2;4,8)", 2)
	f.joins(t, f.install(t))
	f.live.Kill()
	if err := f.await(t, "no tables are loaded").Err; !absent(err) {
		t.Errorf("%v", err)
	}
	f.change(t, f.live.Pull, false, "leaf0-spine0")
	p := build(t, treeOf(t, "FT(2;4,8)", "leaf0-spine0"), plan.Options{Schedule: "fors"})
	done := make(chan error, 1)
	go func() {
		_, err := f.s.Install(t.Context(), p)
		done <- err
	}()
	f.await(t, "tables made and checked")
	f.beside(t, "")
	expect.Must(t, <-done)
	f.joins(t, compute(t, p, f.net, 2))
}

// TestAnotherMaster: OpenSM has ended, that of somebody else becomes master, and ours comes back as its standby:
// the master is named, and nothing is changed.
//
//gate:weekly13
func TestAnotherMaster(t *testing.T) {
	ibtest.Need(t)
	t.Parallel()
	own := guidOf(networkOf(t, treeOf(t, "FT(2;4,8)").Wires, 2), 0)
	f := follows(t, "FT(2;4,8)", 2, "-p", "9", "-g", own)
	f.install(t)
	held := func() string {
		text := expect.Value(f.o.ReadBack(t.Context(), 1<<20))(t)
		return string(text)
	}
	f.live.Kill()
	other, err := f.live.Beside(t.Context(), 1, "minhop", "SUBNET UP", "-p", "5", "-g", guidOf(f.net, 1))
	expect.Must(t, err)
	t.Cleanup(other.Close)
	ours := expect.Value(f.live.Beside(t.Context(), 0, "file,no_fallback", "Entering STANDBY state", "-U", filepath.Join(f.o.Dir, LFTsFile), "-p", "1", "-g", own))(t)
	t.Cleanup(ours.Close)
	name := "is not master of the subnet: that is the subnet manager at port GUID " + guidOf(f.net, 1)
	f.await(t, name)
	was, files := held(), f.files(t)
	_, err = f.s.Install(t.Context(), build(t, treeOf(t, "FT(2;4,8)", "leaf0-spine0"), plan.Options{Schedule: "fors"}))
	expect.Error(t, err, name)
	expect.False(t, held() != was || f.files(t) != files, "something has changed")
}

func (f *followed) files(t *testing.T) (out string) {
	t.Helper()
	for _, name := range []string{LFTsFile, PathsFile, companion.FormerFile} {
		text := expect.Value(os.ReadFile(filepath.Join(f.o.Dir, name)))(t)
		out += string(text)
	}
	return out
}

var unitLine = regexp.MustCompile(`(?m)^ExecStart=\S*/opensm (.*)$`)

// TestUnit starts OpenSM as systemd does with Debian's unit: with a port and a log of its own,
// standard output into another program, and its configuration in a file. Whoever asks for auto finds it.
func TestUnit(t *testing.T) {
	ibtest.Need(t)
	t.Parallel()
	text, err := os.ReadFile("/lib/systemd/system/opensm@.service")
	if err != nil {
		need.Missing(t, "opensm", err.Error())
	}
	tree, dir := treeOf(t, "FT(2;2,3)"), t.TempDir()
	n := networkOf(t, tree.Wires, 1)
	first := compute(t, build(t, tree, plan.Options{Schedule: "linear-shift"}), n, 1)
	f := judge(t, first, n)
	f.live.Kill() // before: an OpenSM that looks for others while one ends may wait for ever
	line := strings.NewReplacer("%I", guidOf(n, 1), "/var/log", dir).Replace(string(unitLine.FindSubmatch(text)[1]))
	args := append(strings.Fields(line), "-F", soon(t, "routing_engine file,no_fallback\nlfts_file "+filepath.Join(f.o.Dir, LFTsFile)+"\n"))
	sm := expect.Value(f.live.Beside(t.Context(), 1, "file,no_fallback", "", args...))(t)
	defer sm.Close()
	m := Manager{Dir: f.o.Dir, Process: Auto, Wait: ibtest.Limit, ReadBack: f.o.ReadBack, Master: f.o.Master}
	ctx, cancel := context.WithTimeout(t.Context(), ibtest.Limit)
	defer cancel()
	var p *Process
	for p == nil && ctx.Err() == nil {
		p, _, err = m.master(ctx)
	}
	expect.Must(t, err)
	defer p.Close()
	log := filepath.Join(dir, "opensm."+guidOf(n, 1)+".log")
	expect.Equal(t, p.log(""), log, "the log")
	expect.Equal(t, p.set.guid, n.Info(1).Port, "the port")
	if reopens, advice, err := p.logging(log); !reopens || !strings.Contains(advice, "force_log_flush TRUE") || err != nil {
		t.Errorf("%v, %q, %v", reopens, advice, err)
	}
	second := compute(t, build(t, treeOf(t, "FT(2;2,3)", "leaf0-spine0"), plan.Options{Schedule: "fors"}), n, 1)
	_, err = m.Install(t.Context(), second)
	expect.Must(t, err)
	f.holds(t, second)
}
