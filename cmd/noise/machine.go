package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"evbench/internal/proc"
	"evbench/results"
)

type machine struct {
	*options
	dir string
	rng *rand.Rand
}

func newMachine(o *options) (*machine, error) {
	dir, err := os.MkdirTemp("", "noise-")
	return &machine{options: o, dir: dir, rng: rand.New(rand.NewPCG(1, 0))}, err
}

// play runs the scenario once under a condition. Whatever happens, nothing is left of it.
func (m *machine) play(ctx context.Context, c Condition, number int) (r Run, err error) {
	dir, err := os.MkdirTemp(m.dir, "run-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o := Outcome{Condition: c, Number: number}
	out := filepath.Join(dir, "out")
	if err := m.perform(ctx, &o, dir, append(append([]string{"-o", out}, m.further...), m.scenario)); err != nil {
		return r, err
	}
	sum, err := readSummary(out)
	if err != nil {
		o.Said = err.Error()
	}
	return NewRun(o, sum), nil
}

// loops is how many busy loops run beside, where a condition has them.
const loops = 4

// perform runs evbench run with these arguments under the condition of the outcome, and notes how
// it went.
func (m *machine) perform(ctx context.Context, o *Outcome, dir string, args []string) error {
	for i := 0; o.Condition.Loops() && i < loops; i++ {
		g, err := start(proc.BusyLoop(ctx, dir))
		if err != nil {
			return err
		}
		defer g.end()
	}
	began := time.Now()
	g, err := start(proc.Command(ctx, dir, m.evbench, append([]string{"run", "--quiet"}, args...)...))
	if err != nil {
		return err
	}
	freezing, thaw := context.WithCancel(ctx)
	var beside sync.WaitGroup
	if o.Condition.Freezes() {
		beside.Go(func() {
			f := freezer{rng: m.rng, signal: g.signal}
			f.run(freezing)
			o.Stops, o.StoppedSec = f.stops, f.stopped.Seconds()
		})
	}
	g.wait()
	o.Seconds = time.Since(began).Seconds()
	thaw()
	beside.Wait()
	o.ExitCode = g.end()
	o.Said = lastLine(g.said.String())
	if o.ExitCode == proc.ExitUsage {
		return proc.Usagef("%s run: %s", filepath.Base(m.evbench), o.Said)
	}
	return nil
}

// readSummary reads what a run has written, nil where that is nothing.
func readSummary(dir string) (*results.Summary, error) {
	f, err := os.Open(filepath.Join(dir, "summary.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	sum, err := results.ReadSummary(f)
	if err != nil {
		return nil, fmt.Errorf("summary.json: %w", err)
	}
	return &sum, nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndex(s, "\n")+1:]
}

// A group is a program that was started as the leader of a process group of its own.
type group struct {
	cmd  *exec.Cmd
	said proc.Tail // the end of it, on standard error
}

// start starts a proc.Command, of which end has to be called.
func start(cmd *exec.Cmd) (*group, error) {
	g := &group{cmd: cmd}
	g.cmd.Stderr = &g.said
	return g, g.cmd.Start()
}

// signal sends a signal to all processes of the group. Not to be called after end, when the
// number may be that of another group.
func (g *group) signal(s syscall.Signal) error { return syscall.Kill(-g.cmd.Process.Pid, s) }

// wait waits until the leader has ended. Its number stays taken.
func (g *group) wait() {
	for errors.Is(unix.Waitid(unix.P_PID, g.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// end kills what is left of the group and returns how its leader ended: -1 by a signal.
func (g *group) end() int {
	g.signal(syscall.SIGKILL) // an error says that nothing is left
	g.cmd.Wait()              // how it ended is in ProcessState
	return g.cmd.ProcessState.ExitCode()
}

const (
	// pauseBelow is how long a freezer leaves the program alone at most, drawn anew each time.
	pauseBelow = 40 * time.Millisecond
	// frozen is for how long it stops the program: a third of the time in the mean.
	frozen = 10 * time.Millisecond
)

// A freezer stops a process group and lets it go on, at random moments.
type freezer struct {
	rng     *rand.Rand
	signal  func(syscall.Signal) error
	stops   int
	stopped time.Duration
}

// run does so until ctx ends. It never ends with the group stopped.
func (f *freezer) run(ctx context.Context) {
	for pass(ctx, time.Duration(f.rng.Int64N(int64(pauseBelow)))) {
		if f.signal(syscall.SIGSTOP) != nil {
			return // nothing is left of the group
		}
		began := time.Now()
		pass(ctx, frozen)
		f.signal(syscall.SIGCONT)
		f.stops++
		f.stopped += time.Since(began)
	}
}

// pass lets time pass; false if ctx ends before.
func pass(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
