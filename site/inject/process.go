package inject

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"evbench/internal/proc"
)

type ended struct {
	code int    // exit code; -1: ended by a signal, or not started
	out  string // start of standard output
	said string // last line of standard error, or why it did not start
}

// drainAfter is how long to wait for the output of a program that has ended but left child
// processes with the same standard output.
const drainAfter = time.Second

// start runs a program to its end. It has a process group of its own: a Ctrl-C at the terminal is
// for this process, which then uses the program to bring links up. At the end of ctx the whole
// group is killed. With bound it also dies with this process.
func start(ctx context.Context, dir string, p Program, bound bool) ended {
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	if p.Args[0] == "evbench" {
		cmd.Path, cmd.Err = "/proc/self/exe", nil
		cmd.Args[0] = os.Args[0]
	}
	out, said := &beginning{}, &proc.Tail{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), p.Env...), out, said
	cmd.WaitDelay = drainAfter
	cmd.SysProcAttr = proc.Group(0)
	if bound {
		// It would die with the thread that starts it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd.SysProcAttr = proc.Group(syscall.SIGKILL)
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return ended{code: -1, said: err.Error()}
	}
	e := ended{code: cmd.ProcessState.ExitCode(), out: string(out.text), said: lastLine(said.String())}
	if _, exited := errors.AsType[*exec.ExitError](err); exited && e.said == "" && e.code < 0 {
		e.said = err.Error()
	}
	return e
}

type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), 64<<10-len(b.text))]...)
	return len(p), nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
