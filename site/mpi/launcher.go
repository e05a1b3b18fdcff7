package mpi

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Launcher is the mpirun of Open MPI, of a major version. That of version 5 is PRRTE, which refuses some
// options of version 4, and ignores others silently.
type Launcher int

var versionLine = regexp.MustCompile(`\((?:Open MPI|OpenRTE)\) (\d+)\.`)

// launcherOf reads what mpirun --version prints. It returns 0 for launchers that are not Open MPI's.
func launcherOf(version string) Launcher {
	m := versionLine.FindStringSubmatch(version)
	if m == nil {
		return 0
	}
	major, _ := strconv.Atoi(m[1])
	return Launcher(major)
}

// patience is how long a launcher may take to print its version.
const patience = time.Minute

// FindLauncher asks a command line that begins with mpirun for its version.
func FindLauncher(ctx context.Context, command ...string) (Launcher, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], append(slices.Clone(command[1:]), "--version")...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	err := cmd.Run()
	if l := launcherOf(said.String()); l != 0 {
		return l, nil
	}
	if err != nil {
		return 0, fmt.Errorf("%s --version: %w", command[0], err)
	}
	first, _, _ := strings.Cut(said.String(), "\n")
	return 0, fmt.Errorf("%s is not Open MPI's mpirun (--version: %.60q)", command[0], first)
}

// Needs says what a run needs of its launcher. A field that is "" needs nothing.
type Needs struct {
	Network string // for messages and daemons, such as 10.1.0.0/16 or eth0
	Agent   string // program that runs commands on other hosts, instead of ssh
	Daemon  string // program that is the daemon on other hosts
	Scratch string // directory of the launcher's own files
	Bound   bool   // something else says where ranks are bound, which Open MPI 5 takes once
}

// names are those of options of daemons: the option that sets them, the network, the component that
// starts daemons by an agent, the agent, the daemon, the directory of files.
type names struct{ set, network, by, agent, daemon, scratch string }

var (
	orte = names{"--mca", "oob_tcp_if_include", "rsh", "plm_rsh_agent", "orte_launch_agent", "orte_tmpdir_base"}
	prte = names{"--prtemca", "prte_if_include", "ssh", "plm_ssh_agent", "prte_launch_agent", "prte_tmpdir_base"}
)

// Options are options of mpirun for these needs. Ranks have, since each has several threads, all
// processors of their host.
func (l Launcher) Options(n Needs) (out []string) {
	if !n.Bound {
		out = append(out, "--bind-to", "none")
	}
	set := func(option, name, value string) {
		if value != "" {
			out = append(out, option, name, value)
		}
	}
	set("--mca", "btl_tcp_if_include", n.Network)
	of := orte
	if l >= 5 {
		of = prte
		if strings.HasPrefix(n.Network, "lo") || strings.HasPrefix(n.Network, "127.") {
			n.Network = "" // refused for daemons
		}
	}
	set(of.set, of.network, n.Network)
	if n.Agent != "" {
		set(of.set, "plm", of.by)
	}
	set(of.set, of.agent, n.Agent)
	set(of.set, of.daemon, n.Daemon)
	set(of.set, of.scratch, n.Scratch)
	return out
}
