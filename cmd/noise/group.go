package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"evbench/internal/proc"
)

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
