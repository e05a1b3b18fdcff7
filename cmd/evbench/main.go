// Evbench measures how fast a data-acquisition network builds events, and shows how to keep it fast
// when links fail. See evbench --help.
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
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/cmd/shards"
	"evbench/fabric/lab"
	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/internal/trust"
	"evbench/site/host"
	"evbench/site/mpi"
)

func main() { mpi.Exit(runProgram()) }

// runProgram is main without the exit, so that tests can register it as a command.
func runProgram() int {
	// A bug in this program ends by a signal: Go's exit code 2 would mean wrong input.
	debug.SetTraceback("crash")
	// The reader of stdout may have exited. The signal is caught, not ignored, so that child
	// processes do not ignore it either.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if lab.Helper() {
		return exitDone
	}
	ctx, stop := proc.Notify(context.Background())
	defer stop()
	if strings.Contains(os.Args[0], "/") {
		answer.Program = os.Args[0]
	}
	return run(withLeave(ctx), os.Args, os.Stdout, os.Stderr)
}

// The exit codes, a contract with scripts.
const (
	exitDone        = 0
	exitFailed      = 1   // the run failed, or verify found an offence
	exitUsage       = 2   // wrong use or input; nothing was changed
	exitRegression  = 3   // worse than the reference of the comparison
	exitInvalid     = 4   // finished, but a case is invalid, or unresolved if resolution is required
	exitHungUp      = 129 // the terminal was closed
	exitInterrupted = 130
	exitUnread      = 141 // the reader of stdout has exited, like SIGPIPE
	exitTerminated  = 143
)

// An exitError ends the program with a specific code. Without a cause it prints nothing: the output
// is complete.
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

// gate is the exit code of a limit that the user set, by where figures lie beside it: worse is exitRegression;
// what the data do not show has not passed, and is exitInvalid. Every gate ends with it.
func gate(places ...answer.Place) error {
	switch {
	case slices.Contains(places, answer.Below):
		return &exitError{code: exitRegression}
	case slices.Contains(places, answer.Across):
		return &exitError{code: exitInvalid}
	}
	return nil
}

// usage and usagef mark an error as wrong use or input.
var usage, usagef = proc.Usage, proc.Usagef

// wrongIn marks an error as wrong input, with the name of its source; nil stays nil.
func wrongIn(where string, err error) error {
	if err == nil {
		return nil
	}
	return usagef("%s: %w", where, err)
}

// run is the program: it returns the exit code, and only run prints errors. All output goes through
// writers that show control characters as escapes, because it contains texts of files and of other
// programs.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out, said := &show.Writer{To: stdout}, &show.Writer{To: stderr, Most: show.Most}
	app := newApp(out, said)
	if cmdline.Completes(args) && slices.Contains(args, "--") {
		return exitDone // cli would run the incomplete command
	}
	if len(args) == 3 && args[1] == "help" && args[2] == "all" {
		app.CustomAppHelpTemplate, args = cmdline.HelpTemplate(tasks()), args[:1]
	}
	app.Metadata[shards.Args] = args[min(1, len(args)):]
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

// exitCode converts the end of the program into its exit code, and prints it unless that has been
// done.
func exitCode(cause, err error, stderr io.Writer) int {
	exit, ok := errors.AsType[*exitError](err)
	if ok && exit.cause == nil {
		return exit.code
	}
	s, ended := errors.AsType[proc.Signal](errors.Join(cause, err)) // in err: a launcher has told a rank
	if !ended && unread(err) {
		return exitUnread
	}
	if err != nil {
		fmt.Fprintln(stderr, "evbench:", show.Text(err.Error(), show.Most))
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

// unread reports whether the only error is that the reader of stdout has exited, as in "evbench
// table … | head -1".
func unread(err error) bool {
	switch e := err.(type) {
	case nil:
		return false
	case *fs.PathError:
		return e.Path == os.Stdout.Name() && errors.Is(e, syscall.EPIPE)
	case interface{ Unwrap() []error }: // none of them is nil
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !unread(err) })
	}
	return unread(errors.Unwrap(err))
}

// wrongInput reports whether an error is about the user's request, or about a file or process named
// by the user and left unchanged, wherever it was detected.
func wrongInput(err error) bool {
	_, input := errors.AsType[*proc.UsageError](err)
	_, untrusted := errors.AsType[*trust.Error](err)
	_, clash := errors.AsType[*atomicfile.ClashError](err)
	_, memory := errors.AsType[*host.MemoryError](err)
	return input || untrusted || clash || memory
}

// beginWith are the commands that help begins with.
var beginWith = []string{"new", "run", "report", "compare", "judge", "plan", "whatif", "lab"}

func newApp(stdout, stderr io.Writer) *cli.App {
	all := tasks()
	app := &cli.App{
		Name:  "evbench",
		Usage: "measure event building on a network, and keep it fast when links die",
		Description: "evbench builds events all-to-all over a fat tree, with and without dead links.\n" +
			"Start with: evbench run quickstart\n" +
			"evbench help COMMAND explains a command.",
		Writer:         stdout,
		ErrWriter:      stderr,
		Flags:          []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version and what is built in"}},
		HideVersion:    true,
		ExitErrHandler: func(*cli.Context, error) {}, // run decides
		Action: func(c *cli.Context) error {
			if c.Bool("version") && !c.Args().Present() {
				return ours.Build().WriteText(c.App.Writer)
			}
			if name := c.Args().First(); name == "reproduce" || name == "table" {
				return usagef("%s is in a module beside evbench: in a checkout, make -C evidence %s computes the same (evidence/Makefile has its options)", name, name)
			}
			return cmdline.NoCommand(c)
		},
		HideHelpCommand:       true,
		EnableBashCompletion:  true,
		CustomAppHelpTemplate: cmdline.HelpTemplate(all, beginWith...),
		Commands:              cmdline.Commands(all),
		Metadata:              map[string]any{},
	}
	app.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return cmdline.WrongFlag(err, app.Flags) }
	return app
}

// toFinish is how long a computing command may continue after a signal, to abandon the file it is
// writing or to print its results so far.
const toFinish = 500 * time.Millisecond

// computing is the action of a command that reads, computes and prints, and leaves nothing to
// restore: it ends at once, at any point. Plans and tables are made by packages without contexts,
// in loops as deep as the colouring of a graph; one check here covers them all.
func computing(action cli.ActionFunc) cli.ActionFunc {
	return interruptible(func(c *cli.Context) error {
		if c.Context.Err() != nil {
			return context.Cause(c.Context)
		}
		return action(c)
	})
}

// interruptible is computing for a command with results to show when interrupted, if that takes no
// longer than toFinish.
func interruptible(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Context.Value(leaving{}) == nil {
			return action(c)
		}
		return proc.Within(c.Context, toFinish, func() error { return action(c) })
	}
}

type leaving struct{}

// withLeave marks the context of a program that ends with its command, so that work may be
// abandoned: it ends with the program.
func withLeave(ctx context.Context) context.Context {
	return context.WithValue(ctx, leaving{}, true)
}
