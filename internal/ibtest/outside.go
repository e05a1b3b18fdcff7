package ibtest

import (
	"context"
	"io"
	"os/exec"
	"time"

	"evbench/topology/network"
)

// PID returns the process of OpenSM, for what signals it from outside.
func (l *Live) PID() int { return l.sm.cmd.Process.Pid }

// CopyLog has every further line of OpenSM's log written to w too.
func (l *Live) CopyLog(w io.Writer) {
	l.sm.mu.Lock()
	defer l.sm.mu.Unlock()
	l.sm.copy = w
}

// Forget passes over what OpenSM has said up to now, after others have had it
// route anew.
func (l *Live) Forget() {
	l.sm.mu.Lock()
	defer l.sm.mu.Unlock()
	l.sm.unread = nil
}

// Program returns a program of infiniband-diags that sees the simulated network,
// such as dump_fts or ibtracert. It has patience: on a busy machine the simulated switches
// take long to answer.
func (l *Live) Program(ctx context.Context, name string, args ...string) *exec.Cmd {
	return l.run.command(ctx, name, append([]string{"-t", "20000"}, args...)...)
}

// Pull pulls the cable at a port, and does not wait for OpenSM.
func (l *Live) Pull(e network.End) error { return l.enter("Unlink", e) }

// Plug plugs it in again, into the same port of the same switch.
func (l *Live) Plug(e network.End) error { return l.enter("ReLink", e) }

func (l *Live) enter(what string, e network.End) error {
	return l.run.sim.enter("%s %q[%d]\n", what, l.net.Info(e.Node).Name, e.Port)
}

// Stamp reads the time at which OpenSM has written a line, in the year 0; the zero time
// if there is none.
func Stamp(line string) time.Time { return stamp(line) }

// Stamped returns a moment as OpenSM would write it, to compare with Stamp.
func Stamped(t time.Time) time.Time {
	t = t.Local()
	return time.Date(0, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}
