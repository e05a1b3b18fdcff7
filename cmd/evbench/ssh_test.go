package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"evbench/site/node"
	"evbench/testing/expect"
	"evbench/testing/need"
)

const sshScenario = `
topology: FT(2;2,2)
fabric: {kind: hosts}
launch: {kind: ssh, hosts: "%s", config: %s, remote_dir: %s, data_port: %d}
event: {fragment: 16KiB}
duration: %s
interval: 100ms
timeout: 1m
control: off
cases: [{name: one, schedule: linear-shift}]
`

// A cluster is a directory with a scenario for the private sshd.
type cluster struct {
	t    *testing.T
	dir  string
	far  string // remote_dir, on all hosts: they are this machine
	port int    // for data
	ssh  *sshServer
}

func newCluster(t *testing.T) *cluster {
	return &cluster{t: t, dir: t.TempDir(), far: filepath.Join(t.TempDir(), "far"), port: freePorts(t, 2), ssh: startSSHD(t)}
}

// binarySum names this binary on hosts.
var binarySum = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/self/exe")
	return fmt.Sprintf("%x", sha256.Sum256(b))[:12]
})

// copied has the binary on the hosts from the beginning, another name of the same file: a copy by ssh takes 2 s of a processor.
// Tests of copying begin without.
func (c *cluster) copied() *cluster {
	c.t.Helper()
	expect.Must(c.t, os.Mkdir(c.far, 0o700))
	expect.Must(c.t, os.Link(expect.Value(os.Executable())(c.t), filepath.Join(c.far, "evbench-"+binarySum())))
	return c
}

func (c *cluster) scenario(hosts, duration string) {
	write(c.t, c.dir, "ssh.yaml", fmt.Sprintf(sshScenario, hosts, c.ssh.Config, c.far, c.port, duration))
}

// binary returns the only file in the directory of the hosts.
func (c *cluster) binary() os.FileInfo {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(c.far, "*"))
	expect.MustTrue(c.t, err == nil && len(files) == 1 && strings.HasPrefix(filepath.Base(files[0]), "evbench-"),
		"on the hosts: %v, %v; want the binary alone", files, err)
	info := expect.Value(os.Stat(files[0]))(c.t)
	return info
}

// workers lists the processes that run the copied binary.
func (c *cluster) workers() []string {
	c.t.Helper()
	all := expect.Value(filepath.Glob("/proc/[0-9]*/exe"))(c.t)
	var out []string
	for _, exe := range all {
		if to, err := os.Readlink(exe); err == nil && strings.HasPrefix(to, c.far+"/") {
			out = append(out, exe)
		}
	}
	return out
}

// awaitNoWorkers returns when the last worker has ended: each holds the binary
// open, and a process that ends is awaited through its descriptor.
func (c *cluster) awaitNoWorkers() {
	c.t.Helper()
	for _, exe := range c.workers() {
		var pid int
		expect.Must(c.t, expect.Err(fmt.Sscanf(exe, "/proc/%d/exe", &pid)))
		awaitEnd(c.t, pid)
	}
}

func TestRunBySSH(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.scenario("node[001-002],node001,node003", "300ms")
	if code, out, said := output(t, c.dir, "run", "--rounds", "1", "ssh.yaml", "-o", "out"); code != exitDone && code != exitInvalid ||
		!strings.Contains(said, "checking: 3 hosts") || !strings.Contains(said, "copying evbench: 1 host\n") {
		t.Fatalf("ended with %d:\n%s%s", code, out, said)
	}
	r, err := stored.ReadRun(filepath.Join(c.dir, "out"))
	expect.Must(t, err)
	one := r.Summary.Cases[0]
	expect.True(t, one.Complete && one.EventsBuilt != 0 && one.EventsLost+one.EventsDuplicate <= 0, "%+v", one)
	left := c.workers()
	expect.True(t, len(left) == 0, "workers left behind: %v", left)
	first := c.binary()

	// The second run finds the binary there, and talks to the workers over TLS.
	code, _, said := output(t, c.dir, "run", "--rounds", "1", "--tls", "ssh.yaml", "-o", "out2")
	expect.False(t, code != exitDone && code != exitInvalid || strings.Contains(said, "copying"), "the second run ended with %d:\n%s", code, said)
	again := c.binary()
	expect.True(t, os.SameFile(first, again) && first.ModTime().Equal(again.ModTime()), "the binary was copied a second time")
	if r, err = stored.ReadRun(filepath.Join(c.dir, "out2")); err != nil || !strings.HasPrefix(r.Manifest.Control, "tls:127.") {
		t.Errorf("the control connection is %q, %v", r.Manifest.Control, err)
	}
}

// A host with several adapters is a worker an adapter, each at its address; leaves take them apart.
func TestRunAdaptersBySSH(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	c := newCluster(t).copied()
	write(t, c.dir, "leaves.yaml", "leaf0: [node001@127.0.0.2, node002@127.0.0.3]\nleaf1: [node001@127.0.0.12, node002@127.0.0.13]\n")
	all := "node001@127.0.0.2,node001@127.0.0.12,node002@127.0.0.3,node002@127.0.0.13"
	begin := func(hosts string) (int, string) {
		c.scenario(hosts, "300ms")
		b := expect.Value(os.ReadFile(filepath.Join(c.dir, "ssh.yaml")))(t)
		write(t, c.dir, "ssh.yaml", strings.Replace(string(b), "launch: {", "launch: {placement: leaves.yaml, ", 1))
		code, out, said := output(t, c.dir, "run", "--rounds", "1", "ssh.yaml", "-o", "out")
		return code, out + said
	}
	for hosts, want := range map[string]string{
		strings.Replace(all, "127.0.0.12", "127.0.0.2", 1): "launch.placement does not fit FT(2;2,2)",
		strings.Replace(all, "node001@", "node003@", 1):    "launch.placement does not name node003@127.0.0.2",
		strings.Replace(all, "127.0.0.13", "nowhere", 1):   `launch.hosts: host "node002@nowhere": write HOST@ADDRESS`,
		strings.Replace(all, ",node001@127.0.0.12", "", 1): "launch.hosts: 3 names for 4 servers",
	} {
		code, said := begin(hosts)
		expect.True(t, code == exitUsage && strings.Contains(said, want), "%s: ended with %d, want %q:\n%s", hosts, code, want, said)
	}
	code, said := begin(all)
	expect.MustTrue(t, (code == exitDone || code == exitInvalid) && strings.Contains(said, "checking: 2 hosts"), "ended with %d:\n%s", code, said)
	r := expect.Value(stored.ReadRun(filepath.Join(c.dir, "out")))(t)
	one := r.Summary.Cases[0]
	expect.True(t, one.Complete && one.EventsBuilt != 0 && one.EventsLost+one.EventsDuplicate <= 0, "%+v", one)
	c.awaitNoWorkers()
}

// All that is wrong with the hosts is in one message, and nothing is started.
func TestBadHostsBySSH(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	c := newCluster(t).copied()
	l := expect.Value(net.Listen("tcp", fmt.Sprintf("%s:%d", sshAddr(1), c.port)))(t)
	defer l.Close()
	c.scenario("node[001-002],"+closedHost+",nowhere001", "300ms")
	code, _, said := output(t, c.dir, "run", "--rounds", "1", "--quiet", "ssh.yaml", "-o", "out")
	expect.Equal(t, code, exitUsage, "ended with")
	for _, want := range []string{
		"evbench: 3 of 4 hosts cannot be used:\n",
		fmt.Sprintf("\n  node002: port %d: in use\n", c.port),
		"\n  closed001: ssh: connect to host … port 1: Connection refused\n",
		"\n  nowhere001: ssh: Could not resolve hostname …: ",
	} {
		expect.Contains(t, said, want)
	}
	onlyThese(t, c.dir, "ssh.yaml")
	left := c.workers()
	expect.True(t, len(left) == 0, "workers left behind: %v", left)
	c.binary()
}

// The script adds the hosts to a scenario that has none, and passes on signals
// and the exit code.
func TestRunSSHScript(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	c := newCluster(t).copied()
	script := expect.Value(filepath.Abs("../../scripts/run-ssh.sh"))(t)
	self := expect.Value(os.Executable())(t)
	expect.Must(t, os.Symlink(self, filepath.Join(c.dir, "evbench")))
	write(t, c.dir, "hosts.yaml", strings.Replace(fmt.Sprintf(hostsScenario, "300ms"), "FT(2;4,2)", "FT(2;2,2)", 1))
	hosts := expect.Value(os.ReadFile(filepath.Join(c.dir, "hosts.yaml")))(t)
	write(t, c.dir, "ssh.yaml", string(hosts)+"launch:\n  kind: ssh\n  hosts: node001\n")
	write(t, c.dir, "all.hosts", "# leaf0\nnode001\n node002 # the second\r\n\nnode[003-004]\n")
	write(t, c.dir, "few.hosts", "node001\nnode002\n")
	write(t, c.dir, "nobody.hosts", "# none yet\n\n")
	run := func(hosts string, args ...string) (int, string) {
		env := []string{"EVBENCH=" + filepath.Join(c.dir, "evbench"), "HOSTS=" + hosts,
			fmt.Sprintf("LAUNCH=config: %s, remote_dir: %s, data_port: %d", c.ssh.Config, c.far, c.port)}
		code, out, said := capture(t, c.dir, "/usr/bin/env", append(append([]string{"env"}, env...), append([]string{script}, args...)...)...)
		return code, out + said
	}
	if code, said := run("node[001-004]"); code != exitUsage || !strings.HasPrefix(said, "usage: ") {
		t.Errorf("without a scenario: %d\n%s", code, said)
	}
	for hosts, want := range map[string]string{
		"":                          "HOSTS is missing, and hosts.yaml has no launch: {kind: ssh, hosts: …}",
		"./no/such":                 "there is no file ./no/such",
		"nobody.hosts":              "nobody.hosts names no host",
		"few.hosts":                 "hosts: 2 names for 4 servers",
		"node001, node002\tnode003": "hosts: 3 names for 4 servers",
	} {
		if code, said := run(hosts, "hosts.yaml", "-o", "none"); code != exitUsage || !strings.Contains(said, want) {
			t.Errorf("HOSTS=%q: ended with %d, want %q:\n%s", hosts, code, want, said)
		}
	}
	if code, said := run("", "ssh.yaml", "-o", "none"); code != exitUsage || !strings.Contains(said, "hosts: 1 name for 4 servers") {
		t.Errorf("a scenario that has its hosts: ended with %d\n%s", code, said)
	}
	if code, said := run("all.hosts", "hosts.yaml", "-o", "out"); code != exitDone && code != exitInvalid {
		t.Errorf("ended with %d\n%s", code, said)
	}
	r, err := stored.ReadRun(filepath.Join(c.dir, "out"))
	expect.True(t, err == nil && r.Summary.Cases[0].Complete, "%v, %+v", err, r)
	if code, said := run("node[001-002]", "hosts.yaml", "-o", "out2"); code != exitUsage || !strings.Contains(said, "hosts: 2 names for 4 servers") {
		t.Errorf("ended with %d\n%s", code, said)
	}
	onlyThese(t, c.dir, "all.hosts", "evbench", "few.hosts", "hosts.yaml", "nobody.hosts", "out", "ssh.yaml")
}

// However a run ends, its workers end, too, and nothing but the binary is left.
func TestNoWorkerStaysBehind(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t).copied()
			c.scenario("node001,node001,node002,node002", "1h")
			p := begin(t, c.dir, "run", "--rounds", "1", "ssh.yaml", "-o", "out")
			p.await("one: measure")
			n := len(c.workers())
			expect.True(t, n == 4, "%d workers run, want 4", n)
			expect.Must(t, p.cmd.Process.Signal(sig))
			code, said := p.end()
			want := 128 + int(sig)
			expect.False(t, sig != syscall.SIGKILL && (code != want || strings.Contains(said, "reported errors")),
				"ended with %d, want %d:\n%s", code, want, said)
			c.awaitNoWorkers()
			c.binary()
		})
	}
}

// Ctrl-C ends also the wait for a host that says nothing.
//
//gate:race
func TestInterruptChecking(t *testing.T) {
	t.Parallel()
	c := newCluster(t).copied()
	c.scenario("node[001-003],"+silentHost, "300ms")
	p := begin(t, c.dir, "run", "--rounds", "1", "ssh.yaml", "-o", "out")
	p.await("checking: 4 hosts")
	expect.Must(t, p.cmd.Process.Signal(os.Interrupt))
	code, said := p.end()
	expect.True(t, code == exitInterrupted && !strings.Contains(said, "starting"), "ended with %d:\n%s", code, said)
	onlyThese(t, c.dir, "ssh.yaml")
}

// A worker that dies is named with its host.
func TestWorkerDiesBySSH(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	c := newCluster(t).copied()
	c.scenario("node[001-004]", "1h")
	p := begin(t, c.dir, "run", "--rounds", "1", "ssh.yaml", "-o", "out")
	p.await("one: measure")
	var pid int
	expect.Must(t, expect.Err(fmt.Sscanf(c.workers()[0], "/proc/%d/exe", &pid)))
	expect.Must(t, syscall.Kill(pid, syscall.SIGKILL))
	code, said := p.end()
	expect.True(t, code == exitFailed && strings.Contains(said, "1 of 4 hosts reported errors:\n  node00") && strings.Count(said, "\n  node") == 1,
		"ended with %d:\n%s", code, said)
	c.awaitNoWorkers()
}

// A worker that fails at once is told at once, with its host and what it said.
func TestWorkerFailsAtStartBySSH(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	c := newCluster(t).copied()
	c.scenario("node[001-004]", "1h")
	b := expect.Value(os.ReadFile(filepath.Join(c.dir, "ssh.yaml")))(t)
	write(t, c.dir, "ssh.yaml", strings.Replace(string(b), "launch: {", "launch: {cpus: 1000, ", 1))
	code, _, said := output(t, c.dir, "run", "--rounds", "1", "--quiet", "ssh.yaml", "-o", "out")
	// As it happens the others run by then, or not.
	if code != exitFailed || !strings.Contains(said, "of 4 hosts ") || !strings.Contains(said, ": evbench: --cpus: run on processors 1000") ||
		strings.Contains(said, "deadline") {
		t.Errorf("ended with %d:\n%s", code, said)
	}
	c.awaitNoWorkers()
}

// validate counts hosts and looks at their places, and asks nobody.
func TestValidateHosts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct{ launch, want string }{
		{`hosts: "node[1-4]"`, "GOOD: Scenario ssh.yaml is valid: FT(2;2,2), 4 servers, hosts, fragment 1KiB.\n\n  leaf0: node[1-2]\n  leaf1: node[3-4]\n"},
		{`hosts: "node[1-3]"`, "ssh.yaml: launch.hosts: 3 names for 4 servers of FT(2;2,2)"},
		{`hosts: "node[1-"`, "ssh.yaml: launch.hosts: host list \"node[1-\": [1- has no ]"},
		{`hosts: "node[1-4]", control: "unix:x"`, "launch.control: "},
		{`hosts: "n1,n1,n1,n1", data_port: 65533`, "launch.data_port: n1 has server 4 at port 65536"},
		{`hosts: "node[1-4]", placement: leaves.yaml`, "placement does not fit FT(2;2,2): leaf0 has 3 hosts for 2 servers: node[1-3]"},
		{`hosts: "node[1-4]", placement: absent`, "launch.placement: open absent"},
		{`hosts: "h[0-3]", placement: net.yaml`, "ssh.yaml is valid"},
		{`hosts: "h[1-4]", placement: net.yaml`, "placement does not name h4"},
	} {
		write(t, dir, "leaves.yaml", "leaf0: node[1-3]\nleaf1: node4\n")
		write(t, dir, "net.yaml", "notation: FT(2;2,2)\n")
		write(t, dir, "ssh.yaml", "topology: FT(2;2,2)\nfabric: {kind: hosts}\nlaunch: {kind: ssh, "+tt.launch+"}\nevent: {fragment: 1KiB}\n"+
			"cases: [{name: one, schedule: linear-shift}]\n")
		code, out, said := output(t, dir, "validate", "ssh.yaml")
		expect.True(t, (!strings.Contains(tt.want, "valid")) == (code == exitUsage) && strings.Contains(out+said, tt.want),
			"%s: %d\n%s%s; want %s", tt.launch, code, out, said, tt.want)
	}
}

// Hosts are compared as a run would reach them; one that cannot be used comes first and stops nobody.
func TestHostCheckBySSH(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	c := newCluster(t).copied()
	c.scenario("node[001-003],"+closedHost, "1s")
	code, out, said := output(t, c.dir, "host", "--check", "ssh.yaml")
	expect.MustTrue(t, code == exitDone && !strings.Contains(said, "copying"), "ended with %d:\n%s%s", code, out, said)
	lines := strings.Split(out, "\n")
	expect.True(t, strings.HasPrefix(lines[0], "BAD: closed001: ssh: connect to host … port 1: Connection refused."), "%s", out)
	for _, host := range []string{"closed001 ", "node001 ", "node002 ", "node003 "} {
		expect.Contains(t, out, "\n"+host)
	}
	c.scenario("node[001-002],node001,node002", "1s")
	code, out, said = output(t, c.dir, "host", "--check", "--json", "ssh.yaml")
	expect.True(t, code == exitDone && strings.Contains(out, `"schema":"evbench/nodes/1"`) && strings.Count(out, `"cores":`) == 2, "ended with %d:\n%s%s", code, out, said)
}

// Of hosts by a list, the one with another MTU and the one that does not answer come first. One with another version's binary gets this one.
func TestHostCheckOddBySSH(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	need.Programs(t, "lab", "ip", "unshare")
	c := newCluster(t)
	check := func(args ...string) (string, string) {
		code, out, said := output(t, c.dir, append([]string{"host", "--check", "--config", c.ssh.Config, "--hosts", "box[001-004]," + closedHost}, args...)...)
		expect.MustTrue(t, code == exitDone, "ended with %d:\n%s%s", code, out, said)
		return out, said
	}
	out, said := check()
	expect.Contains(t, said, "copying evbench: 1 host\n")
	expect.True(t, strings.HasPrefix(out, "BAD: closed001: ssh: connect to host … port 1: Connection refused"), "%s", out)
	expect.Contains(t, out, "box004: eth0 MTU 1500, the other 3 have 9000")
	binaries := expect.Value(filepath.Glob(c.ssh.path(".evbench/evbench-*")))(t)
	expect.MustTrue(t, len(binaries) == 1, "on the hosts: %v", binaries)
	write(t, filepath.Dir(binaries[0]), filepath.Base(binaries[0]), "#!/bin/sh\necho another version\n")
	out, said = check("--json")
	expect.Contains(t, said, "copying evbench: 1 host\n")
	var found struct {
		Hosts []node.Host `json:"hosts"`
	}
	expect.Must(t, json.Unmarshal([]byte(out), &found))
	first := func(a, b node.Host) int { return min(1, len(b.Odd)) - min(1, len(a.Odd)) }
	expect.True(t, len(found.Hosts) == 5 && slices.IsSortedFunc(found.Hosts, first), "odd hosts are not first: %s", out)
}
