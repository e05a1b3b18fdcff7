// Package proc ends the programs of this project and starts others. It has wrong use and exit
// codes, signals that cancel a context, and the groups and output of started programs.
package proc

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
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

// Parse reads the flags of a program. Invalid flags are wrong use; flag.ErrHelp, which Code
// handles, is not.
func Parse(f *flag.FlagSet, args []string) error {
	err := f.Parse(args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	return Usage(err)
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
	if _, usage := errors.AsType[*UsageError](err); usage {
		return ExitUsage
	}
	return ExitFailed
}

// A UsageError is wrong use or input, or something missing, found before any action.
type UsageError struct{ cause error }

func (e *UsageError) Error() string { return e.cause.Error() }

func (e *UsageError) Unwrap() error { return e.cause }

// Usage marks an error as wrong use; nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &UsageError{err}
}

func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Evbench returns the path of the binary, which must exist.
func Evbench(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err == nil {
		_, err = os.Stat(name)
	}
	if err != nil {
		return "", Usagef("--evbench: %w; make build makes it", err)
	}
	return name, nil
}

// Group returns the attributes of a program in a process group of its own: a Ctrl-C at the terminal
// is for this program alone. It gets the signal atEnd when the thread that started it ends, at the
// latest with this program; 0 means none.
func Group(atEnd syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: atEnd}
}

// BusyLoop keeps a processor busy until its end.
func BusyLoop(ctx context.Context, dir string) *exec.Cmd {
	return Command(ctx, dir, "/bin/sh", "-c", "while :; do :; done")
}

// Patience is how long a program may take after the signal to end before it is killed.
const Patience = time.Minute

// Command is a program that leads a process group and puts temporary files below dir. It gets a
// signal to end when ctx ends, and is killed when this program ends.
func Command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = Group(syscall.SIGKILL)
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT) // a stopped program reacts only to this
	}
	cmd.WaitDelay = Patience
	return cmd
}
