package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/companion/inject"
	"evbench/internal/expect"
	"evbench/topology"
)

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
	dir := t.TempDir()
	o := injectBySSH(t, dir)
	i, err := inject.Open(o)
	expect.Must(t, err)
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
	expect.OK(t, expect.Err(inject.Restore(t.Context(), o.Journal, false, func(string) {}, func(row inject.Row) {
		outcomes = append(outcomes, row.Link+" "+row.Outcome)
	})))
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
