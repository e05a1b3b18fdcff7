//go:build mpi

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"evbench/companion/wrapped"
	"evbench/internal/expect"
	"evbench/results"
	"evbench/results/store"
	"evbench/scenario"
	"evbench/transport"
	"evbench/transport/mpi"
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

func TestMPIRun(t *testing.T) {
	dir := t.TempDir()
	cmd := mpirun(t, dir, 9, scenarioFile(t, "mpi-quickstart.yaml"), "--duration", "300ms", "--interval", "100ms", "-o", "out")
	var out strings.Builder
	cmd.Stdout = &out
	t.Setenv("TERM", "xterm")
	finished(t, beginCommand(t, dir, cmd))
	expect.True(t, strings.Contains(out.String(), "MPI_Barrier") && !strings.Contains(out.String(), "\x1b["), "no table, or colours in a pipe: %q", &out)
	r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
	m := r.Manifest
	if m.Control != "mpi" || m.Transport != "mpi" || m.IO != "" || m.Launch != "started" || m.Versions["mpi"] == "" || !slices.Contains(m.BuildTags, "mpi") {
		t.Errorf("manifest: control %q, transport %q, io %q, launch %q, versions %v, tags %v", m.Control, m.Transport, m.IO, m.Launch, m.Versions, m.BuildTags)
	}
	expect.True(t, len(r.Summary.Cases) == 5 && len(r.Samples) != 0, "%d cases, %d samples", len(r.Summary.Cases), len(r.Samples))
	for _, c := range r.Summary.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
	}
}

// Readers apart from builders over MPI, in all modes: builders alone build, and lose nothing.
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
	r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
	expect.True(t, len(r.Summary.Cases) == 4, "%d cases", len(r.Summary.Cases))
	for _, c := range r.Summary.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate == 0 && c.Roles != nil && c.Roles.Builders == 2, "%+v", c)
	}
}

// The controller is any rank, and control may go over TCP beside MPI, or all of
// it over TCP.
func TestMPIRunControl(t *testing.T) {
	for _, transport := range []string{"mpi", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s.yaml", fmt.Sprintf(startedScenario, "300ms"))
			finished(t, beginCommand(t, dir, mpirun(t, dir, 5, "s.yaml", "--transport", transport, "--controller-rank", "3", "-o", "out")))
			r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
			m := r.Manifest
			expect.True(t, m.Control == "unix:c" && m.Transport == transport && r.Summary.Complete,
				"control %q, transport %q, complete %v", m.Control, m.Transport, r.Summary.Complete)
		})
	}
}

// Events are built over each layer that MPI can have below it.
func TestMPIRunLayers(t *testing.T) {
	for _, layer := range mpi.Layers() {
		t.Run(layer.Name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s.yaml", strings.Replace(fmt.Sprintf(startedScenario, "300ms"), ", control: \"unix:c\"", "", 1))
			cmd := mpirun(t, dir, 5, "s.yaml", "--transport", "mpi", "-o", "out")
			cmd.Env = append(os.Environ(), layer.Env...)
			finished(t, beginCommand(t, dir, cmd))
			r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
			expect.True(t, r.Summary.Complete && strings.HasPrefix(r.Manifest.Versions["mpi"], mpi.Family), "complete %v, versions %v", r.Summary.Complete, r.Manifest.Versions)
			for _, c := range r.Summary.Cases {
				expect.True(t, c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
			}
		})
	}
}

// The launcher of another MPI starts ranks that do not know of each other.
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
		r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
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
func TestMPIRunRankKilled(t *testing.T) {
	dir := t.TempDir()
	p := beginCommand(t, dir, mpirun(t, dir, 9, scenarioFile(t, "mpi-quickstart.yaml"), "--duration", "1h", "--interval", "100ms", "-o", "out"))
	p.await("measure")
	expect.Must(t, syscall.Kill(processOf(t, dir, 5), syscall.SIGKILL))
	code, said := p.end()
	expect.True(t, code != exitDone && code != exitInvalid, "mpirun ended with %d:\n%s", code, said)
	if r, err := store.Read(filepath.Join(dir, "out")); err == nil {
		for _, c := range r.Summary.Cases {
			expect.True(t, !c.Valid && !r.Summary.Complete, "a case of a broken run is not marked: %+v", c)
		}
	}
}

// Ctrl-C at mpirun: the controller writes what was measured.
func TestMPIRunInterrupted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("OMPI_MCA_odls_base_sigkill_timeout", "3") // seconds until mpirun kills who is still there
	p := beginCommand(t, dir, mpirun(t, dir, 9, scenarioFile(t, "mpi-quickstart.yaml"), "--duration", "1h", "--interval", "100ms", "-o", "out"))
	p.await("measure")
	expect.Must(t, p.cmd.Process.Signal(os.Interrupt))
	code, said := p.end()
	expect.True(t, code != exitDone, "mpirun ended with %d:\n%s", code, said)
	c := marked(t, dir)
	expect.True(t, c != nil && c.EventsBuilt != 0, "what was measured is gone")
}

// processOf returns the process of a rank that was started in a directory.
func processOf(t *testing.T, dir string, rank int) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	expect.Must(t, err)
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

// mpiLab has a lab up while a test runs, and returns the script that starts ranks on its servers.
func mpiLab(t *testing.T, dir string) string {
	t.Helper()
	return mpiLabOf(t, dir, "FT(2;2,2)")
}

func mpiLabOf(t *testing.T, dir, network string) string {
	t.Helper()
	code, out, said := output(t, dir, "lab", "up", "-t", network)
	expect.MustTrue(t, code == exitDone, "lab up ended with %d:\n%s%s", code, out, said)
	t.Cleanup(func() { output(t, dir, "lab", "down") })
	script := expect.Value(filepath.Abs("../../scripts/lab-mpirun"))(t)
	mpirun(t, dir, 5) // for its symlink and environment
	t.Setenv("EVBENCH", filepath.Join(dir, "evbench"))
	return script
}

// mpirun over the lab: its daemons and messages cross the lab's links.
func TestMPIRunLab(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s.yaml", strings.Replace(fmt.Sprintf(startedScenario, "300ms"), ", control: \"unix:c\"", "", 1))
	script := mpiLab(t, dir)
	finished(t, beginCommand(t, dir, exec.Command(script, "s.yaml", "--transport", "mpi", "--rounds", "1", "-o", "out")))
	r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
	for _, c := range r.Summary.Cases {
		// 100 Mbit/s for each server is what the links carry.
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.GoodputBitPerSec.Mean <= 100e6, "%+v", c)
	}
	p := beginCommand(t, dir, exec.Command(script, "-n", "2", "sh", "-c", "echo $OMPI_FILE_LOCATION >&2"))
	code, said := p.end()
	expect.True(t, code == exitDone && strings.Contains(said, "/ompi.server1.") && !strings.Contains(said, dir+"/ompi."),
		"ended with %d, session directories have the names of servers only: %s", code, said)
	if code, _, said := output(t, dir, "lab", "exec", "server0", "orted -mca ess env"); code != exitUsage || !strings.Contains(said, "scripts/lab-mpirun") {
		t.Errorf("a command for a shell ended with %d: %s", code, said)
	}
}

// A program of others follows the plan for the servers of a lab, whose names are those of the
// network, and receives what it should.
func TestMPIWrapLab(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "exchange")
	cc := exec.Command("mpicc", "-o", program, "../../companion/wrapped/testdata/exchange.c", "-lmpi_mpifh")
	if said, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v\n%s", err, said)
	}
	library, err := wrapped.Build(t.Context(), "mpicc", dir) // one that is not beside evbench is for this host alone
	expect.Must(t, err)
	code, out, said := output(t, dir, "mpi", "wrap", "--network", "FT(2;2,2)", "--min-size", "1B", "--library", library, "--json", "--", mpiLab(t, dir), "-n", "4", program)
	if code != exitDone || !strings.Contains(said, "\nok\n") || strings.Count(said, "libevbench: ") != 3 ||
		!strings.Contains(said, "the communicator has 2 ranks, the plan 4") || !strings.Contains(said, "MPI_IN_PLACE") {
		t.Errorf("ended with %d: %s", code, said)
	}
	var r wrapped.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	calls := map[string]int{}
	for _, c := range r.Calls {
		if c.Plan {
			calls[c.Kind] += c.Calls
		}
	}
	// world, reversed, Fortran, derived type; in C and in Fortran
	if want := map[string]int{"alltoall": 4, "alltoallv": 2}; !maps.Equal(calls, want) {
		t.Errorf("%v calls follow the plan, want %v: %s", calls, want, out)
	}
	expect.Equal(t, r.Nonblocking, 1, "calls of MPI_Ialltoall")
}

// Over parallel cables a program follows the plan in its phases and by its routes: tables hold both.
func TestMPIWrapLabCables(t *testing.T) {
	const network = "PGFT(2;4,2;1,2;1,2)"
	dir := t.TempDir()
	library, err := wrapped.Build(t.Context(), "mpicc", dir)
	expect.Must(t, err)
	program := filepath.Join(dir, "exchange")
	said, err := exec.Command("mpicc", "-o", program, "../../companion/wrapped/testdata/exchange.c", "-lmpi_mpifh").CombinedOutput()
	expect.MustTrue(t, err == nil, "mpicc: %v\n%s", err, said)
	script := mpiLabOf(t, dir, network)
	code, out, told := output(t, dir, "mpi", "wrap", "--network", network, "--min-size", "1B", "--library", library, "--json",
		"--routes", "kernel", "--shell", filepath.Join(dir, "evbench")+" lab exec", "--", script, "-n", "8", program)
	var r wrapped.Report
	expect.MustTrue(t, code == exitDone && strings.Contains(told, "\nok\n") && json.Unmarshal([]byte(out), &r) == nil, "ended with %d: %s%s", code, out, told)
	planned := slices.ContainsFunc(r.Calls, func(c wrapped.Row) bool { return c.Plan && c.Ranks == 8 })
	expect.True(t, planned && r.Phases == 7, "%s", out)
}

// TestMPIKilled kills the program with SIGKILL: mpirun and its ranks end, those on servers of a lab, too.
func TestMPIKilled(t *testing.T) {
	for _, name := range []string{"wrap here", "wrap lab", "lab"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			launcher := []string{"mpirun", "--oversubscribe"}
			if strings.HasSuffix(name, "lab") {
				launcher = []string{mpiLab(t, dir)}
			} else {
				mpirun(t, dir, 2) // for its symlink and environment
			}
			fifo := filepath.Join(dir, "up")
			expect.Must(t, syscall.Mkfifo(fifo, 0o600))
			write(t, dir, "lib.so", "")
			in, err := os.OpenFile(fifo, os.O_RDWR, 0) // no end of file until all ranks have come
			expect.Must(t, err)
			defer in.Close()
			if strings.HasPrefix(name, "wrap") {
				launcher = append([]string{filepath.Join(dir, "evbench"), "mpi", "wrap", "--network", "FT(2;2,2)", "--by-rank", "--library", "lib.so", "--"}, launcher...)
			}
			p := beginCommand(t, dir, exec.Command(launcher[0], append(launcher[1:], "-n", "4", "sh", "-c", `exec 3>"$0"; echo up >&3; exec sleep 1000`, fifo)...))
			expect.Must(t, expect.Err(io.ReadFull(in, make([]byte, len("up\n")*4))))
			expect.Must(t, p.cmd.Process.Kill())
			p.end()
			ranks := expect.Value(os.Open(fifo))(t)
			defer ranks.Close()
			in.Close()
			if rest, err := io.ReadAll(ranks); err != nil || len(rest) > 0 { // until none has it open
				t.Errorf("%q, %v", rest, err)
			}
		})
	}
}

// TestMPILabFiles has runs on the servers of a lab leave no file: names in /tmp are other users'
// labs', too. What one left that was killed goes with the next.
func TestMPILabFiles(t *testing.T) {
	dir := t.TempDir()
	script := mpiLab(t, dir)
	temp := filepath.Join(dir, "temp")
	ended := exec.Command("true")
	expect.Must(t, errors.Join(os.Mkdir(temp, 0o700), ended.Run()))
	name := func(pid int) string { return filepath.Join(temp, fmt.Sprintf("lab-mpirun.%d.abcdef", pid)) }
	left, others := name(ended.Process.Pid), name(os.Getpid())
	expect.Must(t, errors.Join(os.MkdirAll(filepath.Join(left, "ompi.server0.0"), 0o700), os.Mkdir(others, 0o700)))
	cmd := exec.Command(script, "-n", "4", "sh", "-c", `ls -d "$0"/*/ompi.* "$0"/ompi.*`, temp)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "XDG_RUNTIME_DIR="+dir)
	out, err := cmd.Output() // of ls, which misses some
	expect.True(t, strings.Contains(string(out), "/ompi.server3.") && !strings.Contains(string(out), temp+"/ompi."), "%v, %s", err, out)
	now, err := filepath.Glob(filepath.Join(temp, "*"))
	expect.True(t, err == nil && slices.Equal(now, []string{others}), "left: %v, %v", now, err)
}

// inLab is a scenario whose ranks mpirun starts on the servers of a lab that the run builds.
const inLab = `
topology: FT(2;3,3)
fabric: {rate: 50Mbit/s}
transport: mpi
event: {phase: 20ms}
duration: 1500ms
interval: 100ms
control: off
cases:
  - {name: phases, schedule: fors, failures: [leaf0-spine0]}
  - {name: no phases, mode: unsynchronised, schedule: fors, failures: [leaf0-spine0]}
  - {name: order, mode: ordered, failures: [leaf0-spine0]}
  - {name: dies, failover: fors, failures: [{link: leaf1-spine2, at: 500ms}], duration: 3s}
`

// Over MPI, too, a run on a lab has tables hold the paths of its plans, one from each leaf to each
// server, and changes both when a link dies.
func TestMPIInLab(t *testing.T) {
	r := labRun(t, inLab)
	for _, p := range r.Manifest.Predictions {
		expect.True(t, p.Objective == "paths" && p.Routing == "pinned", "case %q: objective %q, routing %s", p.Case, p.Objective, p.Routing)
	}
	dead, planned := 0, 0
	for _, l := range r.Links {
		if l.Case != "dies" && l.Link == "leaf0-spine0" && l.Bytes == 0 {
			dead++
		}
		if l.Planned && l.PlannedBytes > 0 {
			planned++
			// Of the first and the last exchange a part may be beyond the readings; heads come on top.
			have, want := float64(l.Bytes), float64(l.PlannedBytes)
			expect.True(t, have >= 0.9*want && have <= 1.6*want, "case %q: %s %s: %.0f bytes, planned %.0f", l.Case, l.Link, l.Direction, have, want)
		}
	}
	expect.True(t, dead == 6 && planned >= 60, "%d counters of the dead link are 0, %d links have planned bytes", dead, planned)
}

// labRun measures each case of a scenario once, of which one has a link that dies. No event may be
// lost, and no file left.
func labRun(t *testing.T, text string) *results.Run {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "s.yaml", text)
	finished(t, begin(t, dir, "run", "--rounds", "1", "s.yaml", "-o", "out"))
	r := expect.Value(store.Read(filepath.Join(dir, "out")))(t)
	for _, c := range r.Summary.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
	}
	f := r.Summary.Failovers()
	expect.True(t, len(f) == 1 && f[0].UpdatedSec != nil && f[0].Routes != 0, "changes of the plan: %+v", f)
	onlyThese(t, dir, "out", "s.yaml")
	return r
}

// The example of the experiment over MPI, with shorter fragments and slices: what it predicts, and
// nothing over the dead link. The figures themselves a busy machine would spoil.
func TestMPITwin(t *testing.T) {
	text := string(expect.Value(os.ReadFile(scenarioFile(t, "lab-mpi.yaml")))(t))
	r := labRun(t, strings.NewReplacer("50ms", "20ms", "8s", "3s", "1s", "100ms", "at: 2s", "at: 500ms").Replace(text))
	want := map[string]float64{"control": 1, "min-hop": 0.577, "FORS": 0.9375}
	for _, p := range r.Manifest.Predictions {
		expect.True(t, math.Abs(p.Efficiency-want[p.Case]) < 0.001 || p.Case == "link dies", "%+v", p)
	}
	for _, l := range r.Links {
		dead := l.Link == "leaf0-spine0" && (l.Case == "min-hop" || l.Case == "FORS")
		expect.True(t, dead == (l.Bytes == 0) || l.Case == "FORS" && !dead, "case %q: %s %s: %d bytes", l.Case, l.Link, l.Direction, l.Bytes)
	}
}

// A plan of several paths from a leaf to a server is refused before anything starts, and a lab
// whose run is killed leaves no rank.
func TestMPIInLabEnds(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "several.yaml", strings.Replace(inLab, "schedule: fors", "schedule: fors, objective: phases", 1))
	if code, _, said := output(t, dir, "run", "several.yaml", "-o", "out"); code != exitUsage || !strings.Contains(said, `case "phases": the plan needs several paths from leaf`) || !strings.Contains(said, "objective: paths") {
		t.Errorf("ended with %d: %s", code, said)
	}
	onlyThese(t, dir, "several.yaml")
	write(t, dir, "s.yaml", strings.Replace(inLab, "1500ms", "1h", 1))
	p := begin(t, dir, "run", "--rounds", "1", "s.yaml", "-o", "out")
	p.await("phases: measure")
	rank := processOf(t, dir, 5)
	expect.Must(t, p.cmd.Process.Kill())
	p.end()
	awaitEnd(t, rank)
}

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
