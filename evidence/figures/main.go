// Figures computes the figures of papers beside the numbers that their texts state, and the tables of the pages of
// evidence: make -C evidence reproduce, make -C evidence table.
package main

import (
	"context"
	_ "embed" // of the commands
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/cmd/shards"
	"evbench/evidence/papers"
	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/view/live"
)

//go:embed commands.txt
var described string

func main() { os.Exit(program()) }

// program is main without the exit, so that tests can register it as a command.
func program() int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the reader of stdout may have exited
	ctx, stop := proc.Notify(context.Background())
	defer stop()
	return run(ctx, os.Args, os.Stdout, os.Stderr)
}

// run is the program: 0 done, 1 failed, 2 wrong use, 130 interrupted, as evbench.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out, said := &show.Writer{To: stdout}, &show.Writer{To: stderr, Most: show.Most}
	defer said.Flush()
	app := newApp(out, said)
	app.Metadata[shards.Args] = args[min(1, len(args)):]
	args, err := cmdline.FlagsFirst(app, cmdline.HelpFirst(args))
	if err != nil {
		err = proc.Usage(err)
	} else {
		err = app.RunContext(ctx, args)
	}
	if err = errors.Join(err, out.Flush()); err == nil && ctx.Err() == nil {
		return 0
	}
	if err != nil {
		fmt.Fprintln(said, "figures:", show.Text(err.Error(), show.Most))
	}
	_, wrong := errors.AsType[*proc.UsageError](err)
	switch {
	case ctx.Err() != nil:
		return 130
	case wrong:
		return 2
	}
	return 1
}

func newApp(stdout, stderr io.Writer) *cli.App {
	all := cmdline.Description{
		Text: described,
		Do: map[string]cli.ActionFunc{
			"reproduce": shown(sweeps.Action(reproduceAction)), "merge": shown(shards.Merge),
			"table sizes": shown(sweeps.Action(tableOf(sizesTable))), "table tokens": shown(sweeps.Action(tableOf(tokensTable))), "table spraying": shown(sweeps.Action(sprayingAction)),
		},
		First: map[string]cmdline.Words{"reproduce": func() []string { return append([]string{"all", "list"}, papers.Names()...) }},
	}.Tasks()
	app := &cli.App{
		Name: "figures", Usage: "compute figures of papers and tables of the pages of evidence", Writer: stdout, ErrWriter: stderr,
		Action: cmdline.NoCommand, HideHelpCommand: true, HideVersion: true, ExitErrHandler: func(*cli.Context, error) {},
		CustomAppHelpTemplate: cmdline.HelpTemplate(all), Commands: cmdline.Commands(all), Metadata: map[string]any{},
	}
	app.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return cmdline.WrongFlag(err, app.Flags) }
	return app
}

var sweeps = shards.Program{Version: revision(), Terminal: func(w io.Writer) *live.Terminal { return &live.Terminal{To: w} }}

// revision is that of the checkout, for journals.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}

// shown is the action of a command that has half a second after a signal to show what it has.
func shown(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		return proc.Within(c.Context, 500*time.Millisecond, func() error { return action(c) })
	}
}

func printed(c *cli.Context, d answer.Document) error {
	if c.Bool("json") {
		return d.Write(c.App.Writer, "json")
	}
	return d.Write(c.App.Writer, "text")
}
