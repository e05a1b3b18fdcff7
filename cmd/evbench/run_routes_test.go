package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"evbench/companion"
	"evbench/site/network"
	"evbench/site/opensm"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
	"evbench/testing/need"
)

// A routedRun is a run whose routes an OpenSM with default settings gets; links are dead as far as a
// file says so.
type routedRun struct {
	t    *testing.T
	in   func(string) string
	net  *network.Network
	live *ibtest.Live
	was  string // the tables before
}

func newRoutedRun(t *testing.T) *routedRun {
	t.Helper()
	ibtest.Need(t)
	dir := t.TempDir()
	r := &routedRun{t: t, in: func(name string) string { return filepath.Join(dir, name) }, net: expect.Value(network.Parse("FT(2;2,2)", 2))(t)}
	r.live = liveOpenSM(t, r.net, r.in)
	write(t, dir, "tee.sh", fmt.Sprintf("sh %s | tee %s/held.$$\n", r.in("dump.sh"), dir))
	r.was = r.held()
	return r
}

func (r *routedRun) held() string {
	r.t.Helper()
	return string(expect.Value(r.live.Program(r.t.Context(), "dump_fts", "-n").Output())(r.t))
}

// scenario has a healthy case and one with a dead link, and these fields of routes in place of others.
func (r *routedRun) scenario(duration string, routes ...string) {
	r.t.Helper()
	fields := map[string]string{
		"kind": "opensm", "network": r.in("fabric.net"), "dir": r.in(""), "process": fmt.Sprint(r.live.PID()),
		"dump": "sh " + r.in("tee.sh"), "sminfo": "sh " + r.in("sminfo.sh"), "discover": "sh " + r.in("discover.sh"),
	}
	for _, x := range routes {
		name, value, _ := strings.Cut(x, "=")
		if fields[name] = value; value == "" {
			delete(fields, name)
		}
	}
	text := "topology: FT(2;2,2)\nfabric:\n  kind: hosts\n  routes:\n"
	for name, value := range fields {
		text += fmt.Sprintf("    %s: %q\n", name, value)
	}
	down := r.in("{link}.down")
	text += fmt.Sprintf("event: {fragment: 1KiB}\nduration: %s\nrounds: 1\ncontrol: false\ninject: {kind: command, down: 'touch %s', up: 'rm %s', probe: 'test ! -e %s', journal: %s}\n"+
		"cases:\n  - {name: healthy, routing: ftree}\n  - {name: dead, routing: minhop, failures: [leaf0-spine0]}\n", duration, down, down, down, r.in("journal"))
	write(r.t, r.in(""), "run.yaml", text)
}

func (r *routedRun) run() (code int, said string) {
	r.t.Helper()
	expect.OK(r.t, os.RemoveAll(r.in("out")))
	code, out, said := output(r.t, r.in(""), "run", "run.yaml", "-o", "out", "--quiet")
	return code, out + said
}

// back checks that the switches hold the tables of before, and that nothing else is left.
func (r *routedRun) back() {
	r.t.Helper()
	if r.held() != r.was {
		r.t.Error("the switches do not hold their former tables")
	}
	_, err := os.Stat(r.in(companion.FormerFile))
	expect.True(r.t, os.IsNotExist(err), "%s: %v", companion.FormerFile, err)
}

// TestRunInstallsRoutes has the routes of each case loaded, and the former ones at the end.
func TestRunInstallsRoutes(t *testing.T) {
	r := newRoutedRun(t)
	r.scenario("100ms")
	code, said := r.run()
	expect.MustTrue(t, code == exitDone, "exit %d: %s", code, said)
	r.back()
	held := map[string]bool{}
	for _, name := range expect.Value(filepath.Glob(r.in("held.*")))(t) {
		held[string(expect.Value(os.ReadFile(name))(t))] = true
	}
	expect.True(t, len(held) == 2 || len(held) == 3, "%d tables were held in turn", len(held))
	text := expect.Value(os.ReadFile(r.in("out/manifest.json")))(t)
	expect.True(t, strings.Contains(string(text), `"routes": "opensm"`), "%s", text)
}

// TestRunRoutesFaults: each is named before events are built, and nothing is changed.
func TestRunRoutesFaults(t *testing.T) {
	need.Heavy(t)
	r := newRoutedRun(t)
	write(t, r.in(""), "other.sh", "echo 'sminfo: sm lid 1 sm guid 0x77, activity count 1 priority 0 state 3 SMINFO_MASTER'\n")
	write(t, r.in(""), "mixed.net", mixedLMC(string(expect.Value(os.ReadFile(r.in("fabric.net")))(t))))
	write(t, r.in(""), "deaf.sh", fmt.Sprintf("sh %s | if cmp -s %s %s; then cat; else sed 's/^\\(0x0004\\) 00./\\1 004/'; fi\n", r.in("dump.sh"), r.in(opensm.LFTsFile), r.in("was.lfts")))
	write(t, r.in(""), "was.lfts", string(expect.Value(os.ReadFile(r.in(opensm.LFTsFile)))(t)))
	// Which port is OpenSM's is known of InfiniBand's devices, or where it has been told.
	own := string(expect.Value(os.ReadFile(r.in("own.conf")))(t))
	said := expect.Value(r.live.Program(t.Context(), "sminfo").Output())(t)
	write(t, r.in(""), "own.conf", own+"guid "+regexp.MustCompile("0x[0-9a-f]+").FindString(string(said))+"\n")
	for _, c := range []struct {
		routes []string
		code   int
		want   string
	}{
		{[]string{"dir=" + t.TempDir()}, exitUsage, "reads its tables from " + r.in(opensm.LFTsFile)},
		{[]string{"sminfo=sh " + r.in("other.sh")}, exitUsage, "is not master of the subnet: that is the subnet manager at port GUID 0x0000000000000077"},
		{[]string{"network=" + r.in("mixed.net")}, exitUsage, "OpenSM gives all hosts the same"},
		{[]string{"process=1073741823"}, exitUsage, "process 1073741823"},
		{[]string{"kind=loaded", "dir=", "process=", "sminfo=", "discover="}, exitUsage, `case "dead": `},
		{[]string{"dump=sh " + r.in("deaf.sh"), "timeout=5s"}, exitFailed, "the former tables are back, read back and compared"},
		{[]string{"kind=kernel"}, exitUsage, "shell"},
	} {
		r.scenario("100ms", c.routes...)
		code, said := r.run()
		expect.True(t, code == c.code && strings.Contains(said, c.want), "%q: exit %d: %s", c.routes, code, said)
		r.back()
	}
}

// mixedLMC gives one host another LMC.
func mixedLMC(text string) string {
	at := strings.LastIndex(text, "lmc 2")
	return text[:at] + "lmc 1" + text[at+5:]
}

// TestRunRoutesStopped brings the former tables back after a signal; after a kill the next run says who
// has left its tables, and routes undo brings back the former ones.
//
//gate:race
func TestRunRoutesStopped(t *testing.T) {
	need.Heavy(t)
	r := newRoutedRun(t)
	r.scenario("1h")
	for _, c := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, exitInterrupted}, {syscall.SIGTERM, exitTerminated}, {syscall.SIGKILL, -1}} {
		p := begin(t, r.in(""), "run", "-v", "run.yaml", "--case", "dead", "-o", "out"+c.signal.String())
		p.await("dead: measure")
		expect.True(t, r.held() != r.was, "the tables of the case are not there")
		p.signal(c.signal)
		code, said := p.end()
		expect.True(t, code == c.code, "exit %d: %s", code, said)
		if c.signal != syscall.SIGKILL {
			r.back()
		}
	}
	undo := append([]string{"routes", "undo", r.in("")}, diags(r.in)...)
	expect.OK(t, os.Remove(r.in("journal"))) // of the link
	code, said := r.run()
	expect.True(t, code == exitUsage && strings.Contains(said, "has left tables in place since") && strings.Contains(said, "evbench routes undo "), "exit %d: %s", code, said)
	code, out, said := output(t, r.in(""), append(undo, "--pid", fmt.Sprint(r.live.PID()))...)
	expect.True(t, code == exitDone, "exit %d: %s%s", code, out, said)
	r.back()
}

// TestOneOwnerOfTables: while a run has lent tables nobody else changes them, and no run begins while
// another one does. Each is named.
func TestOneOwnerOfTables(t *testing.T) {
	need.Heavy(t)
	r := newRoutedRun(t)
	r.scenario("1h")
	reach := append([]string{"--pid", fmt.Sprint(r.live.PID())}, diags(r.in)...)
	follow := append([]string{"routes", "follow", "-t", r.in("fabric.net"), "--dir", r.in(""), "--discover", "sh " + r.in("discover.sh")}, reach...)
	install := append([]string{"routes", "install", r.in("healthy.txt"), "--target", "opensm", "-t", r.in("fabric.net"), "--dir", r.in("")}, reach...)
	write(t, r.in(""), "jobs", "1 h[0-3]\n")
	jobs := append([]string{"routes", "jobs", r.in("jobs"), "-t", r.in("fabric.net"), "--dir", r.in("")}, reach...)
	files := []string{"routes", "install", r.in("healthy.txt"), "--target", "opensm", "-t", r.in("fabric.net"), "--dir", r.in("")}
	wrap := []string{"mpi", "wrap", "--network", r.in("fabric.net"), "--by-rank", "-o", r.in("wrapped"), "--routes", "opensm", "--dir", r.in("")}
	undo := append([]string{"routes", "undo", r.in("")}, reach...)
	refused := func(owner string, commands ...[]string) {
		t.Helper()
		held := r.held()
		for _, args := range commands {
			code, out, said := output(t, r.in(""), args...)
			expect.True(t, code == exitUsage && strings.Contains(said, owner) && out == "", "%v: exit %d: %s%s", args, code, said, out)
		}
		expect.True(t, r.held() == held, "the tables have changed")
	}
	p := begin(t, r.in(""), "run", "-v", "run.yaml", "--case", "dead", "-o", "first")
	p.await("dead: measure")
	refused(fmt.Sprintf("owner.json: in use by another process: process %d on ", p.cmd.Process.Pid), follow, install, jobs, files, wrap, undo)
	p.signal(syscall.SIGINT)
	code, said := p.end()
	expect.True(t, code == exitInterrupted, "exit %d: %s", code, said)
	r.back()

	f := startLasting(t.Context(), t, follow...)
	for f.lines.Scan() && !strings.Contains(f.lines.Text(), "in place; following the links") {
	}
	refused(fmt.Sprintf("process %d on ", os.Getpid()), []string{"run", "run.yaml", "-o", "second"}, install, jobs, files, wrap, undo)
	expect.Equal(t, f.end(), exitDone, "exit")
	code, out, said := output(t, r.in(""), undo...)
	expect.True(t, code == exitDone, "exit %d: %s%s", code, out, said)
	r.back()
}

// TestControllerFollowsOpenSM: a cable dies while events are built; OpenSM's log says so, and the switches
// get the tables of the next plan.
//
//gate:race
func TestControllerFollowsOpenSM(t *testing.T) {
	need.Heavy(t)
	r := newRoutedRun(t)
	r.scenario("1h", "dump=sh "+r.in("dump.sh"))
	text := string(expect.Value(os.ReadFile(r.in("run.yaml")))(t))
	text = text[:strings.Index(text, "inject:")] + "launch: {kind: local, preflight: off}\ntimeout: 5m\ncases: [{name: live, schedule: fors, failover: fors}]\n"
	write(t, r.in(""), "run.yaml", text)
	write(t, r.in(""), "token", "secret\n")
	c := begin(t, r.in(""), "controller", "-v", "run.yaml", "--listen", "unix:c", "--token-file", "token", "-o", "out")
	for id := range 4 {
		begin(t, r.in(""), "worker", "--controller", "unix:c", "--token-file", "token", "--id", fmt.Sprint(id), "--data", "127.0.0.1:0,127.0.0.1:0,127.0.0.1:0")
	}
	c.await("live: measure")
	cable := network.End{Node: r.switchOf("s1_0"), Port: 3}
	expect.Must(t, r.live.Pull(cable))
	c.await("down=[leaf0-spine0] up=[] in_use=true")
	expect.Must(t, r.live.Plug(cable))
	c.await("up=[leaf0-spine0] in_use=true")
	c.signal(syscall.SIGINT)
	code, said := c.end()
	expect.True(t, code == exitInterrupted, "exit %d: %s", code, said)
	r.back()
}

func (r *routedRun) switchOf(name string) network.Node {
	for i := range r.net.Switches() {
		if v := r.net.Switch(i); r.net.Info(v).Name == name {
			return v
		}
	}
	r.t.Fatalf("no switch %s", name)
	return network.NoNode
}

// TestControllerRoutesLab: Linux switches, reached by a shell, get the routes of a plan around a link
// that is dead, which workers follow by address, and have their own again at the end.
//
//gate:race
func TestControllerRoutesLab(t *testing.T) {
	l := holdLab(t)
	held := func() string {
		_, out, said := output(t, l.dir, "lab", "exec", "leaf0", "ip", "route")
		expect.MustTrue(t, out != "", "%s", said)
		return out
	}
	was := held()
	write(t, l.dir, "a.yaml", fmt.Sprintf(`
topology: FT(2;2,2)
fabric: {kind: hosts, routes: {kind: kernel, shell: %s lab exec}}
launch: {kind: local, preflight: off}
event: {fragment: 4KiB}
duration: 300ms
rounds: 1
control: false
cases: [{name: cut, schedule: fors, failures: [leaf0-spine1]}]
`, l.evbench))
	c := begin(t, l.dir, "controller", "-v", "a.yaml", "--listen", "unix:c", "--token-file", "token", "-o", "out")
	for id := range 4 {
		var data []string
		for _, path := range []int{200, 0, 1} {
			data = append(data, fmt.Sprintf("10.%d.%d.%d:7000", path, id/2, id%2+1))
		}
		begin(t, l.dir, "lab", "exec", fmt.Sprint("server", id), l.evbench,
			"worker", "--controller", "unix:c", "--token-file", "token", "--id", fmt.Sprint(id), "--data", strings.Join(data, ","))
	}
	c.await("cut: measure")
	expect.True(t, strings.Contains(held(), "10.200.1.2 via 172.16.0.1 dev spine0 proto 201") && !strings.Contains(held(), "dev spine1 proto 201"), "%s", held())
	code, said := c.end()
	expect.True(t, code == exitDone && held() == was, "exit %d: %s\n%s", code, said, held())
	_, err := os.Stat(filepath.Join(l.dir, "evbench-routes", companion.FormerFile))
	expect.True(t, os.IsNotExist(err), "%v", err)
}
