//go:build mpi

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"evbench/results/store"
	"evbench/scenario"
	"evbench/site/mpi"
	"evbench/testing/expect"
	"evbench/transport"
)

// mpirun is a command that starts so many ranks of evbench, here, in a directory
// that becomes theirs.
func mpirun(t *testing.T, dir string, ranks int, args ...string) *exec.Cmd {
	t.Helper()
	self := expect.Value(os.Executable())(t)
	evbench := filepath.Join(dir, "evbench")
	expect.Must(t, os.Symlink(self, evbench))
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	t.Setenv("EVBENCH_TOKEN", "secret")
	command := append(mpi.Local(ranks, evbench, "run", "--rounds", "1"), args...)
	return exec.Command(command[0], command[1:]...)
}

// scenarioFile returns the path of an example.
func scenarioFile(t *testing.T, name string) string {
	t.Helper()
	path := expect.Value(filepath.Abs(filepath.Join("../../scenarios", name)))(t)
	return path
}

// finished wants a run that came to its end; the machine may be too busy for
// valid figures.
func finished(t *testing.T, p *program) {
	t.Helper()
	code, said := p.end()
	expect.MustFalse(t, code != exitDone && code != exitInvalid, "mpirun ended with %d:\n%s", code, said)
	expect.False(t, code == exitDone && strings.Contains(said, "non-zero"), "mpirun complains of a run without a fault:\n%s", said)
}

//gate:mpich
//gate:debian13
func TestMPIRun(t *testing.T) {
	dir := t.TempDir()
	cmd := mpirun(t, dir, 9, scenarioFile(t, "mpi-quickstart.yaml"), "--duration", "300ms", "--interval", "100ms", "-o", "out")
	var out strings.Builder
	cmd.Stdout = &out
	t.Setenv("TERM", "xterm")
	finished(t, beginCommand(t, dir, cmd))
	expect.True(t, strings.Contains(out.String(), "MPI_Barrier") && !strings.Contains(out.String(), "\x1b["), "no table, or colours in a pipe: %q", &out)
	r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
	m := r.Manifest
	expect.False(t, m.Control != "mpi" || m.Transport != "mpi" || m.IO != "" || m.Launch != "started" || m.Versions["mpi"] == "" || !slices.Contains(m.BuildTags, "mpi"),
		"manifest: control %q, transport %q, io %q, launch %q, versions %v, tags %v", m.Control, m.Transport, m.IO, m.Launch, m.Versions, m.BuildTags)
	expect.True(t, len(r.Summary.Cases) == 5 && len(r.Samples) != 0, "%d cases, %d samples", len(r.Summary.Cases), len(r.Samples))
	for _, c := range r.Summary.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
	}
}

// Readers apart from builders over MPI, in all modes: builders alone build, and lose nothing.
//
//gate:weekly13
func TestMPIRunRoles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s.yaml", `topology: FT(2;2,3)
readers: leaf0-1
builders: leaf2
fabric: {kind: hosts}
transport: mpi
launch: {kind: started}
event: {fragment: 16KiB}
duration: 300ms
cases:
  - {name: phases, schedule: fors}
  - {name: no phases, mode: unsynchronised, schedule: fors}
  - {name: ordered, mode: ordered}
`)
	finished(t, beginCommand(t, dir, mpirun(t, dir, 7, "s.yaml", "-o", "out")))
	r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
	expect.True(t, len(r.Summary.Cases) == 4, "%d cases", len(r.Summary.Cases))
	for _, c := range r.Summary.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate == 0 && c.Roles != nil && c.Roles.Builders == 2, "%+v", c)
	}
}

// The controller is any rank, and control may go over TCP beside MPI, or all of
// it over TCP.
//
//gate:mpich
//gate:debian13
func TestMPIRunControl(t *testing.T) {
	for _, transport := range []string{"mpi", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s.yaml", fmt.Sprintf(startedScenario, "300ms"))
			finished(t, beginCommand(t, dir, mpirun(t, dir, 5, "s.yaml", "--transport", transport, "--controller-rank", "3", "-o", "out")))
			r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
			m := r.Manifest
			expect.True(t, m.Control == "unix:c" && m.Transport == transport && r.Summary.Complete,
				"control %q, transport %q, complete %v", m.Control, m.Transport, r.Summary.Complete)
		})
	}
}

// Events are built over each layer that MPI can have below it.
//
//gate:weekly13
func TestMPIRunLayers(t *testing.T) {
	for _, layer := range mpi.Layers() {
		t.Run(layer.Name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s.yaml", strings.Replace(fmt.Sprintf(startedScenario, "300ms"), ", control: \"unix:c\"", "", 1))
			cmd := mpirun(t, dir, 5, "s.yaml", "--transport", "mpi", "-o", "out")
			cmd.Env = append(os.Environ(), layer.Env...)
			finished(t, beginCommand(t, dir, cmd))
			r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
			expect.True(t, r.Summary.Complete && strings.HasPrefix(r.Manifest.Versions["mpi"], mpi.Family), "complete %v, versions %v", r.Summary.Complete, r.Manifest.Versions)
			for _, c := range r.Summary.Cases {
				expect.True(t, c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
			}
		})
	}
}

// The launcher of another MPI starts ranks that do not know of each other.
//
//gate:mpich
//gate:debian13
func TestMPIRunOtherLauncher(t *testing.T) {
	launcher := []string{"mpiexec.hydra"}
	if mpi.Family != mpi.OpenMPI {
		launcher = []string{"mpirun.openmpi", "--oversubscribe"}
	}
	dir := t.TempDir()
	cmd := mpirun(t, dir, 9)
	args := append(launcher[1:], "-n", "9", filepath.Join(dir, "evbench"), "run", scenarioFile(t, "mpi-quickstart.yaml"))
	code, said := beginCommand(t, dir, exec.Command(launcher[0], args...)).end()
	expect.True(t, code == exitUsage && strings.Count(said, "sees one rank, the environment 9") == 1 && strings.Contains(said, "MPI ("+mpi.Family),
		"%s ended with %d where %s was right:\n%s", launcher, code, cmd.Path, said)
}

// MPICH places ranks in the order of a host file that plan --collective writes. The remote shell of this test runs
// everything here, under the name of its host; Open MPI asks a name server for such names, for as long as that takes.
//
//gate:mpich
//gate:debian13
func TestMPIRunRing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "rsh", `#!/bin/sh
while case $1 in -o) shift ;; -*) ;; *) false ;; esac do shift; done
HOST_OF_RANK=$1; export HOST_OF_RANK; shift; eval "$*"
`)
	shell := filepath.Join(dir, "rsh")
	expect.Must(t, os.Chmod(shell, 0o700))
	dealt := "h0,h6,h12,h2,h8,h14,h4,h10,h16,h1,h7,h13,h3,h9,h15,h5,h11,h17"
	file := filepath.Join(dir, "ring")
	code, _, said := call(t, "plan", "-t", "HyperX(3,3;2)", "--down", "s1_0-s1_1,s1_4-s1_5", "--collective", "allgather", "--hosts", dealt, "--launcher", "mpich", "-o", file)
	expect.Equal(t, code, exitDone, "%s", said)
	var want []string
	for line := range strings.Lines(string(expect.Value(os.ReadFile(file))(t))) {
		if host, _, _ := strings.Cut(strings.ReplaceAll(line, ":", " "), " "); strings.HasPrefix(host, "h") {
			want = append(want, host)
		}
	}
	cmd := exec.Command("mpiexec.hydra", "-iface", "lo", "-launcher-exec", shell, "-f", file, "-n", "18", "sh", "-c", "echo $PMI_RANK $HOST_OF_RANK")
	out := expect.Value(cmd.Output())(t)
	got := make([]string, 18)
	for line := range strings.Lines(string(out)) {
		rank, host, _ := strings.Cut(strings.TrimSpace(line), " ")
		got[expect.Value(strconv.Atoi(rank))(t)] = host
	}
	expect.Equal(t, got, want, "hosts of ranks")
}

// routedByMPI is a run of ranks of mpirun, for which the first of them has routes put into a network or
// checked. It returns what was said of one that is to end with a code.
func routedByMPI(t *testing.T, dir, routes, cases string, code int) string {
	t.Helper()
	expect.OK(t, os.RemoveAll(filepath.Join(dir, "out")))
	expect.OK(t, os.RemoveAll(filepath.Join(dir, "evbench")))
	write(t, dir, "mpi.yaml", "topology: FT(2;2,2)\nfabric: {kind: hosts, routes: {"+routes+"}}\ntransport: mpi\nlaunch: {kind: started}\n"+
		"event: {fragment: 1KiB}\nduration: 100ms\ncontrol: false\ncases: ["+cases+"]\n")
	p := beginCommand(t, dir, mpirun(t, dir, 5, "mpi.yaml", "-o", "out"))
	if code == exitDone {
		finished(t, p)
		r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
		expect.True(t, r.Summary.Complete && strings.HasPrefix(routes, "kind: "+r.Manifest.Fabric.Routes+","), "complete %v, routes %q", r.Summary.Complete, r.Manifest.Fabric.Routes)
		for _, c := range r.Summary.Cases {
			expect.True(t, c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
		}
		return ""
	}
	got, said := p.end()
	expect.Equal(t, got, code, "exit of %s", said)
	return said
}

// Ranks of mpirun have OpenSM load the routes of each case, find them where somebody else has loaded them, and
// refuse to run where nobody has.
func TestMPIRunRoutesOpenSM(t *testing.T) {
	r := newRoutedRun(t)
	reach := fmt.Sprintf("network: %s, dump: 'sh %s'", r.in("fabric.net"), r.in("tee.sh"))
	routedByMPI(t, r.in(""), fmt.Sprintf("kind: opensm, dir: %s, process: '%d', sminfo: 'sh %s', %s", r.in(""), r.live.PID(), r.in("sminfo.sh"), reach),
		"{name: FORS, schedule: fors}, {name: shift, schedule: linear-shift, routing: ftree}, {name: cut, schedule: fors, failures: [leaf0-spine0]}", exitDone)
	r.back()
	held := map[string]bool{}
	for _, name := range expect.Value(filepath.Glob(r.in("held.*")))(t) {
		held[string(expect.Value(os.ReadFile(name))(t))] = true
	}
	expect.True(t, len(held) >= 2, "%d tables were held in turn", len(held)) // those of the healthy tree may be the same

	cut := "{name: cut, schedule: fors, failures: [leaf0-spine0]}"
	said := routedByMPI(t, r.in(""), "kind: loaded, "+reach, cut, exitUsage)
	expect.True(t, strings.Count(said, `fabric.routes: case "cut": `) == 1, "%s", said)
	plan := []string{"plan", "-t", "FT(2;2,2)", "--down", "leaf0-spine0", "-s", "fors", "--objective", "paths", "-o", r.in("cut.txt")}
	install := append([]string{"routes", "install", r.in("cut.txt"), "--target", "opensm", "-t", r.in("fabric.net"), "--dir", r.in(""), "--pid", fmt.Sprint(r.live.PID())}, diags(r.in)...)
	for _, args := range [][]string{plan, install} {
		code, _, said := output(t, r.in(""), args...)
		expect.MustTrue(t, code == exitDone, "%s", said)
	}
	routedByMPI(t, r.in(""), "kind: loaded, "+reach, cut, exitDone)
	expect.True(t, r.held() != r.was, "tables that somebody else has loaded are gone")
}

// Ranks of mpirun have Linux switches, reached by a shell, take the routes of each case.
func TestMPIRunRoutesKernel(t *testing.T) {
	l := holdLab(t)
	write(t, l.dir, "shell.sh", fmt.Sprintf("echo \"$@\" >>%s; exec %s lab exec \"$@\"\n", filepath.Join(l.dir, "asked"), l.evbench))
	held := func() string {
		_, out, said := output(t, l.dir, "lab", "exec", "leaf0", "ip", "route")
		expect.MustTrue(t, out != "", "%s", said)
		return out
	}
	was := held()
	routedByMPI(t, l.dir, "kind: kernel, shell: 'sh "+filepath.Join(l.dir, "shell.sh")+"'", "{name: cut, schedule: fors, failures: [leaf0-spine1]}", exitDone)
	expect.Equal(t, held(), was, "routes")
	asked := string(expect.Value(os.ReadFile(filepath.Join(l.dir, "asked")))(t))
	expect.True(t, strings.Contains(asked, "leaf0 ") && strings.Contains(asked, "spine0 "), "asked: %s", asked)
}

// What all ranks refuse, one of them says, and mpirun ends as evbench does.
//
//gate:mpich
//gate:debian13
func TestMPIRunRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		ranks      int
		args       []string
	}{
		{"number of ranks", "the topology has 8 servers: start 9 ranks (1 controller + 8), not 4", 4, nil},
		{"scenario", "no case \"no such\"", 4, []string{"--case", "no such"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			code, said := beginCommand(t, dir, mpirun(t, dir, tt.ranks, append(tt.args, scenarioFile(t, "mpi-quickstart.yaml"))...)).end()
			expect.True(t, code == exitUsage && strings.Count(said, tt.want) == 1, "mpirun ended with %d:\n%s", code, said)
		})
	}
}

// A lost rank ends the job badly, and no number of it counts.
//
//gate:debian13
func TestMPIRunRankKilled(t *testing.T) {
	dir := t.TempDir()
	p := beginCommand(t, dir, mpirun(t, dir, 9, scenarioFile(t, "mpi-quickstart.yaml"), "--duration", "1h", "--interval", "100ms", "-o", "out"))
	p.await("measure")
	expect.Must(t, syscall.Kill(processOf(t, dir, 5), syscall.SIGKILL))
	code, said := p.end()
	expect.True(t, code != exitDone && code != exitInvalid, "mpirun ended with %d:\n%s", code, said)
	if r, err := stored.ReadRun(filepath.Join(dir, "out")); err == nil {
		for _, c := range r.Summary.Cases {
			expect.True(t, !c.Valid && !r.Summary.Complete, "a case of a broken run is not marked: %+v", c)
		}
	}
}

// Ctrl-C at mpirun, a signal of a batch system to mpirun, to its daemons and to all ranks, which
// mpirun signals once more, and SIGUSR1, which mpirun passes on: the controller writes what was
// measured.
//
//gate:mpich
//gate:debian13
func TestMPIRunInterrupted(t *testing.T) {
	version, _ := mpi.FindLauncher(t.Context(), mpi.Local(1)[0]) // 0: not of Open MPI
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		all    bool
	}{
		{"mpirun", syscall.SIGINT, false},
		{"all", syscall.SIGINT, true},
		{"in order", syscall.SIGUSR1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("OMPI_MCA_odls_base_sigkill_timeout", "3") // seconds until mpirun of Open MPI 4 kills who is still there
			p := beginCommand(t, dir, mpirun(t, dir, 9, scenarioFile(t, "mpi-quickstart.yaml"), "--duration", "1h", "--interval", "100ms", "-o", "out"))
			p.await("measure")
			told := p.family()
			if !tt.all {
				told = told[:1]
			}
			for _, pid := range told {
				syscall.Kill(expect.Value(strconv.Atoi(pid))(t), tt.signal) // some may have ended
			}
			code, said := p.end()
			expect.True(t, code != exitDone && (tt.signal == syscall.SIGINT || code == exitInterrupted), "mpirun ended with %d:\n%s", code, said)
			if tt.signal == syscall.SIGINT && version >= 5 && !store.Present(filepath.Join(dir, "out", store.SummaryFile)) {
				return // it kills the ranks half a second later; the machine was busy
			}
			c := marked(t, dir)
			expect.True(t, c != nil && c.EventsBuilt != 0, "what was measured is gone:\n%s", said)
		})
	}
}

// processOf returns the process of a rank that was started in a directory.
func processOf(t *testing.T, dir string, rank int) int {
	t.Helper()
	all := expect.Value(filepath.Glob("/proc/[0-9]*/environ"))(t)
	want := fmt.Sprintf("OMPI_COMM_WORLD_RANK=%d", rank)
	for _, file := range all {
		env, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended, or is somebody else's
		}
		vars := strings.Split(string(bytes.TrimRight(env, "\x00")), "\x00")
		if slices.Contains(vars, want) && slices.Contains(vars, "TMPDIR="+dir) {
			pid := expect.Value(strconv.Atoi(filepath.Base(filepath.Dir(file))))(t)
			return pid
		}
	}
	t.Fatalf("no process of rank %d", rank)
	return 0
}

// mpirunBySSH has mpirun reach hosts by ssh, one after the other until all ranks
// are placed. The hosts exist in the configuration of the private sshd only.
func mpirunBySSH(t *testing.T, dir string, server *sshServer, hosts []string, args ...string) *exec.Cmd {
	t.Helper()
	write(t, dir, "hostfile", strings.Join(hosts, " slots=1\n")+" slots=1\n")
	// The daemon of each host has a name and temporary files of its own, as on a cluster: ranks of
	// Open MPI 5 on hosts of one name end in MPI_Init.
	launcher := expect.Value(mpi.FindLauncher(t.Context(), "mpirun"))(t)
	daemon := filepath.Join(dir, "daemon")
	expect.Must(t, os.WriteFile(daemon, []byte(`#!/bin/sh
if [ "${1:-}" != named ]; then exec unshare --user --map-current-user --keep-caps --uts "$0" named "$@"; fi
shift
address=${SSH_CONNECTION% *} program=orted
hostname "node00${address##*.}"
command -v prted >/dev/null && program=prted
TMPDIR=$(mktemp -d `+dir+`/XXXXXX) exec $program "$@"
`), 0o700))
	cmd := mpirun(t, dir, 5, args...)
	// Shared memory does not do between hosts that are one machine, though Open
	// MPI thinks so.
	needs := mpi.Needs{Agent: "ssh -F " + server.Config, Daemon: daemon, Bound: true}
	cmd.Args = slices.Insert(cmd.Args, 1, slices.Concat(launcher.Options(needs),
		[]string{"--hostfile", "hostfile", "--map-by", "node", "--mca", "btl", "self,tcp", "-x", "EVBENCH_TOKEN", "-x", "GORACE"})...)
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
//
//gate:debian13
func TestMPIRunBySSH(t *testing.T) {
	server := startSSHD(t)
	for _, over := range []string{transport.MPI, transport.TCP} {
		t.Run(over, func(t *testing.T) {
			dir := t.TempDir()
			control := startedOver(t, dir, over)
			finished(t, beginCommand(t, dir, mpirunBySSH(t, dir, server, server.Hosts[:3], "s.yaml", "-o", "out")))
			r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
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
//
//gate:weekly13
func TestMPIRunBySSHUnreachable(t *testing.T) {
	dir, server := t.TempDir(), startSSHD(t)
	startedOver(t, dir, transport.MPI)
	hosts := []string{server.Hosts[0], closedHost}
	code, said := beginCommand(t, dir, mpirunBySSH(t, dir, server, hosts, "s.yaml", "-o", "out")).end()
	expect.True(t, code != exitDone && strings.Contains(said, "Connection refused"), "mpirun ended with %d:\n%s", code, said)
	expect.Is(t, expect.Err(os.Lstat(filepath.Join(dir, "out"))), fs.ErrNotExist)
}
