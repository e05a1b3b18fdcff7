//go:build mpi

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"evbench/results"
	"evbench/site/wrapped"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// mpiLab has a lab up while a test runs, and returns the script that starts ranks on its servers.
func mpiLab(t *testing.T, dir string) string {
	t.Helper()
	return mpiLabOf(t, dir, "FT(2;2,2)")
}

func mpiLabOf(t *testing.T, dir, network string, args ...string) string {
	t.Helper()
	code, out, said := output(t, dir, append([]string{"lab", "up", "-t", network}, args...)...)
	expect.MustTrue(t, code == exitDone, "lab up ended with %d:\n%s%s", code, out, said)
	t.Cleanup(func() { output(t, dir, "lab", "down") })
	script := expect.Value(filepath.Abs("../../scripts/lab-mpirun"))(t)
	mpirun(t, dir, 5) // for its symlink and environment
	t.Setenv("EVBENCH", filepath.Join(dir, "evbench"))
	return script
}

// mpirun over the lab: its daemons and messages cross the lab's links.
//
//gate:weekly13
func TestMPIRunLab(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s.yaml", strings.Replace(fmt.Sprintf(startedScenario, "300ms"), ", control: \"unix:c\"", "", 1))
	script := mpiLab(t, dir)
	before := crossed(t, dir)
	finished(t, beginCommand(t, dir, exec.Command(script, "s.yaml", "--transport", "mpi", "--rounds", "1", "-o", "out")))
	r, events := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t), uint64(0)
	for _, c := range r.Summary.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0, "%+v", c)
		events += c.EventsBuilt
	}
	// Two fragments of each event are of servers of the other leaf.
	bytes := crossed(t, dir) - before
	expect.True(t, bytes >= events*2*16<<10, "%d bytes crossed links between switches for %d events", bytes, events)
	// UCX lists the devices of /sys.
	t.Setenv("MPIRUN", "mpirun --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any -x UCX_TLS=tcp,self")
	finished(t, beginCommand(t, dir, exec.Command(script, "s.yaml", "--transport", "mpi", "--rounds", "1", "-o", "ucx")))
	t.Setenv("MPIRUN", "mpirun")
	p := beginCommand(t, dir, exec.Command(script, "-n", "2", "sh", "-c", "echo $OMPI_FILE_LOCATION >&2"))
	code, said := p.end()
	expect.True(t, code == exitDone && regexp.MustCompile(`/(ompi|prte\w*)\.server1\.`).MatchString(said) && !regexp.MustCompile(dir+`/(ompi|prte)`).MatchString(said),
		"ended with %d, session directories have the names of servers only: %s", code, said)
	if code, _, said := output(t, dir, "lab", "exec", "server0", "orted -mca ess env"); code != exitUsage || !strings.Contains(said, "scripts/lab-mpirun") {
		t.Errorf("a command for a shell ended with %d: %s", code, said)
	}
}

// crossed is how many bytes the leaves of the lab FT(2;2,2) have sent to spines.
func crossed(t *testing.T, dir string) (bytes uint64) {
	t.Helper()
	for _, leaf := range []string{"leaf0", "leaf1"} {
		code, out, said := output(t, dir, "lab", "exec", leaf, "cat", "/proc/net/dev")
		links := regexp.MustCompile(`(?m)^ *spine\d:(?: +\d+){8} +(\d+)`).FindAllStringSubmatch(out, -1)
		expect.MustTrue(t, code == exitDone && len(links) == 2, "exit %d: %s%s", code, out, said)
		for _, m := range links {
			bytes += expect.Value(strconv.ParseUint(m[1], 10, 64))(t)
		}
	}
	return bytes
}

// TestMPILabNoRoute: where a route of the lab leads nowhere, a run over MPI ends by its timeout, and
// names who is missing: on a busy machine others may be late, too. MPI itself would wait without end.
//
//gate:weekly13
func TestMPILabNoRoute(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s.yaml", strings.NewReplacer(", control: \"unix:c\"", "", "timeout: 30s", "timeout: 2s").Replace(fmt.Sprintf(startedScenario, "300ms")))
	script := mpiLab(t, dir)
	code, out, said := output(t, dir, "lab", "exec", "leaf1", "ip", "route", "replace", "blackhole", "10.200.0.2")
	expect.MustTrue(t, code == exitDone, "ended with %d: %s%s", code, out, said)
	code, said = beginCommand(t, dir, exec.Command(script, "s.yaml", "--transport", "mpi", "--rounds", "1", "-o", "out")).end()
	expect.True(t, code == exitFailed && regexp.MustCompile(`evbench: for 2s .* has had no message over MPI from .*server[123]`).MatchString(said), "ended with %d: %s", code, said)
}

// A program of others follows the plan for the servers of a lab, whose names are those of the
// network, and receives what it should.
//
//gate:weekly13
func TestMPIWrapLab(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "exchange")
	cc := exec.Command("mpicc", "-o", program, "../../site/wrapped/testdata/exchange.c", "-lmpi_mpifh")
	if said, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v\n%s", err, said)
	}
	library, err := wrapped.Build(t.Context(), "mpicc", dir) // one that is not beside evbench is for this host alone
	expect.Must(t, err)
	code, out, said := output(t, dir, "mpi", "wrap", "--network", "FT(2;2,2)", "--min-size", "1B", "--library", library, "--json", "--", mpiLab(t, dir), "-n", "4", program)
	if code != exitDone || !strings.Contains(said, "\nok\n") || strings.Count(said, "libevbench: ")-strings.Count(said, "_init is left") != 5 ||
		!strings.Contains(said, "the communicator has 2 ranks, the plan 4") || !strings.Contains(said, "MPI_IN_PLACE") || !strings.Contains(said, "MPI_Alltoallw") {
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
	const network = "PGFT(2;2,2;1,2;1,2)"
	dir := t.TempDir()
	library := expect.Value(wrapped.Build(t.Context(), "mpicc", dir))(t)
	program := filepath.Join(dir, "exchange")
	said, err := exec.Command("mpicc", "-o", program, "../../site/wrapped/testdata/exchange.c", "-lmpi_mpifh").CombinedOutput()
	expect.MustTrue(t, err == nil, "mpicc: %v\n%s", err, said)
	script := mpiLabOf(t, dir, network)
	code, out, told := output(t, dir, "mpi", "wrap", "--network", network, "--min-size", "1B", "--library", library, "--json",
		"--routes", "kernel", "--shell", filepath.Join(dir, "evbench")+" lab exec", "--", script, "-n", "4", program)
	var r wrapped.Report
	expect.MustTrue(t, code == exitDone && strings.Contains(told, "\nok\n") && json.Unmarshal([]byte(out), &r) == nil, "ended with %d: %s%s", code, out, told)
	planned := slices.ContainsFunc(r.Calls, func(c wrapped.Row) bool { return c.Plan && c.Ranks == 4 })
	expect.True(t, planned && r.Phases == 3, "%s", out)
}

// TestMPIKilled kills the program with SIGKILL: mpirun and its ranks end, those on servers of a lab, too.
//
//gate:debian13
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
			up, ended := make(chan error, 1), make(chan string, 1)
			go func() { up <- expect.Err(io.ReadFull(in, make([]byte, len("up\n")*4))) }()
			go func() {
				_, said := p.end()
				ended <- said
			}()
			select {
			case err := <-up:
				expect.Must(t, errors.Join(err, p.cmd.Process.Kill()))
				<-ended
			case said := <-ended:
				t.Fatalf("ended before its ranks were up: %s%s", p.printed.String(), said)
			}
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
//
//gate:weekly13
func TestMPILabFiles(t *testing.T) {
	dir := t.TempDir()
	script := mpiLab(t, dir)
	temp := filepath.Join(dir, "temp")
	boot := string(expect.Value(os.ReadFile("/proc/sys/kernel/random/boot_id"))(t)[:8])
	left, others, away := filepath.Join(temp, "lab-mpirun."+boot+".abcdef"), filepath.Join(temp, "lab-mpirun."+boot+".others"), filepath.Join(temp, "lab-mpirun.01234567.away")
	for _, dir := range []string{left, others, away} {
		expect.Must(t, errors.Join(os.MkdirAll(filepath.Join(dir, "ompi.server0.0"), 0o700), os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600)))
	}
	held := expect.Value(os.Open(filepath.Join(others, "lock")))(t)
	defer held.Close()
	expect.Must(t, syscall.Flock(int(held.Fd()), syscall.LOCK_EX))
	if code, _, said := output(t, dir, "lab", "exec", "server0", "ip", "address", "add", "192.168.7.7/24", "dev", "lo", "scope", "global"); code != exitDone {
		t.Fatalf("the network of a management: %s", said)
	}
	// What ls says of names that are not there would count: prterun may write ranks' errors to its own output.
	cmd := exec.Command(script, "-n", "4", "sh", "-c", `ls -d "$0"/*/ompi.* "$0"/ompi.* "$0"/*/prte* "$0"/prte* 2>/dev/null || true`, temp)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "XDG_RUNTIME_DIR="+dir)
	out, err := cmd.Output()
	expect.True(t, regexp.MustCompile(`/(ompi|prte\w*)\.server3\.`).Match(out) && !regexp.MustCompile(temp+"/(ompi|prte)").Match(out), "%v, %s", err, out)
	now, err := filepath.Glob(filepath.Join(temp, "*"))
	expect.True(t, err == nil && slices.Equal(now, slices.Sorted(slices.Values([]string{away, others}))), "left: %v, %v", now, err)
	_, has, _ := output(t, dir, "lab", "exec", "server0", "ip", "-4", "-o", "address")
	expect.True(t, strings.Contains(has, "192.168.7.7/24") && strings.Contains(has, "10.200.0.1/32") && !strings.Contains(has, "10.1.0.1/32"), "server0 has the addresses\n%s", has)
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
`

// linkDies is one more case, in which a link dies.
const linkDies = "  - {name: dies, failover: fors, failures: [{link: leaf1-spine1/1, at: 500ms}], duration: 3s}\n"

// Over MPI, too, a run on a lab has tables hold the paths of its plans, one from each leaf to each
// server.
//
//gate:weekly13
func TestMPIInLab(t *testing.T) {
	r := labRun(t, inLab)
	for _, p := range r.Manifest.Predictions {
		expect.True(t, p.Objective == "paths" && p.Routing == "pinned", "case %q: objective %q, routing %s", p.Case, p.Objective, p.Routing)
	}
	dead, planned := 0, 0
	for _, l := range r.Links {
		if l.Link == "leaf0-spine0" && l.Bytes == 0 {
			dead++
		}
		if l.Planned && l.PlannedBytes > 0 {
			planned++
			// Of the first and the last exchange a part may be beyond the readings; heads come on top.
			have, want := float64(l.Bytes), float64(l.PlannedBytes)
			expect.True(t, have >= 0.9*want && have <= 1.6*want, "case %q: %s %s: %.0f bytes, planned %.0f", l.Case, l.Link, l.Direction, have, want)
		}
	}
	expect.True(t, dead == 6 && planned >= 40, "%d counters of the dead link are 0, %d links have planned bytes", dead, planned)
}

// Over parallel cables, too, of which one is dead or dies: nothing goes over a dead one.
//
//gate:debian13
func TestMPIInLabCables(t *testing.T) {
	r := labRun(t, strings.NewReplacer("FT(2;3,3)", "PGFT(2;3,3;1,2;1,2)", "leaf0-spine0]", "leaf0-spine0/0]", "1500ms", "1s",
		"no phases, mode: unsynchronised, schedule: fors, failures: [leaf0-spine0]", "whole, schedule: fors").Replace(inLab)+linkDies)
	dead := 0
	for _, l := range r.Links {
		if l.Link == "leaf0-spine0/0" && l.Case != "dies" && l.Case != "whole" && l.Bytes == 0 {
			dead++
		}
		expect.False(t, l.Planned && l.PlannedBytes > 0 && float64(l.Bytes) < 0.9*float64(l.PlannedBytes), "case %q: %s %s: %d bytes, planned %d", l.Case, l.Link, l.Direction, l.Bytes, l.PlannedBytes)
	}
	expect.Equal(t, dead, 4, "counters of the dead cable that are 0")
}

// labRun measures each case of a scenario once. No event may be lost, no file left, and if a link dies the plan is changed.
func labRun(t *testing.T, text string) *results.Run {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "s.yaml", text)
	finished(t, begin(t, dir, "run", "--rounds", "1", "s.yaml", "-o", "out"))
	r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
	for _, c := range r.Summary.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
	}
	f := r.Summary.Failovers()
	expect.True(t, !strings.Contains(text, "failover") && f == nil || len(f) == 1 && f[0].UpdatedSec != nil && f[0].Routes != 0, "changes of the plan: %+v", f)
	onlyThese(t, dir, "out", "s.yaml")
	return r
}

// The example of the experiment over MPI, with shorter fragments and slices: what it predicts, and
// nothing over the dead link. The figures themselves a busy machine would spoil.
func TestMPITwin(t *testing.T) {
	text := string(expect.Value(os.ReadFile(scenarioFile(t, "lab-mpi.yaml")))(t))
	r := labRun(t, strings.NewReplacer("50ms", "20ms", "8s", "700ms", "1s", "100ms", "at: 2s}]", "at: 500ms}], duration: 3s").Replace(text))
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
//
//gate:weekly13
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

// TestMPIWrapPorts: over ECMP the ranks' connections leave from the ports of a plan, also when programs follow one another; what the
// exchange brings is right.
func TestMPIWrapPorts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "lab.yaml", "name: paths\ntopology: FT(2;2,2)\nfabric: lab\ncases: [{routing: ecmp, mode: unsynchronised}]\n")
	code, out, said := output(t, dir, "paths", "lab.yaml", "--both", "7100", "--ports", "3", "-o", "paths.txt", "--quiet")
	expect.MustTrue(t, code == exitDone && strings.HasPrefix(out, "GOOD: All 48 paths "), "paths ended with %d: %s%s", code, out, said)
	script := mpiLabOf(t, dir, "FT(2;2,2)", "-r", "ecmp")
	program := filepath.Join(dir, "exchange")
	cc, err := exec.Command("mpicc", "-o", program, "../../site/wrapped/testdata/exchange.c", "-lmpi_mpifh").CombinedOutput()
	expect.MustTrue(t, err == nil, "mpicc: %v\n%s", err, cc)
	library := expect.Value(wrapped.Build(t.Context(), "mpicc", dir))(t)
	p := beginCommand(t, dir, exec.Command(filepath.Join(dir, "evbench"), "mpi", "wrap", "--paths", "paths.txt", "-o", "plan.txt", "--library", library, "--rounds", "2",
		"--min-size", "1B", "--json", "--", script, "-n", "4", program))
	code, said = p.end()
	var r wrapped.Report
	expect.MustTrue(t, code == exitDone && json.Unmarshal([]byte(p.printed.String()), &r) == nil, "wrap ended with %d: %s%s", code, p.printed.String(), said)
	expect.True(t, strings.Count(said, "\nok\n") == 2 && r.Steered == 8 && r.Unsteered == 0 && r.Phases >= 3 && r.Routes == "by source ports", "%+v\n%s", r, said)
}

// labScript runs a script that builds a lab of its own with this evbench.
func labScript(t *testing.T, dir, name string, args ...string) (said string) {
	t.Helper()
	mpirun(t, dir, 5) // for its symlink and environment
	t.Setenv("EVBENCH", filepath.Join(dir, "evbench"))
	p := beginCommand(t, dir, exec.Command(expect.Value(filepath.Abs("../../scripts/"+name))(t), args...))
	code, said := p.end()
	said += p.printed.String()
	expect.MustTrue(t, code == exitDone, "%s ended with %d:\n%s", name, code, said)
	return said
}

// TestLabAlltoall: an unmodified program over ECMP receives what it should, and its connections leave from the ports of the plan.
//
//gate:weekly13
//gate:mpich
func TestLabAlltoall(t *testing.T) {
	for name, value := range map[string]string{"ROUNDS": "1", "BLOCK": "20000"} {
		t.Setenv(name, value)
	}
	if strings.Contains(os.Getenv("MPICC"), "mpich") {
		t.Setenv("MPIRUN", "mpiexec.hydra")
	}
	said := labScript(t, t.TempDir(), "lab-alltoall", "FT(2;2,2)", "leaf0-spine1")
	expect.True(t, strings.Contains(said, " times as fast; 0 wrong bytes\n") && !strings.Contains(said, "not by the port of the plan"), "%s", said)
	if os.Getenv("MPIRUN") == "" { // MPICH's may end without its report
		expect.Contains(t, said, "4 of 4 connections leave from the ports of the plan")
	}
}

// TestLabBGP: between real routers, of which a cable dies, a run over planned ports goes on over others, and loses no event.
func TestLabBGP(t *testing.T) {
	need.Programs(t, "frr", "vtysh", "nsenter", "/usr/lib/frr/bgpd")
	dir := t.TempDir()
	for name, value := range map[string]string{"PORTS": "2", "LEAVES": "3", "FRAGMENT": "5kB", "SECONDS_MEASURED": "6"} {
		t.Setenv(name, value)
	}
	said := labScript(t, dir, "lab-bgp", filepath.Join(dir, "out"))
	r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
	f := r.Summary.Failovers()
	expect.True(t, len(f) > 0 && f[0].FirstNewSec != nil && strings.Contains(said, "the first exchange on the new plan was done after "), "%+v\n%s", f, said)
	for _, c := range r.Summary.Cases {
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate == 0, "%+v", c)
	}
}
