package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/results/store"
)

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
func TestLinksChangedFromOutside(t *testing.T) {
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
	r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
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
