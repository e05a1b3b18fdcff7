// Package programs answers: how do the programs beside evbench, such as the gate, start and end? They read flags, name what is
// wrong, and end with evbench's exit codes; what they start ends with them.
package programs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"evbench/internal/proc"
)

// The exit codes, the same as evbench's.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// Main runs a program with the arguments of this process, whose context a signal ends, and exits
// with its result.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	os.Exit(Run(run))
}

// Run is Main without the exit: it returns the exit code.
func Run(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// Code prints why a program of that name ends, and returns the exit code. Without an error the code
// depends on passed.
func Code(ctx context.Context, name string, passed bool, err error, stderr io.Writer) int {
	switch {
	case errors.Is(err, flag.ErrHelp):
		return ExitDone
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "%s: interrupted\n", name)
		return ExitInterrupted
	case err == nil && passed:
		return ExitDone
	case err == nil:
		return ExitFailed
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	if _, usage := errors.AsType[*proc.UsageError](err); usage {
		return ExitUsage
	}
	return ExitFailed
}

// Patience is how long a program may take after the signal to end before it is killed.
const Patience = time.Minute

// Command is a program that leads a process group and puts temporary files below dir. It gets a
// signal to end when ctx ends, and is killed when this program ends.
func Command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = proc.Group(syscall.SIGKILL)
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT) // a stopped program reacts only to this
	}
	cmd.WaitDelay = Patience
	return cmd
}
