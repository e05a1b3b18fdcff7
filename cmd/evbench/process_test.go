package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"evbench/internal/proc"
	"evbench/model/capacity"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// A program is evbench as a process of its own.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner // of standard error
	said  strings.Builder

	printed strings.Builder // on standard output, once it has ended
}

// begin starts evbench in a directory with its own place for temporary files.
func begin(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	self := expect.Value(os.Executable())(t)
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "evbench"
	return beginCommand(t, dir, cmd)
}

// beginCommand is begin for a command that starts evbench.
func beginCommand(t *testing.T, dir string, cmd *exec.Cmd) *program {
	t.Helper()
	cmd.Dir = dir
	// The race detector would keep every process for a second at its end.
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "XDG_RUNTIME_DIR="+dir, "GORACE=atexit_sleep_ms=0")
	r, w, err := os.Pipe()
	expect.Must(t, err)
	p := &program{t: t, cmd: cmd, lines: bufio.NewScanner(r)}
	if cmd.Stderr = w; cmd.Stdout == nil {
		cmd.Stdout = &p.printed
	}
	expect.Must(t, cmd.Start())
	w.Close()
	t.Cleanup(func() {
		cmd.Process.Kill() // an error says that it has ended
		r.Close()
	})
	return p
}

// await reads standard error until a line contains text.
func (p *program) await(text string) {
	p.t.Helper()
	for p.lines.Scan() {
		fmt.Fprintln(&p.said, p.lines.Text())
		if strings.Contains(p.lines.Text(), text) {
			return
		}
	}
	p.t.Fatalf("evbench ended and never said %q, but:\n%s", text, p.said.String())
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	expect.Must(p.t, p.cmd.Process.Signal(s))
}

// end waits for the program and returns its exit code and all that it said.
func (p *program) end() (code int, said string) {
	p.t.Helper()
	for p.lines.Scan() {
		fmt.Fprintln(&p.said, p.lines.Text())
	}
	err := p.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode(), p.said.String()
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	expect.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

const hostsScenario = `
topology: FT(2;4,2)
fabric: {kind: hosts}
event: {fragment: 16KiB}
duration: %s
interval: 100ms
timeout: 1m
control: off
cases: [{name: one, schedule: linear-shift}]
`

// session starts a controller and eight workers as separate processes.
func session(t *testing.T, dir, duration string) (controller *program, workers []*program) {
	return sessionOf(t, dir, fmt.Sprintf(hostsScenario, duration), 1)
}

// sessionOf is session of a scenario, with as many addresses of each worker.
func sessionOf(t *testing.T, dir, scenario string, addresses int) (controller *program, workers []*program) {
	write(t, dir, "hosts.yaml", scenario)
	write(t, dir, "token", "secret\n")
	controller = begin(t, dir, "controller", "hosts.yaml", "--listen", "unix:c", "--token-file", "token", "-o", "out")
	for id := range 8 {
		workers = append(workers, begin(t, dir, "worker", "--controller", "unix:c", "--token-file", "token",
			"--id", fmt.Sprint(id), "--data", strings.TrimSuffix(strings.Repeat("127.0.0.1:0,", addresses), ",")))
	}
	return controller, workers
}

// A killed run leaves its folders, one with the token, and the next run removes them, but not those of
// a run that goes on.
//
//gate:race
func TestKilledLeavesNothingForLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folders := func() []string { return expect.Value(filepath.Glob(filepath.Join(dir, "evbench-*")))(t) }
	tokens := func() []string { return expect.Value(filepath.Glob(filepath.Join(dir, "evbench-*", "token")))(t) }
	write(t, dir, "long.yaml", fmt.Sprintf(hostsScenario, "1h")+"launch: {kind: local, preflight: off}\n")
	write(t, dir, "short.yaml", fmt.Sprintf(hostsScenario, "100ms")+"launch: {kind: local, preflight: off}\n")
	killed := begin(t, dir, "run", "long.yaml", "-o", "killed")
	killed.await("measure (1h")
	left := folders()
	expect.MustTrue(t, len(left) > 0 && len(tokens()) == 1, "folders of a run: %v", left)
	killed.signal(syscall.SIGKILL)
	killed.end()
	expect.Equal(t, folders(), left, "folders after a kill")

	goes := begin(t, dir, "run", "long.yaml", "-o", "goes")
	goes.await("measure (1h")
	own := folders()
	expect.True(t, len(own) == len(left) && len(tokens()) == 1 && !slices.ContainsFunc(own, func(name string) bool { return slices.Contains(left, name) }),
		"folders %v after those of a killed run, %v", own, left)
	code, _, said := output(t, dir, "run", "--rounds", "1", "short.yaml", "-o", "short")
	expect.True(t, code == exitDone || code == exitInvalid, "ended with %d: %s", code, said)
	expect.Equal(t, folders(), own, "folders of a run that goes on")
	goes.signal(syscall.SIGTERM)
	goes.end()
	expect.True(t, len(folders()) == 0, "folders %v are left", folders())
}

//gate:race
func TestEightProcesses(t *testing.T) {
	eightProcesses(t, "FT(2;4,2)", "linear-shift", 1)
}

// Parallel cables: a pinned plan takes an address of a server for each path, after its first.
func TestEightProcessesCables(t *testing.T) {
	eightProcesses(t, "PGFT(2;4,2;1,2;1,2)", "fors", 1+2*2*2)
}

func eightProcesses(t *testing.T, topology, schedule string, addresses int) {
	t.Helper()
	dir := t.TempDir()
	text := strings.Replace(fmt.Sprintf(hostsScenario, "300ms"), "FT(2;4,2)", topology, 1)
	controller, workers := sessionOf(t, dir, strings.Replace(text, "linear-shift", schedule, 1), addresses)
	code, said := controller.end()
	expect.False(t, code != exitDone && code != exitInvalid, "the controller ended with %d:\n%s", code, said)
	for id, w := range workers {
		if code, said := w.end(); code != exitDone {
			t.Errorf("worker %d ended with %d:\n%s", id, code, said)
		}
	}
	r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
	c := r.Summary.Cases[0]
	expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate <= 0, "%+v", c)
}

// A killed worker ends the case with an error that names it, the phase and who
// waited; what was measured is kept and marked, and the other workers end.
//
//gate:race
func TestKilledWorker(t *testing.T) {
	dir := t.TempDir()
	controller, workers := session(t, dir, "1h")
	controller.await("one: measure")
	expect.Must(t, workers[3].cmd.Process.Kill())
	code, said := controller.end()
	expect.True(t, code == exitFailed && strings.Contains(said, "server 3: ") && strings.Contains(said, "phase "),
		"the controller ended with %d:\n%s", code, said)
	for id, w := range workers {
		if code, said := w.end(); id != 3 && code != exitDone && code != exitFailed {
			t.Errorf("worker %d ended with %d:\n%s", id, code, said)
		}
	}
	r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
	c := r.Summary.Cases[0]
	expect.True(t, !r.Summary.Complete && !c.Complete && !c.Valid, "an incomplete run is not marked: %+v", c)
}

// A worker that fails at once is told at once, with what it said.
func TestWorkerProcessFailsAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "s.yaml", fmt.Sprintf(hostsScenario, "1h")+"launch: {kind: local, cpus: 1000}\n")
	code, _, said := output(t, dir, "run", "--rounds", "1", "--quiet", "s.yaml", "-o", "out")
	expect.True(t, code == exitFailed && strings.Contains(said, ": exit status 2: evbench: --cpus") && !strings.Contains(said, "deadline"),
		"ended with %d:\n%s", code, said)
}

const labScenario = `
topology: FT(2;2,2)
fabric: {rate: 100Mbit/s}
event: {phase: 20ms}
duration: 1h
interval: 100ms
timeout: 1m
cases: [{name: one, schedule: fors, failures: [leaf0-spine0]}]
`

// Ctrl-C ends a run in every stage, keeps what was measured, marks it, and
// leaves nothing behind.
//
//gate:race
func TestInterrupt(t *testing.T) {
	need.Namespaces(t)
	for _, tt := range []struct {
		stage  string
		signal os.Signal
		code   int
	}{
		{"install", os.Interrupt, exitInterrupted},
		{"warm up", os.Interrupt, exitInterrupted},
		{"measure", os.Interrupt, exitInterrupted},
		{"measure", syscall.SIGTERM, exitTerminated},
	} {
		t.Run(tt.stage+" "+tt.signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "lab.yaml", labScenario)
			p := begin(t, dir, "run", "--rounds", "1", "-v", "lab.yaml", "-o", "out")
			p.await("control: " + tt.stage)
			expect.Must(t, p.cmd.Process.Signal(tt.signal))
			if code, said := p.end(); code != tt.code {
				t.Errorf("ended with %d, want %d:\n%s", code, tt.code, said)
			}
			r := expect.Value(stored.ReadRun(filepath.Join(dir, "out")))(t)
			expect.True(t, !r.Summary.Complete && !r.Manifest.Complete && len(r.Summary.Cases) == 1 && !r.Summary.Cases[0].Valid,
				"an interrupted run is not marked: %+v", r.Summary)
			onlyThese(t, dir, "lab.yaml", "out")
		})
	}
}

// A run that is interrupted before it has measured anything says so.
//
//gate:race
func TestInterruptBeforeMeasuring(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s.yaml", fmt.Sprintf(hostsScenario, "1h"))
	write(t, dir, "token", "secret\n")
	p := begin(t, dir, "controller", "s.yaml", "--listen", "unix:c", "--token-file", "token", "--join-timeout", "1h", "-o", "out") // nobody joins
	p.awaitFile("c")
	expect.Must(t, p.cmd.Process.Signal(os.Interrupt))
	code, said := p.end()
	expect.Equal(t, code, exitInterrupted, "exit code, after:\n%s", said)
	expect.Contains(t, said, "interrupted: nothing was measured, and out was not written")
	expect.False(t, exists(t, dir, "out"), "out was written")
}

// A search for the link rate that fails says what it had tried.
func TestSearchError(t *testing.T) {
	tried := []results.TriedRate{{RateBitPerSec: 1e8, Efficiency: 0.9, Predicted: 1}, {RateBitPerSec: 5e7, Efficiency: 0.95, Predicted: 1}}
	err := searchError(capacity.FoundRate{Tried: tried}, proc.Signal{Sig: os.Interrupt})
	expect.Error(t, err, "search for the link rate, which had reached 0.900 of the prediction at 100Mbit/s, 0.950 at 50Mbit/s: interrupt")
	expect.Error(t, searchError(capacity.FoundRate{}, proc.Signal{Sig: os.Interrupt}), "search for the link rate, whose first try had not ended: interrupt")
}

// awaitFile returns once a file is there in the program's directory.
func (p *program) awaitFile(name string) {
	p.t.Helper()
	gone := p.gone()
	for tick := time.NewTicker(time.Millisecond); !exists(p.t, p.cmd.Dir, name); {
		select {
		case <-tick.C:
		case <-gone:
			p.await("the file " + name + " is there")
		}
	}
}

// gone is closed when the program has ended: what waits for it would wait for ever.
func (p *program) gone() <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		awaitEnd(p.t, p.cmd.Process.Pid)
	}()
	return gone
}

func onlyThese(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries := expect.Value(os.ReadDir(dir))(t)
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	expect.True(t, strings.Join(have, " ") == strings.Join(names, " "), "left behind: %v, want %v", have, names)
}

// output runs evbench to its end.
func output(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	self := expect.Value(os.Executable())(t)
	return capture(t, dir, self, append([]string{"evbench"}, args...)...)
}

func capture(t *testing.T, dir, path string, argv ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.Command(path)
	cmd.Args, cmd.Dir, cmd.Stdout, cmd.Stderr = argv, dir, &out, &errs
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "XDG_RUNTIME_DIR="+dir, "GORACE=atexit_sleep_ms=0")
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// Where the kernel refuses namespaces, run says so with reason, cure and the way
// around, and doctor ends with 1.
func TestNamespacesRefused(t *testing.T) {
	need.Namespaces(t)
	dir := t.TempDir()
	write(t, dir, "lab.yaml", labScenario)
	self := expect.Value(os.Executable())(t)
	unshare := expect.Value(exec.LookPath("unshare"))(t)
	expect.Must(t, os.Symlink(self, filepath.Join(dir, "evbench")))
	refused := func(args string) (int, string, string) {
		return capture(t, dir, unshare, "unshare", "-Ur", "sh", "-c",
			"echo 0 > /proc/sys/user/max_net_namespaces && exec ./evbench "+args)
	}
	code, _, said := refused("run lab.yaml -o out")
	expect.True(t, code == exitUsage && strings.Contains(said, "sysctl -w user.max_net_namespaces=") && strings.Contains(said, "--fabric emulate"),
		"run ended with %d:\n%s", code, said)
	if code, said, _ := refused("lab doctor"); code != exitFailed || !strings.Contains(said, "no space left on device") {
		t.Errorf("doctor ended with %d:\n%s", code, said)
	}
	onlyThese(t, dir, "evbench", "lab.yaml")
}

// A lab that is up can be looked around in, re-routes by itself, and goes down.
func TestLabUpExecDown(t *testing.T) {
	need.Namespaces(t)
	dir := t.TempDir()
	lab := func(want int, args ...string) string {
		t.Helper()
		code, out, said := output(t, dir, append([]string{"lab"}, args...)...)
		expect.MustTrue(t, code == want, "lab %v ended with %d, want %d:\n%s%s", args, code, want, out, said)
		return out + said
	}
	expect.Contains(t, lab(exitUsage, "exec", "leaf0", "true"), "no lab is up")
	expect.Contains(t, lab(exitDone, "up", "-t", "FT(2;2,2)", "--down", "leaf0-spine1"), "lab is up: FT(2;2,2), 4 servers")
	defer lab(exitUsage, "down")
	expect.Contains(t, lab(exitUsage, "up", "-t", "FT(2;2,2)"), "a lab is up already")
	expect.Contains(t, lab(exitDone, "exec", "leaf0", "cat", "/proc/net/dev"), "spine0:", "server1:")
	// A leaf without any link for a while gets its routes back.
	route := []string{"exec", "leaf0", "ip", "route", "get", "10.200.1.1"}
	lab(exitDone, route...)
	lab(exitDone, "exec", "leaf0", "sh", "-c", "ip link set spine0 down; sleep 0.2; ip link set spine0 up")
	for end := time.Now().Add(time.Minute); ; {
		code, _, said := output(t, dir, append([]string{"lab"}, route...)...)
		if code == exitDone {
			break
		}
		expect.MustTrue(t, !time.Now().After(end), "leaf0 has no route to leaf1: %s", said)
	}
	expect.Equal(t, lab(7, "exec", "server3", "sh", "-c", "exit 7"), "", "exit 7 said")
	expect.Contains(t, lab(exitUsage, "exec", "leaf7", "true"), `no node "leaf7"`)
	expect.Contains(t, lab(exitDone, "down"), "down: FT(2;2,2)")
	onlyThese(t, dir)
}

// A fault of our own has none of the exit codes that scripts know: Go's 2 would say
// that the input was wrong.
func TestCrashHasNoExitCode(t *testing.T) {
	self := expect.Value(os.Executable())(t)
	cmd := exec.Command(self, "version")
	cmd.Args[0], cmd.Dir = "crash", t.TempDir()
	said, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	expect.True(t, ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGABRT && strings.Contains(string(said), "a fault of its own"),
		"%v:\n%s", err, said)
}

// unreadPipe is the end to write to of a pipe that nobody reads.
func unreadPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	expect.Must(t, err)
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// When nobody reads its messages a run goes on, prints what came out and leaves
// nothing behind.
func TestNobodyReadsMessages(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "hosts.yaml", fmt.Sprintf(hostsScenario, "200ms"))
	self := expect.Value(os.Executable())(t)
	var out strings.Builder
	cmd := exec.Command(self, "run", "-v", "--rounds", "1", "hosts.yaml", "-o", "out")
	cmd.Args[0], cmd.Dir, cmd.Stdout, cmd.Stderr = "evbench", dir, &out, unreadPipe(t)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "XDG_RUNTIME_DIR="+dir, "GORACE=atexit_sleep_ms=0")
	_ = cmd.Run() // its exit code says more
	code := cmd.ProcessState.ExitCode()
	expect.False(t, code != exitDone && code != exitInvalid || !strings.Contains(out.String(), "results in out"),
		"%s:\n%s", cmd.ProcessState, out.String())
	onlyThese(t, dir, "hosts.yaml", "out")
}

// When nobody reads what it prints, a command ends as others do, and says nothing.
func TestNobodyReadsResults(t *testing.T) {
	self := expect.Value(os.Executable())(t)
	dir := t.TempDir()
	write(t, dir, "hosts.yaml", fmt.Sprintf(hostsScenario, "200ms"))
	for _, args := range []string{"plan -t FT(2;4,8) --quiet", "topo show -t FT(2;4,8)", "run --quiet --rounds 1 hosts.yaml -o out"} {
		var said strings.Builder
		cmd := exec.Command(self, strings.Fields(args)...)
		cmd.Args[0], cmd.Dir, cmd.Stdout, cmd.Stderr = "evbench", dir, unreadPipe(t), &said
		cmd.Env = append(os.Environ(), "TMPDIR="+dir, "XDG_RUNTIME_DIR="+dir, "GORACE=atexit_sleep_ms=0")
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitUnread || strings.Contains(said.String(), "broken pipe") {
			t.Errorf("%s: %s:\n%s", args, cmd.ProcessState, said.String())
		}
	}
	onlyThese(t, dir, "hosts.yaml", "out")
}

// awaitEnd returns when a process has ended that may be nobody's child here.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	expect.Must(t, err)
	defer unix.Close(fd)
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			expect.Must(t, err)
			return
		}
	}
}
