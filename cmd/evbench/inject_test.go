package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"evbench/site/inject"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/topology"
)

// injectScenario runs on plain hosts whose links are files: one that is there is
// down.
const injectScenario = `
topology: FT(2;2,2)
fabric: {kind: hosts}
event: {fragment: 4KiB}
duration: %s
interval: 100ms
timeout: 1m
control: off
inject:
  kind: command
  down: touch {link}.down
  up: rm {link}.down
  probe: test ! -e {link}.down
  timeout: 30s
  journal: journal
cases:
  - {name: cut, schedule: linear-shift, failures: [leaf0-spine1]}
  - {name: live, schedule: linear-shift, duration: 1s, failures: [{link: leaf1-spine0, at: 100ms, for: 200ms}]}
  - {name: whole, schedule: linear-shift}
`

func exists(t *testing.T, dir, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, name))
	expect.MustFalse(t, err != nil && !errors.Is(err, fs.ErrNotExist), "%v", err)
	return err == nil
}

// Links go down for the cases that want it, and come up; timed changes are in
// the results as on other fabrics.
//
//gate:race
func TestInject(t *testing.T) {
	dir := t.TempDir()
	// No link comes up before the test has looked, however late it does.
	seen := filepath.Join(t.TempDir(), "seen")
	text := strings.Replace(fmt.Sprintf(injectScenario, "300ms"), "up: rm", "up: until test -e "+seen+"; do sleep 0.05; done; rm", 1)
	write(t, dir, "a.yaml", strings.Replace(text, "timeout: 30s", "timeout: 10m", 1))
	p := begin(t, dir, "run", "--rounds", "1", "-v", "a.yaml", "-o", "out")
	p.await("cut: measure")
	expect.True(t, exists(t, dir, "leaf0-spine1.down"), "leaf0-spine1 is up while the case without it is measured")
	write(t, filepath.Dir(seen), filepath.Base(seen), "")
	p.await("live: measure")
	expect.True(t, !exists(t, dir, "leaf0-spine1.down"), "leaf0-spine1 is down while the next case is measured")
	code, said := p.end()
	expect.False(t, code != exitDone && code != exitInvalid, "ended with %d:\n%s", code, said)
	changes(t, filepath.Join(dir, "out"), "leaf1-spine0")
	onlyThese(t, dir, "a.yaml", "out")
}

// changes checks that a link went down and up in the case "live". A change is answered, or
// the case says that it was not: on a slow machine it may end first. An interrupted one may have built no event yet.
func changes(t *testing.T, results, link string) {
	t.Helper()
	r := expect.Value(stored.ReadRun(results))(t)
	for _, c := range r.Summary.Cases {
		expect.True(t, (c.EventsBuilt != 0 || !c.Complete) && c.EventsLost <= 0, "case %s: %d events built, %d lost", c.Name, c.EventsBuilt, c.EventsLost)
		if c.Name != "live" {
			continue
		}
		warned := func(what string) bool {
			return slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, link+": "+what) })
		}
		both := len(c.LinkEvents) == 2 && c.LinkEvents[1].Up
		missed := len(c.LinkEvents) == 1 && warned("it should have come up") // the machine is slow
		expect.MustTrue(t, (both || missed) && !c.LinkEvents[0].Up, "link events: %+v, warnings %q", c.LinkEvents, c.Warnings)
		unanswered := warned("the change of the link was not answered")
		for _, e := range c.LinkEvents {
			expect.False(t, e.Link != link || e.SeenSec < 0 || e.SeenSec == 0 && !unanswered || e.Routes != 0,
				"link event: %+v, warnings %q", e, c.Warnings)
		}
	}
}

// A run that is interrupted brings links up; one that is killed leaves a
// journal. The next run refuses, restore brings the link up.
//
//gate:race
func TestInjectStopped(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, exitInterrupted}, {syscall.SIGTERM, exitTerminated}, {syscall.SIGHUP, exitHungUp}, {syscall.SIGKILL, -1}} {
		t.Run(tt.signal.String(), func(t *testing.T) {
			if signal.Ignored(tt.signal) {
				t.Skip("the tests run under nohup, and so would evbench")
			}
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "a.yaml", fmt.Sprintf(injectScenario, "1h"))
			p := begin(t, dir, "run", "--rounds", "1", "-v", "a.yaml", "-o", "out")
			p.await("cut: measure")
			if code, _, said := output(t, dir, "run", "--rounds", "1", "a.yaml", "-o", "out2"); code != exitUsage || !strings.Contains(said, "journal journal is in use by a run on ") {
				t.Errorf("a second run ended with %d: %s", code, said)
			}
			if code, _, said := output(t, dir, "failures", "restore", "journal"); code != exitUsage || !strings.Contains(said, "in use by a run on ") {
				t.Errorf("restore beside a run ended with %d: %s", code, said)
			}
			expect.Must(t, p.cmd.Process.Signal(tt.signal))
			if code, said := p.end(); code != tt.code {
				t.Errorf("ended with %d, want %d:\n%s", code, tt.code, said)
			}
			if tt.signal == syscall.SIGKILL {
				mend(t, dir)
			}
			expect.True(t, !exists(t, dir, "leaf0-spine1.down") && !exists(t, dir, "journal"), "the link was left down, or the journal behind")
		})
	}
}

// A run whose output nobody reads brings its links up before it ends.
func TestInjectIntoClosedPipe(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", fmt.Sprintf(injectScenario, "300ms"))
	self := expect.Value(os.Executable())(t)
	r, w, err := os.Pipe()
	expect.Must(t, err)
	defer w.Close()
	r.Close()
	cmd := exec.Command(self, "run", "--rounds", "1", "--case", "cut", "a.yaml", "-o", "out")
	cmd.Args[0], cmd.Stdout = "evbench", w
	code, said := beginCommand(t, dir, cmd).end()
	expect.True(t, code == exitUnread && !strings.Contains(said, "broken pipe"), "ended with %d:\n%s", code, said)
	onlyThese(t, dir, "a.yaml", "out")
}

// mend restores what a killed run has left down.
func mend(t *testing.T, dir string) {
	t.Helper()
	expect.True(t, exists(t, dir, "leaf0-spine1.down"), "the link came up by itself")
	code, _, said := output(t, dir, "run", "--rounds", "1", "a.yaml", "-o", "out2")
	if code != exitUsage || !strings.Contains(said, "journal journal: leaf0-spine1 was left down by a run on ") ||
		!strings.Contains(said, "; evbench failures restore journal") {
		t.Errorf("the next run ended with %d: %s", code, said)
	}
	// From elsewhere: commands run where those of the run did.
	elsewhere := t.TempDir()
	code, out, said := output(t, elsewhere, "failures", "restore", "--json", filepath.Join(dir, "journal"))
	expect.False(t, code != exitDone || !strings.Contains(out, `"links":[{"link":"leaf0-spine1","down_since":"2`) || !strings.Contains(out, `"outcome":"brought up"`),
		"restore ended with %d: %s%s", code, out, said)
}

// labInjection takes links of a lab down that another process holds.
const labInjection = `
topology: FT(2;2,2)
fabric: {kind: hosts}
event: {fragment: 4KiB}
duration: 300ms
interval: 100ms
timeout: 1m
control: off
inject: {kind: lab, lab: %q, timeout: 1m}
rounds: 1
cases:
  - {name: live, schedule: linear-shift, duration: 1500ms, failures: [{link: leaf1-spine0, at: 200ms, for: 400ms}]}
  - {name: cut, schedule: linear-shift, duration: 1h, failures: [leaf0-spine1]}
`

// Workers run on the servers of a real lab, whose links are taken down under
// them; the lab routes around them by itself.
func TestInjectIntoLab(t *testing.T) {
	need.Namespaces(t)
	dir := t.TempDir()
	self := expect.Value(os.Executable())(t)
	expect.Must(t, os.Symlink(self, filepath.Join(dir, "evbench")))
	write(t, dir, "a.yaml", fmt.Sprintf(labInjection, dir))
	write(t, dir, "token", "secret\n")
	inLab := func(args ...string) string {
		t.Helper()
		code, out, said := output(t, dir, append([]string{"lab"}, args...)...)
		expect.MustTrue(t, code == exitDone, "lab %v ended with %d:\n%s%s", args, code, out, said)
		return out
	}
	inLab("up", "-t", "FT(2;2,2)")
	defer inLab("down")
	neighbours := inLab("exec", "leaf0", "ip", "neigh", "show", "dev", "spine1")

	c := begin(t, dir, "controller", "-v", "a.yaml", "--listen", "unix:c", "--token-file", "token", "-o", "out")
	var workers []*program
	for id := range 4 {
		workers = append(workers, begin(t, dir, "lab", "exec", fmt.Sprintf("server%d", id), filepath.Join(dir, "evbench"),
			"worker", "--controller", "unix:c", "--token-file", "token", "--id", fmt.Sprint(id),
			"--data", fmt.Sprintf("10.200.%d.%d:7000", id/2, id%2+1)))
	}
	c.await("cut: measure") // until the test has looked
	if out := inLab("exec", "spine1", "ip", "-o", "link", "show", "dev", "leaf0"); strings.Contains(out, "state UP") {
		t.Errorf("leaf0-spine1 is up while the case without it is measured: %s", out)
	}
	c.signal(syscall.SIGINT)
	if code, said := c.end(); code != exitInterrupted {
		t.Errorf("the controller ended with %d:\n%s", code, said)
	}
	for id, w := range workers {
		if code, said := w.end(); code != exitDone {
			t.Errorf("worker %d ended with %d:\n%s", id, code, said)
		}
	}
	changes(t, filepath.Join(dir, "out"), "leaf1-spine0")
	expect.Contains(t, inLab("exec", "spine1", "ip", "-o", "link", "show", "dev", "leaf0"), "state UP")
	got := inLab("exec", "leaf0", "ip", "neigh", "show", "dev", "spine1")
	expect.True(t, got == neighbours, "neighbours behind the link: %q, before: %q", got, neighbours)
}

// injectBySSH returns options for links whose state is in files, changed on hosts of
// a private ssh server that are called as the leaves. What ran where goes to the
// file log.
func injectBySSH(t *testing.T, dir string) inject.Options {
	t.Helper()
	server := startSSHD(t)
	hosts := expect.Value(os.ReadFile(server.Config))(t)
	ssh := expect.Value(exec.LookPath("ssh"))(t)
	write(t, dir, "config", fmt.Sprintf("Host leaf0\n  HostName %s\nHost leaf1\n  HostName %s\n", sshAddr(0), sshAddr(1))+string(hosts))
	// The injector leaves the choice of a configuration to ssh.
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' -F '%s/config' \"$@\"\n", ssh, dir)
	expect.Must(t, os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return inject.Options{
		Kind: "ssh", Host: "{leaf}", Timeout: time.Minute, Journal: filepath.Join(dir, "journal"),
		Down:  fmt.Sprintf("echo {spine} $SSH_CONNECTION >> '%s/log' && touch '%s/{link}'", dir, dir),
		Up:    fmt.Sprintf("rm '%s/{link}'", dir),
		Probe: fmt.Sprintf("test ! -e '%s/{link}'", dir),
	}
}

// Commands run on the host of the leaf, and the exit code of the probe comes
// back from there; so they do from the journal of a run that was killed.
func TestInjectBySSH(t *testing.T) {
	need.Heavy(t)
	dir := t.TempDir()
	o := injectBySSH(t, dir)
	i := expect.Value(inject.Open(o))(t)
	both := []topology.Link{{Leaf: 0, Spine: 3}, {Leaf: 1, Spine: 0}}
	expect.Must(t, i.Check(t.Context(), both))
	if err := i.Down(t.Context(), both); err != nil { // the probe has said so
		t.Fatal(err)
	}
	for _, l := range both {
		if err := i.Check(t.Context(), []topology.Link{l}); err == nil || !strings.Contains(err.Error(), l.String()+" is down already") || !exists(t, dir, l.String()) {
			t.Errorf("%s: %v", l, err)
		}
	}
	log := expect.Value(os.ReadFile(filepath.Join(dir, "log")))(t)
	for k, line := range strings.Split(strings.TrimSpace(string(log)), "\n") {
		f := strings.Fields(line)
		expect.True(t, len(f) == 5 && f[0] == []string{"spine3", "spine0"}[k] && f[3] == sshAddr(k), "line %d of what ran where: %q", k, line)
	}
	journal := expect.Value(os.ReadFile(o.Journal))(t)
	if err := i.Close(); err != nil || exists(t, dir, "leaf0-spine3") || exists(t, dir, "leaf1-spine0") || exists(t, dir, "journal") {
		t.Errorf("Close has left a link down, or its journal: %v", err)
	}

	write(t, dir, "journal", string(journal))
	write(t, dir, "leaf0-spine3", "")
	var outcomes []string
	for _, row := range expect.Value(inject.Restore(t.Context(), o.Journal, false, func(string) {}))(t).Links {
		outcomes = append(outcomes, row.Link+" "+row.Outcome)
	}
	if want := []string{"leaf0-spine3 brought up", "leaf1-spine0 was up"}; !slices.Equal(outcomes, want) || exists(t, dir, "leaf0-spine3") {
		t.Errorf("restored %q, want %q", outcomes, want)
	}
}

// A host that ssh does not reach is one whose links nobody can tell the state
// of: nothing is taken down.
func TestInjectBySSHUnreachable(t *testing.T) {
	o := injectBySSH(t, t.TempDir())
	o.Host = closedHost
	i := expect.Value(inject.Open(o))(t)
	err := i.Check(t.Context(), []topology.Link{{Leaf: 0, Spine: 3}})
	expect.True(t, err != nil && strings.Contains(err.Error(), "exit code 255") && strings.Contains(err.Error(), "Connection refused"), "%v", err)
	expect.OK(t, i.Close())
}

const foreignJournal = `{"journal":"evbench injected links 2",` +
	`"by":{"host":"another-host","pid":7,"since":"2026-03-02T09:59:00Z","kind":"command","dir":"%s","timeout_ns":600000000000},"down":[` +
	`{"link":"leaf0-spine1","since":"2026-03-02T10:00:00Z","up":{"args":["sh","-c","echo ran >ran"]},"probe":[{"args":["test","-e","ran"],"env":["A=b c"]}]}]}
`

// A journal tells what to run: one that others may have written is not believed.
func TestRestoreForeignJournal(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plant func(t *testing.T, dir, journal string) error
		want  string // "": it is restored
	}{
		{"ours", func(*testing.T, string, string) error { return nil }, ""},
		{"folder of all, sticky", func(_ *testing.T, dir, _ string) error { return os.Chmod(dir, 0o777|os.ModeSticky) }, ""},
		{"folder of a group", func(_ *testing.T, dir, _ string) error { return os.Chmod(dir, 0o775) }, ""},
		{"folder of all", func(_ *testing.T, dir, _ string) error { return os.Chmod(dir, 0o777) }, "others may write"},
		{"all may write", func(_ *testing.T, _, journal string) error { return os.Chmod(journal, 0o666) }, "others may write"},
		{"a group may write", func(_ *testing.T, _, journal string) error { return os.Chmod(journal, 0o660) }, "others may write"},
		{"of nobody", func(t *testing.T, _, journal string) error {
			asRoot(t)
			return os.Chown(journal, nobody, -1)
		}, "belongs to user 65534"},
		{"a link", func(_ *testing.T, dir, journal string) error {
			real := filepath.Join(dir, "real")
			return errors.Join(os.Rename(journal, real), os.Symlink(real, journal))
		}, "is a link"},
		{"a second name", func(_ *testing.T, dir, journal string) error { return os.Link(journal, filepath.Join(dir, "second")) }, "2 names"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "journal", fmt.Sprintf(foreignJournal, dir))
			journal := filepath.Join(dir, "journal")
			expect.Must(t, tt.plant(t, dir, journal))
			code, out, said := call(t, "failures", "restore", journal)
			_, ran := os.Stat(filepath.Join(dir, "ran"))
			if tt.want == "" {
				expect.True(t, code == exitDone && ran == nil && strings.Contains(out, "leaf0-spine1: brought up"),
					"exit %d, %v: %s%s", code, ran, out, said)
				return
			}
			expect.True(t, code == exitUsage && ran != nil && strings.Contains(said, tt.want) && strings.Contains(said, journal),
				"exit %d, %v: %s%s", code, ran, out, said)
		})
	}
}

// What will be run is shown before, and with --dry-run that is all.
func TestRestoreShows(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "journal", fmt.Sprintf(foreignJournal, dir))
	journal := filepath.Join(dir, "journal")
	shown := []string{"in \"" + dir, "leaf0-spine1", "sh -c 'echo ran >ran'", "'A=b c' test -e ran"}
	all := func(text string) {
		t.Helper()
		for _, s := range shown {
			expect.Contains(t, text, s)
		}
	}
	code, out, said := call(t, "failures", "restore", "--dry-run", journal)
	all(out)
	if _, err := os.Stat(filepath.Join(dir, "ran")); code != exitDone || err == nil {
		t.Errorf("exit %d, %v: %s", code, err, said)
	}
	if code, out, said = call(t, "failures", "restore", "--dry-run", "--json", journal); code != exitDone ||
		!strings.Contains(out, `"outcome":"dry run","up":"sh -c 'echo ran \u003eran'"`) {
		t.Errorf("exit %d: %s%s", code, out, said)
	}
	code, out, said = call(t, "failures", "restore", journal)
	all(said)
	expect.True(t, code == exitDone && strings.Contains(out, "leaf0-spine1: brought up"), "exit %d: %s%s", code, out, said)
}
