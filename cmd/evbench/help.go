package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
	"evbench/internal/show"
)

func tasks() []cmdline.Task {
	return []cmdline.Task{
		{Name: "run scenarios", Commands: []*cli.Command{
			runCommand(), simCommand(), accuracyCommand(), validateCommand(), examplesCommand(), schemaCommand(),
		}},
		{Name: "look at results", Commands: []*cli.Command{reportCommand(), plotCommand(), compareCommand(), judgeCommand(), whyCommand(), traceCommand(), resultsCommand()}},
		{Name: "plan", Commands: []*cli.Command{planCommand(), verifyCommand(), diffCommand(), whatifCommand(), tableCommand()}},
		{Name: "networks, their routes and failures", Commands: []*cli.Command{topoCommand(), routesCommand(), failuresCommand()}},
		{Name: "labs and clusters", Commands: []*cli.Command{labCommand(), mpiCommand(), hostCommand(), controllerCommand(), workerCommand()}},
		{Name: "evbench itself", Commands: []*cli.Command{reproduceCommand(), completionCommand(), manCommand(), versionCommand()}},
	}
}

func init() { cli.HelpPrinter = cmdline.PrintHelp }

// helpFirst makes "help COMMAND" of it what it means, "COMMAND --help".
func helpFirst(args []string) []string {
	if len(args) < 2 || args[1] != "help" {
		return args
	}
	if cmdline.Completes(args) {
		return slices.Concat(args[:1], args[2:])
	}
	words := slices.DeleteFunc(slices.Clone(args[2:]), func(a string) bool { return a == "help" || a == "--help" || a == "-h" })
	return slices.Concat(args[:1], words, []string{"--help"})
}

// noCommand is what the program does without a command, and with one that there is not.
func noCommand(c *cli.Context) error {
	switch {
	case c.Args().Present():
		name := c.Args().First()
		return usagef("no command %q; %sevbench --help lists them", name, didYouMean(name, namesOf(c.App.Commands)))
	case c.Bool("version"):
		return versionInfo().writeText(c.App.Writer)
	}
	return cli.ShowAppHelp(c)
}

// noSubcommand is noCommand for a command that has others below it.
func noSubcommand(c *cli.Context) error {
	if !c.Args().Present() {
		return cli.ShowSubcommandHelp(c)
	}
	name, names := c.Args().First(), namesOf(c.Command.Subcommands)
	there := "there are"
	if len(names) == 1 {
		there = "there is"
	}
	return usagef("%s has no command %q; %s%s %s", c.Command.Name, name, didYouMean(name, names), there, strings.Join(names, ", "))
}

func namesOf(commands []*cli.Command) (names []string) {
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

var (
	undefined = regexp.MustCompile(`^flag provided but not defined: --?(.+)$`)
	oneDash   = regexp.MustCompile(`(: |for |flag )-([a-z][a-z])`) // as package flag names flags
)

// wrongFlag returns wrong use of one of the flags; of one that there is not it says which
// may be meant.
func wrongFlag(err error, flags []cli.Flag) error {
	err = errors.New(oneDash.ReplaceAllString(err.Error(), "$1--$2"))
	m := undefined.FindStringSubmatch(err.Error())
	if m == nil {
		return usage(err)
	}
	var names []string
	for _, f := range flags {
		names = append(names, slices.DeleteFunc(f.Names(), func(name string) bool { return len(name) == 1 })...)
	}
	if near := show.Nearest(strings.TrimLeft(m[1], "-"), names); near != "" {
		return usagef("%w; did you mean --%s?", err, near)
	}
	return usage(err)
}
