package ibtest

import (
	"context"
	"io"
	"os/exec"
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
// such as dump_fts or ibtracert.
func (l *Live) Program(ctx context.Context, name string, args ...string) *exec.Cmd {
	return l.run.command(ctx, name, args...)
}
