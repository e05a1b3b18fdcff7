package inject

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/internal/sshtest"
	"evbench/topology"
)

// bySSHD returns options for links whose state is in files, changed on hosts of
// a private ssh server that are called as the leaves. What ran where goes to the
// file log.
func bySSHD(t *testing.T, dir string) Options {
	t.Helper()
	server := sshtest.Start(t)
	hosts, err := os.ReadFile(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config")
	for name, text := range map[string]string{
		config: fmt.Sprintf("Host leaf0\n  HostName %s\nHost leaf1\n  HostName %s\n", sshtest.Addr(0), sshtest.Addr(1)) + string(hosts),
		// The injector leaves the choice of a configuration to ssh.
		filepath.Join(dir, "ssh"): fmt.Sprintf("#!/bin/sh\nexec '%s' -F '%s' \"$@\"\n", ssh, config),
	} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	o := options(dir)
	o.Kind, o.Host, o.Timeout = kindSSH, "{leaf}", time.Minute
	o.Down = fmt.Sprintf("echo {spine} $SSH_CONNECTION >> '%s/log' && touch '%s/{link}'", dir, dir)
	return o
}

// Commands run on the host of the leaf, and the exit code of the probe comes
// back from there; so they do from the journal of a run that was killed.
func TestSSH(t *testing.T) {
	dir := t.TempDir()
	o := bySSHD(t, dir)
	i := open(t, o)
	both := []topology.Link{link, other}
	if err := i.Check(t.Context(), both); err != nil {
		t.Fatal(err)
	}
	if err := i.Down(t.Context(), both); err != nil {
		t.Fatal(err)
	}
	for _, l := range both {
		if s, err := probed(t, i, l); s != linkDown || err != nil || !isDown(t, dir, l) {
			t.Errorf("%s is %s, %v", l, s, err)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for k, line := range strings.Split(strings.TrimSpace(string(log)), "\n") {
		if f := strings.Fields(line); len(f) != 5 || f[0] != []string{"spine3", "spine0"}[k] || f[3] != sshtest.Addr(k) {
			t.Errorf("line %d of what ran where: %q", k, line)
		}
	}
	journal, err := os.ReadFile(o.Journal)
	if err != nil {
		t.Fatal(err)
	}
	closed(t, i, o.Journal)
	if isDown(t, dir, link) || isDown(t, dir, other) {
		t.Error("Close has left a link down")
	}

	for name, text := range map[string][]byte{o.Journal: journal, filepath.Join(dir, link.String()): nil} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var outcomes []string
	if _, err := Restore(t.Context(), o.Journal, anyway, func(r Restored) { outcomes = append(outcomes, r.link.String()+" "+r.outcome) }); err != nil {
		t.Error(err)
	}
	if want := []string{"leaf0-spine3 " + broughtUp, "leaf1-spine0 " + wasUp}; !slices.Equal(outcomes, want) || isDown(t, dir, link) {
		t.Errorf("restored %q, want %q", outcomes, want)
	}
}

// A host that ssh does not reach is one whose links nobody can tell the state
// of: nothing is taken down.
func TestSSHUnreachable(t *testing.T) {
	dir := t.TempDir()
	o := bySSHD(t, dir)
	o.Host = sshtest.Closed
	i := open(t, o)
	err := i.Check(t.Context(), []topology.Link{link})
	if err == nil || !strings.Contains(err.Error(), "exit code 255") || !strings.Contains(err.Error(), "Connection refused") {
		t.Errorf("%v", err)
	}
	closed(t, i, o.Journal)
}
