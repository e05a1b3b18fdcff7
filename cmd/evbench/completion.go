package main

import (
	_ "embed" // of the scripts
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
	"evbench/report/figure"
	"evbench/routing"
	"evbench/scenario"
	"evbench/scenarios"
	"evbench/scheduler"
	"evbench/study/papers"
)

// Scripts for shells. Each asks "evbench complete WORD…", so none knows the commands.
var (
	//go:embed completion/evbench.bash
	bashScript string
	//go:embed completion/evbench.zsh
	zshScript string
	//go:embed completion/evbench.fish
	fishScript string
)

var shells = map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}

func shellNames() []string { return []string{"bash", "zsh", "fish"} }

func completionCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "completion",
		Usage:     "print the script by which a shell completes commands, flags and names",
		ArgsUsage: "bash|zsh|fish",
		Action:    completionAction,
	}, "  eval \"$(evbench completion bash)\"\n  evbench completion zsh > ~/.zfunc/_evbench\n  evbench completion fish > ~/.config/fish/completions/evbench.fish")
}

func completionAction(c *cli.Context) error {
	if err := needArgs(c, 1, 1, "SHELL"); err != nil {
		return err
	}
	script, ok := shells[c.Args().First()]
	if !ok {
		return usagef("completion: no shell %q; there are %s", c.Args().First(), strings.Join(shellNames(), ", "))
	}
	_, err := io.WriteString(c.App.Writer, script)
	return err
}

// completeCommand is what the scripts call. The last word is the one to complete, empty
// where none has begun; a line is a candidate, a tab, and what it is.
func completeCommand() *cli.Command {
	return computing(&cli.Command{
		Name:            "complete",
		Usage:           "print how the last of the words after evbench can go on",
		ArgsUsage:       "WORD…",
		Hidden:          true,
		SkipFlagParsing: true,
		Action: func(c *cli.Context) error {
			for _, x := range completions(c.App, c.Args().Slice()) {
				if _, err := fmt.Fprintf(c.App.Writer, "%s\t%s\n", x.Word, x.Says); err != nil {
					return err
				}
			}
			return nil
		},
	}, "  evbench complete run --dr")
}

// completions returns how the last word can go on.
func completions(app *cli.App, words []string) []cmdline.Candidate {
	return cmdline.Complete(app, cmdline.Names{Arguments: argumentsOf, Values: valuesOf}, words)
}

// argumentsOf returns the arguments of a command that are names.
func argumentsOf(c *cli.Command) (out []cmdline.Candidate) {
	switch c.Name {
	case "examples":
		return exampleNames()
	case "completion":
		return plain(shellNames())
	case "plot":
		return plain(append([]string{"list"}, figure.Names()...))
	case "reproduce":
		return plain(append([]string{"all", "list"}, papers.Names()...))
	}
	return nil
}

// valuesOf returns the values of a flag that are names.
func valuesOf(flag string) []cmdline.Candidate {
	switch flag {
	case "example":
		return exampleNames()
	case "schedule":
		return plain(scheduler.Names())
	case "routing":
		return plain(scenario.Routings())
	case "engine":
		return plain(routing.Names())
	case "fabric":
		return plain(scenario.Kinds())
	}
	return nil
}

func exampleNames() (out []cmdline.Candidate) {
	for _, name := range scenarios.Examples() {
		text, _ := scenarios.Example(name)
		out = append(out, cmdline.Candidate{Word: name, Says: scenarios.About(text)})
	}
	return out
}

func plain(names []string) (out []cmdline.Candidate) {
	for _, n := range names {
		out = append(out, cmdline.Candidate{Word: n})
	}
	return out
}
