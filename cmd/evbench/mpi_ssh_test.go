//go:build mpi

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/results/store"
	"evbench/scenario"
	"evbench/transport"
)

// mpirunBySSH has mpirun reach hosts by ssh, one after the other until all ranks
// are placed. The hosts exist in the configuration of the private sshd only.
func mpirunBySSH(t *testing.T, dir string, server *sshServer, hosts []string, args ...string) *exec.Cmd {
	t.Helper()
	write(t, dir, "hostfile", strings.Join(hosts, " slots=1\n")+" slots=1\n")
	// The daemon of each host has temporary files of its own, as on a cluster.
	daemon := filepath.Join(dir, "daemon")
	expect.Must(t, os.WriteFile(daemon, []byte("#!/bin/sh\nTMPDIR=$(mktemp -d "+dir+"/XXXXXX) exec orted \"$@\"\n"), 0o700))
	cmd := mpirun(t, dir, 5, args...)
	// Shared memory does not do between hosts that are one machine, though Open
	// MPI thinks so.
	cmd.Args = slices.Insert(cmd.Args, 1, "--hostfile", "hostfile", "--map-by", "node",
		"--mca", "plm", "rsh", "--mca", "plm_rsh_agent", "ssh -F "+server.Config, "--mca", "btl", "self,tcp",
		"--mca", "orte_launch_agent", daemon, "-x", "EVBENCH_TOKEN", "-x", "GORACE")
	return cmd
}

// startedOver is a scenario of four servers whose control connection is as the
// transport would have it on a cluster.
func startedOver(t *testing.T, dir, over string) (control string) {
	t.Helper()
	control, field := transport.MPI, ""
	if over == transport.TCP {
		control = fmt.Sprintf("tcp:127.0.0.1:%d", freePorts(t, 1))
		field = fmt.Sprintf(", control: %q", control)
	}
	launch := fmt.Sprintf("transport: %s\nlaunch: {kind: started%s}", over, field)
	write(t, dir, "s.yaml", strings.Replace(fmt.Sprintf(startedScenario, "300ms"), `launch: {kind: started, control: "unix:c"}`, launch, 1))
	return control
}

// mpirun starts the ranks on other hosts by ssh, as on a cluster; messages and
// control travel as the scenario says.
func TestMPIRunBySSH(t *testing.T) {
	server := startSSHD(t)
	for _, over := range []string{transport.MPI, transport.TCP} {
		t.Run(over, func(t *testing.T) {
			dir := t.TempDir()
			control := startedOver(t, dir, over)
			finished(t, beginCommand(t, dir, mpirunBySSH(t, dir, server, server.Hosts[:3], "s.yaml", "-o", "out")))
			r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
			m := r.Manifest
			expect.True(t, m.Control == control && m.Transport == over && m.Launch == scenario.LaunchStarted,
				"manifest: control %q, transport %q, launch %q", m.Control, m.Transport, m.Launch)
			expect.True(t, r.Summary.Complete && len(r.Summary.Cases) == 2 && len(r.Samples) != 0,
				"complete %v, %d cases, %d samples", r.Summary.Complete, len(r.Summary.Cases), len(r.Samples))
			for _, c := range r.Summary.Cases {
				expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
			}
		})
	}
}

// A host that ssh does not reach ends the run before it begins.
func TestMPIRunBySSHUnreachable(t *testing.T) {
	dir, server := t.TempDir(), startSSHD(t)
	startedOver(t, dir, transport.MPI)
	hosts := []string{server.Hosts[0], closedHost}
	code, said := beginCommand(t, dir, mpirunBySSH(t, dir, server, hosts, "s.yaml", "-o", "out")).end()
	expect.True(t, code != exitDone && strings.Contains(said, "Connection refused"), "mpirun ended with %d:\n%s", code, said)
	expect.Is(t, expect.Err(os.Lstat(filepath.Join(dir, "out"))), fs.ErrNotExist)
}
