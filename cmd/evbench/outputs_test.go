package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// sh runs a line in which evbench is this program.
func sh(t *testing.T, dir, line string) (code int, stdout, stderr string) {
	t.Helper()
	self := expect.Value(os.Executable())(t)
	bin := t.TempDir()
	expect.Must(t, os.Symlink(self, filepath.Join(bin, "evbench")))
	shell := expect.Value(exec.LookPath("sh"))(t)
	return capture(t, dir, shell, "sh", "-c", "PATH="+bin+":$PATH; "+line)
}

// Files have the mode that the umask leaves, or the one that they had.
func TestOutputModes(t *testing.T) {
	dir := t.TempDir()
	code, _, said := sh(t, dir, "p='evbench plan -t FT(2;2,2) -s linear-shift --quiet -o'; umask 077; $p a; umask 002; $p b; umask 022; $p c; $p d; chmod 600 d; $p d")
	expect.MustTrue(t, code == exitDone, "%v", said)
	for name, want := range map[string]os.FileMode{"a": 0o600, "b": 0o664, "c": 0o644, "d": 0o600} {
		info := expect.Value(os.Stat(filepath.Join(dir, name)))(t)
		expect.Equal(t, info.Mode().Perm(), want, "%s has mode", name)
	}
}

// Standard output by its name stays what it is, and nothing that it holds is lost.
func TestOutputToStandardOutput(t *testing.T) {
	for _, line := range []string{"ln -s /proc/self/fd/1 me; $p me | cat >out", "$p /dev/stdout >>out", "$p /dev/fd/1 >>out", "$p /dev/fd/3 3>>out", "mkfifo f; cat f >>out & $p f; wait"} {
		dir := t.TempDir()
		write(t, dir, "out", "")
		before := expect.Value(os.Lstat("/dev/stdout"))(t)
		line = "p='evbench plan -t FT(2;2,2) -s linear-shift --quiet -o'; " + line
		if !strings.Contains(line, "| cat >out") {
			write(t, dir, "out", "# first\n")
		}
		code, _, said := sh(t, dir, line)
		b, err := os.ReadFile(filepath.Join(dir, "out"))
		if code != exitDone || err != nil || !strings.Contains(string(b), "# topology FT(2;2,2)") ||
			strings.Contains(line, ">>out") && !strings.HasPrefix(string(b), "# first\n") {
			t.Errorf("%s: exit %d, %v\n%s%s", line, code, err, b, said)
		}
		after, err := os.Lstat("/dev/stdout")
		expect.MustTrue(t, err == nil && os.SameFile(before, after), "%s: /dev/stdout is another one, %v", line, err)
	}
}

// Errors name the file that was asked for.
func TestOutputErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file", "")
	// No file may be longer than a block here: the plan is.
	code, _, said := sh(t, dir, "trap '' XFSZ; ulimit -f 1; exec evbench plan -t 'FT(2;8,16)' -s linear-shift --quiet -o big.txt")
	expect.False(t, code == exitDone || !strings.Contains(said, "big.txt: file too large") || strings.Contains(said, "/.") || strings.Contains(said, ".big"),
		"exit %d: %s", code, said)
	code, _, said = sh(t, dir, "evbench plan -t 'FT(2;2,2)' --quiet -o file/x")
	expect.True(t, code != exitDone && strings.Contains(said, "not a directory") && !strings.Contains(said, "/."), "exit %d: %s", code, said)
	onlyThese(t, dir, "file")
}

const outsideScenario = `
topology: FT(2;2,3)
fabric: {rate: 100Mbit/s}
event: {phase: 20ms}
duration: 1h
interval: 100ms
timeout: 5m
control: off
rounds: 1
cases: [{name: one, failover: {policy: fors, on_disconnect: wait}}]
`

// Somebody else takes both links of a leaf down, and up again: the plan changes, messages wait,
// event building goes on, nothing is lost, and each record says whose doing it was.
//
//gate:race
func TestLinksChangedFromOutside(t *testing.T) {
	need.Namespaces(t)
	dir := t.TempDir()
	write(t, dir, "lab.yaml", outsideScenario)
	p := begin(t, dir, "run", "-v", "lab.yaml", "-o", "out")
	p.await("one: measure")
	leaf := p.namespace("server0", "spine0")
	leaf("link", "set", "spine0", "down")
	p.await("in_use=true") // a plan without it
	leaf("link", "set", "spine1", "down")
	p.await("messages wait for links")
	leaf("link", "set", "spine1", "up")
	p.await("up=[leaf0-spine1]")
	leaf("link", "set", "spine0", "up")
	p.await("in_use=true") // the first plan again, so events are built
	expect.Must(t, p.cmd.Process.Signal(os.Interrupt))
	code, said := p.end()
	expect.True(t, code == exitInterrupted, "ended with %d:\n%s", code, said)
	r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
	c := r.Summary.Cases[0]
	expect.True(t, c.EventsLost+c.EventsDuplicate <= 0 && c.EventsBuilt != 0 && len(c.Failovers) != 0, "%+v", c)
	for _, x := range c.Failovers {
		expect.True(t, x.SetSec == nil && strings.Contains(x.Reason, "from outside"), "%+v", x)
	}
}

// namespace returns what runs ip in the network namespace of the program's lab that has these
// interfaces, as a user would from another terminal.
func (p *program) namespace(interfaces ...string) func(args ...string) {
	p.t.Helper()
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			p.t.Fatal(err) // scripts/setup installs them
		}
	}
	for _, pid := range p.family() {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%s/fd/*", pid)) // of a process that has ended there are none
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); !strings.HasPrefix(to, "net:") {
				continue
			}
			ip := func(args ...string) ([]byte, error) {
				all := []string{"--net=" + fd}
				if os.Getuid() != 0 {
					all = append(all, "-t", pid, "-U", "--preserve-credentials")
				}
				return exec.Command("nsenter", append(append(all, "ip"), args...)...).CombinedOutput()
			}
			out, err := ip("-o", "link")
			if err != nil || !hasAll(string(out), interfaces) {
				continue
			}
			return func(args ...string) {
				p.t.Helper()
				if out, err := ip(args...); err != nil {
					p.t.Fatalf("ip %q: %v: %s", args, err, out)
				}
			}
		}
	}
	p.t.Fatalf("no namespace with %q", interfaces)
	return nil
}

func hasAll(text string, interfaces []string) bool {
	for _, i := range interfaces {
		if !strings.Contains(text, ": "+i+"@") {
			return false
		}
	}
	return true
}

// family lists the program and those that it has started.
func (p *program) family() []string {
	all := []string{strconv.Itoa(p.cmd.Process.Pid)}
	for i := 0; i < len(all); i++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%s/task/*/children", all[i]))
		for _, f := range files {
			text, _ := os.ReadFile(f) // a thread that has ended has none
			all = append(all, strings.Fields(string(text))...)
		}
	}
	return all
}

// What is packed takes no more memory than a list has room for, from standard input and as a table of sizes, too.
func TestPackedBombs(t *testing.T) {
	need.Heavy(t)
	dir := t.TempDir()
	write(t, dir, "s.yaml", "topology: FT(2;2,2)\nevent: {fragment: 1KiB, sizes: {file: bomb.gz}}\ncases: [{}]\n")
	code, _, said := sh(t, dir, "head -c 70000000 /dev/zero | tr '\\0' '\\n' | gzip -1 > bomb.gz")
	expect.MustTrue(t, code == 0, "%s", said)
	for _, line := range []string{"evbench judge -t 'FT(2;2,2)' - < bomb.gz", "evbench judge -t 'FT(2;2,2)' bomb.gz", "evbench judge -t 'FT(2;2,2)' --hosts bomb.gz --result 1ms --size 1MiB",
		"evbench validate s.yaml", "evbench routes check -t 'FT(2;2,2)' --jobs bomb.gz lft.txt"} {
		if strings.Contains(line, "lft.txt") {
			sh(t, dir, "evbench routes compute -t 'FT(2;2,2)' -e minhop -o lft.txt")
		}
		code, _, said := sh(t, dir, line)
		expect.True(t, code == exitUsage && strings.Contains(said, "more than 67108864 bytes"), "%s: %d: %.300s", line, code, said)
	}
}
