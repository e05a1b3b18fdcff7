// Evbench measures how fast a data-acquisition network builds events, and shows
// how to keep it fast when links die. See evbench --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/urfave/cli/v2"

	"evbench/fabric/host"
	"evbench/fabric/lab"
	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/internal/printable"
	"evbench/internal/proc"
	"evbench/internal/trust"
	"evbench/report"
)

func main() { os.Exit(runProgram()) }

// runProgram is main without the exit, so that tests can register it as a command.
func runProgram() int {
	// A fault of our own ends by a signal: the 2 that Go ends with says that the input
	// was wrong.
	debug.SetTraceback("crash")
	// Who reads what is printed may be gone. Caught, and not ignored, so that what is
	// started does not ignore it either.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if lab.Helper() {
		return exitDone
	}
	ctx, stop := proc.Notify(context.Background())
	defer stop()
	return run(withLeave(ctx), os.Args, os.Stdout, os.Stderr)
}

// The exit codes, a contract with scripts.
const (
	exitDone        = 0
	exitFailed      = 1   // the run failed, or verify found an offence
	exitUsage       = 2   // wrong use or input; nothing was done
	exitRegression  = 3   // worse than what it was compared with
	exitInvalid     = 4   // finished, but a case is invalid, or not resolved where that is required
	exitHungUp      = 129 // the terminal has gone
	exitInterrupted = 130
	exitUnread      = 141 // nobody reads standard output any more, as SIGPIPE has it
	exitTerminated  = 143
)

// An exitError ends the program with a code of its own. Without a cause it
// prints nothing: what there was to say has been said.
type exitError struct {
	code  int
	cause error
}

func (e *exitError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.cause.Error()
}

func (e *exitError) Unwrap() error { return e.cause }

// usage and usagef mark an error as wrong use or input.
var usage, usagef = proc.Usage, proc.Usagef

// wrongIn marks an error as one of the input, with the name of what it is in; nil stays nil.
func wrongIn(where string, err error) error {
	if err == nil {
		return nil
	}
	return usagef("%s: %w", where, err)
}

// run is the program: it returns the exit code, and it alone prints errors. Whatever
// commands print goes through writers that show control characters as escapes: texts of
// files and of other programs are in all of it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out, said := &printable.Writer{To: stdout}, &printable.Writer{To: stderr, Most: printable.Most}
	if textOptions(stdout).Colour {
		out.Pass = report.Colours()
	}
	app := newApp(out, said)
	if cmdline.Completes(args) && slices.Contains(args, "--") {
		return exitDone // cli would do what is written so far
	}
	args, err := cmdline.FlagsFirst(app, cmdline.HelpFirst(args))
	if err != nil {
		err = usage(err)
	} else {
		err = app.RunContext(ctx, args)
	}
	err = errors.Join(err, out.Flush())
	code := exitCode(context.Cause(ctx), err, said)
	said.Flush()
	return code
}

// exitCode turns what ended the program into its exit code, and prints it
// unless that has been done.
func exitCode(cause, err error, stderr io.Writer) int {
	exit, ok := errors.AsType[*exitError](err)
	if ok && exit.cause == nil {
		return exit.code
	}
	s, ended := errors.AsType[proc.Signal](cause)
	if !ended && unread(err) {
		return exitUnread
	}
	if err != nil {
		fmt.Fprintln(stderr, "evbench:", printable.Text(err.Error(), printable.Most))
	}
	if ended {
		switch s.Sig {
		case syscall.SIGHUP:
			return exitHungUp
		case syscall.SIGTERM:
			return exitTerminated
		}
		return exitInterrupted
	}
	switch {
	case err == nil:
		return exitDone
	case ok:
		return exit.code
	case wrongInput(err):
		return exitUsage
	}
	return exitFailed
}

// unread reports whether all that went wrong is that nobody reads standard output any
// more, as behind "evbench table … | head -1".
func unread(err error) bool {
	switch e := err.(type) {
	case nil:
		return false
	case *fs.PathError:
		return e.Path == os.Stdout.Name() && errors.Is(e, syscall.EPIPE)
	case interface{ Unwrap() []error }: // of which none is nil
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !unread(err) })
	}
	return unread(errors.Unwrap(err))
}

// wrongInput reports whether an error is about what the user has asked for, or about a file
// or a process that he has named and that is left alone, wherever it was found out.
func wrongInput(err error) bool {
	_, input := errors.AsType[*proc.UsageError](err)
	_, untrusted := errors.AsType[*trust.Error](err)
	_, clash := errors.AsType[*atomicfile.ClashError](err)
	_, memory := errors.AsType[*host.MemoryError](err)
	return input || untrusted || clash || memory
}

func newApp(stdout, stderr io.Writer) *cli.App {
	all := tasks()
	app := &cli.App{
		Name:  "evbench",
		Usage: "measure event building on a network, and keep it fast when links die",
		Description: "evbench builds events all-to-all over a fat tree, with and without dead links.\n" +
			"Start with: evbench run --example quickstart\n" +
			"evbench help COMMAND says what a command takes.",
		Writer:         stdout,
		ErrWriter:      stderr,
		Flags:          []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version and what is built in"}},
		HideVersion:    true,
		ExitErrHandler: func(*cli.Context, error) {}, // run decides
		Action: func(c *cli.Context) error {
			if c.Bool("version") && !c.Args().Present() {
				return versionInfo().writeText(c.App.Writer)
			}
			return cmdline.NoCommand(c)
		},
		HideHelpCommand:       true,
		EnableBashCompletion:  true,
		CustomAppHelpTemplate: cmdline.HelpTemplate(all),
		Commands:              cmdline.Commands(all),
	}
	app.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return cmdline.WrongFlag(err, app.Flags) }
	return app
}
