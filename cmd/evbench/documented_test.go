package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
	"evbench/internal/expect"
	"evbench/results/hdf5"
	"evbench/scenario"
	"evbench/study/papers"
)

// documentedLog names the variable that makes the program what a document calls, and
// holds the file that its calls are written to.
const documentedLog = "EVBENCH_TEST_DOCUMENTED"

// documented is the program as documents call it. A command that is done in a moment is
// done, and a run plans its cases. Of others the arguments are parsed by the command's
// own parser, and the files that they name have to be there.
func documented(args []string, log string) int {
	app := newApp(os.Stdout, os.Stderr)
	how := "ran"
	switch {
	case len(args) > 1 && args[1] == "run":
		args = append(args, "--dry-run")
	case !isShort(args[1:]):
		how = "parsed"
		parseOnly(app.Commands)
	}
	ctx := context.Background()
	args, err := cmdline.FlagsFirst(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	code := exitCode(nil, err, os.Stderr)
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s %d %q\n", how, code, args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return code
}

// lengthy begin commands that measure or need what only a run has, wait for somebody,
// change this machine, or count for a second or longer.
var lengthy = []string{
	"accuracy", "controller", "worker", "lab", "mpi wrap", "failures restore", "routes follow", "routes jobs --follow", "reproduce all", "reproduce fig", "reproduce dmodc", "reproduce qft", "table spraying", "table tokens -t FT(2;8,8)",
	"why", "trace", "sim --log", "sim scenarios/lhcb", "sim --model phase scenarios/lhcb", "sim --model credit", "sim --duration 20s scenarios/sizes", "whatif -t FT(2;8,8) --k 2", "whatif -t FT(2;20,18)",
}

// isShort reports whether a command is done in a moment, and writes below the working
// directory only.
func isShort(args []string) bool {
	line := strings.Join(args, " ")
	switch {
	case slices.ContainsFunc(lengthy, func(s string) bool { return strings.HasPrefix(line, s) }):
		return false
	case slices.ContainsFunc(args, filepath.IsAbs):
		return false
	}
	return hdf5.Built || args[0] != "results"
}

// parseOnly has commands do no more than to look at their arguments.
func parseOnly(commands []*cli.Command) {
	for _, c := range commands {
		if parseOnly(c.Subcommands); len(c.Subcommands) == 0 {
			c.Action = lookAtArguments
		}
	}
}

func lookAtArguments(c *cli.Context) error {
	if c.Command.Name == "reproduce" {
		if _, err := papers.Choose(c.Args().Slice()); err != nil {
			return usage(err)
		}
	}
	files := c.StringSlice("log")
	for _, name := range c.Args().Slice() {
		if filepath.Ext(name) == ".yaml" {
			if _, err := scenario.ReadFile(name); err != nil {
				return usage(err)
			}
		} else if strings.HasPrefix(name, resultsRoot+"/") {
			files = append(files, name)
		}
	}
	for _, name := range files {
		if _, err := os.Stat(name); err != nil {
			return usage(err)
		}
	}
	return nil
}

// What is parsed only is still refused when it is wrong.
func TestDocumented(t *testing.T) {
	scenarios, err := filepath.Abs("../../scenarios")
	expect.Must(t, err)
	t.Chdir(filepath.Dir(scenarios))
	for _, tt := range []struct {
		args string
		code int
		how  string
	}{
		{"accuracy scenarios/accuracy.yaml", exitDone, "parsed"},
		{"accuracy scenarios/absent.yaml", exitUsage, "parsed"},
		{"accuracy runs/absent", exitUsage, "parsed"},
		{"accuracy --magic scenarios/accuracy.yaml", exitUsage, "parsed"},
		{"lab up -t FT(2;4,4) --down", exitUsage, "parsed"},
		{"reproduce fig99", exitUsage, "parsed"},
		{"sim --log absent.log", exitUsage, "parsed"},
		{"run scenarios/absent.yaml", exitUsage, "ran"},
		{"verify absent.txt", exitUsage, "ran"},
		{"plan -t FT(2;2,2) -o /absent/plan.txt", exitDone, "parsed"},
	} {
		log := filepath.Join(t.TempDir(), "log")
		if code := documented(append([]string{"evbench"}, strings.Fields(tt.args)...), log); code != tt.code {
			t.Errorf("%s: ended with %d, not %d", tt.args, code, tt.code)
		}
		if b, err := os.ReadFile(log); err != nil || !strings.HasPrefix(string(b), fmt.Sprintf("%s %d ", tt.how, tt.code)) {
			t.Errorf("%s: logged %s, %v", tt.args, b, err)
		}
	}
}
