package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"evbench/cmd/open/held"
	"evbench/internal/proc"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// call runs a command within this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"evbench"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// bystander starts a process that has nothing to do with evbench. It must be there still
// at the end.
func bystander(t *testing.T, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = proc.Group(syscall.SIGKILL)
	in := expect.Value(cmd.StdinPipe())(t)
	expect.Must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		expect.OK(t, cmd.Wait(), "%s, which is not ours", name)
	})
	expect.Begun(t, cmd.Process.Pid)
	return cmd.Process.Pid
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		need.Optional(t, "root, who alone can give files away")
	}
}

const nobody = 65534

// What is no state file of ours is neither believed nor overwritten, and no process is
// signalled that it names.
func TestLabStateOfOthers(t *testing.T) {
	pid := bystander(t, "cat")
	forged := fmt.Sprintf(`{"pid":%d,"nodes":{},"text":"x"}`, pid)
	ours := fmt.Sprintf(`{"pid":%d,"start":1,"exe":"1:1","nodes":{},"text":"x"}`+"\n", pid)
	for _, tt := range []struct {
		name  string
		plant func(t *testing.T, dir, file string) error
		up    bool // is refused, too
		want  string
	}{
		{"another process", func(_ *testing.T, _, file string) error { return os.WriteFile(file, []byte(forged+"\n"), 0o600) }, false, "start"},
		{"a group", func(_ *testing.T, _, file string) error {
			return os.WriteFile(file, []byte(strings.Replace(forged, ":", ":-", 1)+"\n"), 0o600)
		}, false, "pid"},
		{"a number used again", func(_ *testing.T, _, file string) error { return os.WriteFile(file, []byte(ours+"\n"), 0o600) }, false, "no lab is up"},
		{"nonsense", func(_ *testing.T, _, file string) error { return os.WriteFile(file, []byte("dear friend\n"), 0o600) }, false, "evbench-lab.json"},
		{"a link", func(_ *testing.T, dir, file string) error { return os.Symlink(filepath.Join(dir, "victim"), file) }, true, "is a link"},
		{"a second name", func(_ *testing.T, dir, file string) error { return os.Link(filepath.Join(dir, "victim"), file) }, true, "2 names"},
		{"all may write", func(_ *testing.T, _, file string) error {
			return errors.Join(os.WriteFile(file, []byte(ours+"\n"), 0o600), os.Chmod(file, 0o666))
		}, true, "others may write"},
		{"of nobody", func(t *testing.T, _, file string) error {
			asRoot(t)
			return errors.Join(os.WriteFile(file, []byte(ours+"\n"), 0o600), os.Chown(file, nobody, -1))
		}, true, "belongs to user 65534"},
		{"folder of nobody", func(t *testing.T, _, file string) error {
			asRoot(t)
			return os.Chown(filepath.Dir(file), nobody, -1)
		}, true, "belongs to user 65534"},
		{"folder that all may write", func(_ *testing.T, _, file string) error { return os.Chmod(filepath.Dir(file), 0o777) }, true, "others may write"},
		{"folder is a link", func(_ *testing.T, dir, file string) error {
			other := filepath.Join(dir, "other")
			return errors.Join(os.Remove(filepath.Dir(file)), os.Mkdir(other, 0o700), os.Symlink(other, filepath.Dir(file)))
		}, true, "is a link"},
		{"a pipe", func(_ *testing.T, _, file string) error { return syscall.Mkfifo(file, 0o600) }, true, "is not a file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			t.Setenv("XDG_RUNTIME_DIR", "")
			file, _ := held.StateFile()
			write(t, dir, "victim", "precious")
			expect.Must(t, errors.Join(os.Mkdir(filepath.Dir(file), 0o700), tt.plant(t, dir, file)))
			calls := [][]string{{"lab", "down"}, {"lab", "exec", "leaf0", "true"}}
			if tt.up {
				calls = append(calls, []string{"lab", "up", "-t", "FT(2;2,2)"}, []string{"lab", "up", "-t", "FT(2;2,2)", "--foreground"})
			}
			for _, args := range calls {
				code, out, said := call(t, args...)
				expect.True(t, code == exitUsage && strings.Contains(said, tt.want), "%v: exit %d, want %q in:\n%s%s", args, code, tt.want, out, said)
			}
			b, err := os.ReadFile(filepath.Join(dir, "victim"))
			expect.True(t, err == nil && string(b) == "precious", "the victim holds %q, %v", b, err)
		})
	}
}

// In user namespaces of all kinds the commands of a user find the lab, from its nodes too, and take no
// folder of another user for their own.
func TestLabOfUsers(t *testing.T) {
	need.Namespaces(t)
	self := expect.Value(os.Executable())(t)
	for _, below := range [][]string{{"env"}, {"unshare", "-Ur"}, {"unshare", "--user", "--map-user=1000", "--map-group=1000"}} {
		t.Run(strings.Join(below, " "), func(t *testing.T) {
			dir := t.TempDir()
			expect.Must(t, os.Symlink(self, filepath.Join(dir, "evbench")))
			names := []string{"evbench"}
			if os.Getuid() == 0 && below[0] != "env" {
				others := filepath.Join(dir, "evbench-0")
				expect.Must(t, errors.Join(os.Mkdir(others, 0o700), os.Chown(others, nobody, -1)))
				names = append(names, "evbench-0")
			}
			code, out, said := capture(t, dir, expect.Value(exec.LookPath(below[0]))(t), append(below, "sh", "-c",
				"XDG_RUNTIME_DIR= && ./evbench lab up -t 'FT(2;2,2)' && ./evbench lab exec server0 ./evbench lab exec server1 cat /proc/net/dev && cat evbench-*/evbench-lab.json && ./evbench lab down")...)
			expect.True(t, code == exitDone && strings.Contains(out, "leaf0:") && strings.Contains(out, "down: FT(2;2,2)"), "exit %d:\n%s%s", code, out, said)
			pid := regexp.MustCompile(`"pid":(\d+)`).FindStringSubmatch(out)
			expect.MustTrue(t, pid != nil, "no process in:\n%s", out)
			awaitEnd(t, expect.Value(strconv.Atoi(pid[1]))(t)) // it removes its folder last
			onlyThese(t, dir, names...)
		})
	}
}

// Of two that build a lab at once one does, and the other is told so.
func TestTwoLabsAtOnce(t *testing.T) {
	need.Namespaces(t)
	dir := t.TempDir()
	type ended struct {
		code int
		said string
	}
	both := make(chan ended, 2)
	for range 2 {
		go func() {
			code, out, said := output(t, dir, "lab", "up", "-t", "FT(2;2,2)")
			both <- ended{code, out + said}
		}()
	}
	one, other := <-both, <-both
	if one.code != exitDone {
		one, other = other, one
	}
	expect.True(t, one.code == exitDone && other.code == exitUsage && strings.Contains(other.said, "a lab is "),
		"ended with %d and %d:\n%s%s", one.code, other.code, one.said, other.said)
	b := expect.Value(os.ReadFile(filepath.Join(dir, "evbench-lab.json")))(t)
	var h struct{ PID int }
	expect.Must(t, json.NewDecoder(bytes.NewReader(b)).Decode(&h))
	if code, out, said := output(t, dir, "lab", "down"); code != exitDone {
		t.Errorf("down ended with %d:\n%s%s", code, out, said)
	}
	awaitEnd(t, h.PID)
	onlyThese(t, dir)
}

// A folder for temporary files whose name is too long for a socket is no reason not to run.
func TestLongTemporaryFolder(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, strings.Repeat("x", 120))
	expect.Must(t, os.Mkdir(long, 0o700))
	write(t, dir, "s.yaml", strings.Replace(fmt.Sprintf(hostsScenario, "100ms"), "FT(2;4,2)", "FT(2;2,2)", 1))
	if code, out, said := sh(t, dir, "TMPDIR="+long+" evbench run --rounds 1 --quiet s.yaml -o out"); code != exitDone && code != exitInvalid {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	onlyThese(t, long)
	code, _, said := call(t, "controller", "--token-file", filepath.Join(dir, "s.yaml"), "--listen", "unix:"+filepath.Join(long, "control"), filepath.Join(dir, "s.yaml"))
	expect.True(t, code == exitUsage && strings.Contains(said, "107"), "exit %d: %s", code, said)
}

const placedScenario = `
topology: FT(2;2,2)
fabric: {kind: hosts}
event: {fragment: 16KiB}
duration: 100ms
interval: 100ms
timeout: 30s
control: off
cases: [{name: one, schedule: linear-shift, routing: pinned}]
`

// A heldLab is a small lab that is up for the time of a test.
type heldLab struct {
	t            *testing.T
	dir, evbench string
}

func holdLab(t *testing.T) heldLab {
	t.Helper()
	need.Namespaces(t)
	dir := t.TempDir()
	write(t, dir, "hosts.yaml", placedScenario)
	write(t, dir, "token", "secret\n")
	self := expect.Value(os.Executable())(t)
	l := heldLab{t, dir, filepath.Join(dir, "evbench")}
	expect.Must(t, os.Symlink(self, l.evbench))
	code, out, said := output(t, dir, "lab", "up", "-t", "FT(2;2,2)")
	expect.MustTrue(t, code == exitDone, "lab up ended with %d:\n%s%s", code, out, said)
	t.Cleanup(func() { output(t, dir, "lab", "down") })
	return l
}

// place runs the scenario on servers of the lab, the i-th with position at[i].
// What it prints goes to the file OUT.txt.
func (l heldLab) place(out string, at ...int) (int, string) {
	l.t.Helper()
	printed := expect.Value(os.Create(filepath.Join(l.dir, out+".txt")))(l.t)
	defer printed.Close()
	socket := "unix:" + filepath.Join(l.dir, out+"-control")
	cmd := exec.Command(l.evbench, "controller", "hosts.yaml", "--listen", socket, "--token-file", "token", "-o", out)
	cmd.Stdout = printed
	controller := beginCommand(l.t, l.dir, cmd)
	var workers []*program
	for i, id := range at {
		workers = append(workers, begin(l.t, l.dir, "lab", "exec", fmt.Sprint("server", i), l.evbench, "worker",
			"--controller", socket, "--token-file", filepath.Join(l.dir, "token"), "--id", fmt.Sprint(id), "--network", "10.0.0.0/8"))
	}
	code, said := controller.end()
	for _, w := range workers {
		w.end()
	}
	return code, said
}

// ip has a node of the lab change its routes.
func (l heldLab) ip(node string, args ...string) {
	l.t.Helper()
	code, out, said := output(l.t, l.dir, append([]string{"lab", "exec", node, "ip"}, args...)...)
	expect.MustTrue(l.t, code == exitDone, "ip %v on %s ended with %d:\n%s%s", args, node, code, out, said)
}

// exchange has leaf0 take the way over spine1 for what is meant for spine0, and
// the other way round. The spines do not know such addresses and would drop
// them; as switches with routes to all that there is they pass them on.
func (l heldLab) exchange() {
	for spine := range 2 {
		other, at := fmt.Sprint("spine", 1-spine), fmt.Sprintf("172.16.0.%d", 2*(1-spine)+1)
		l.ip("leaf0", "route", "replace", fmt.Sprintf("10.%d.0.0/16", spine), "via", at, "dev", other)
		for leaf := range 2 {
			l.ip(other, "route", "replace", fmt.Sprintf("10.%d.%d.0/24", spine, leaf),
				"via", fmt.Sprintf("172.16.0.%d", 4*leaf+2*(1-spine)), "dev", fmt.Sprint("leaf", leaf))
		}
	}
}

// In a routed network of namespaces, workers find their addresses by themselves,
// and the preflight finds workers with the wrong position by the number of
// routers between them. With the right ones, a plan that chooses spines runs.
//
//gate:race
func TestPreflightInLab(t *testing.T) {
	lab := holdLab(t)
	code, said := lab.place("wrong", 0, 2, 1, 3)
	for _, want := range []string{
		"server1 seems to be on leaf", "server2 seems to be on leaf", "3 hops to server",
		"leaves are told apart by hops: 1 hop within a leaf, 3 hops between leaves",
	} {
		expect.True(t, code == exitFailed && strings.Contains(said, want),
			"with the wrong positions it ended with %d, without %q:\n%s", code, want, said)
	}
	if code, said := lab.place("right", 0, 1, 2, 3); code != exitDone && code != exitInvalid {
		t.Fatalf("with the right positions it ended with %d:\n%s", code, said)
	}
	r := expect.Value(stored.ReadRun(filepath.Join(lab.dir, "right")))(t)
	m := r.Manifest
	if want := "leaves are told apart by hops: 1 hop within a leaf, 3 hops between leaves; they are as the file says"; !slices.Contains(m.Preflight, want) {
		t.Errorf("preflight %q, want %q", m.Preflight, want)
	}
	addresses := []string{"10.200.1.1:7000", "10.0.1.1:7000", "10.1.1.1:7000"}
	h := m.Hosts[2]
	expect.True(t, slices.Equal(h.Addresses, addresses) && h.Interface == "leaf1" && h.MTU == 9000,
		"server2 is %+v, want addresses %v on leaf1", h, addresses)
}

// Where switches have the addresses of routes install, the preflight asks who is
// half way: the spine that the address is for, or another one. Switches without
// addresses are not taken to be right.
func TestPreflightFollowsPaths(t *testing.T) {
	lab := holdLab(t)
	run := func(args ...string) {
		t.Helper()
		if code, out, said := output(t, lab.dir, args...); code != exitDone {
			t.Fatalf("%v ended with %d:\n%s%s", args, code, out, said)
		}
	}
	warnings := func(name string) (preflight, warnings []string) {
		t.Helper()
		if code, said := lab.place(name, 0, 1, 2, 3); code != exitDone && code != exitInvalid {
			t.Fatalf("%s: it ended with %d:\n%s", name, code, said)
		}
		r := expect.Value(stored.ReadRun(filepath.Join(lab.dir, name)))(t)
		return r.Manifest.Preflight, r.Manifest.Warnings
	}
	switches := []string{"leaf0", "leaf1", "spine0", "spine1"}
	for _, node := range switches { // the lab's switches answer from addresses of their cables; others do not
		run("lab", "exec", node, "sh", "-c", "ip -o -4 address show to 172.16.0.0/12 | while read -r _ port _ at _; do ip address add 198.51.100.1/32 dev $port; ip address del $at dev $port; done")
	}
	const unchecked = "not checked whether 4 of 4 addresses for a spine lead through it"
	if _, said := warnings("nameless"); !strings.Contains(strings.Join(said, "\n"), unchecked) {
		t.Errorf("without addresses it warns of %q", said)
	}
	table, err := os.ReadFile(filepath.Join(lab.dir, "nameless.txt"))
	expect.True(t, err == nil && strings.Contains(string(table), "\nwarning: "+unchecked), "%v; the table has no such warning:\n%s", err, table)
	run("plan", "-t", "FT(2;2,2)", "-s", "fors", "-o", "plan.txt")
	run("routes", "install", "plan.txt", "--target", "iproute", "--dir", ".")
	for _, node := range append(switches, "server0", "server1", "server2", "server3") {
		lab.ip(node, "-force", "-batch", filepath.Join(lab.dir, node+".batch"))
	}
	for _, node := range switches {
		run("lab", "exec", node, "sh", "-c", "ip -o -4 address show to 198.51.100.1 | while read -r _ port _ at _; do ip address del $at dev $port; done")
	}
	found, said := warnings("right")
	if want := "4 of 4 addresses for a spine were seen to lead through it, from one server of each leaf to one of each other"; !slices.Contains(found, want) ||
		strings.Contains(strings.Join(said, "\n"), "not checked") {
		t.Errorf("found %q, want %q; warnings %q", found, want, said)
	}
	lab.exchange()
	code, text := lab.place("exchanged", 0, 1, 2, 3)
	for _, want := range []string{
		"server1 to server2 at 10.0.1.1:7000 leads through spine1 (172.16.0.3), not through spine0",
		"server1 to server2 at 10.1.1.1:7000 leads through spine0 (172.16.0.1), not through spine1",
		"correct the routes of the switches",
	} {
		expect.True(t, code == exitFailed && strings.Contains(text, want), "exchanged routes ended with %d, without %q:\n%s", code, want, text)
	}
	expect.True(t, !strings.Contains(text, "server2 to") && !strings.Contains(text, "server3 to"), "leaf1 is right:\n%s", text)
}
