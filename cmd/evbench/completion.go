package main

import (
	_ "embed" // of the scripts
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/routing"
	"evbench/scenario"
	"evbench/scenarios"
	"evbench/scheduler"
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
		Usage:     "print the script that has a shell complete commands, flags and names",
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
				if _, err := fmt.Fprintf(c.App.Writer, "%s\t%s\n", x.word, x.says); err != nil {
					return err
				}
			}
			return nil
		},
	}, "  evbench complete run --dr")
}

// A candidate is a word that may stand where one is being written.
type candidate struct{ word, says string }

// completions returns how the last word can go on; nothing where a file may stand.
func completions(app *cli.App, words []string) []candidate {
	if len(words) == 0 {
		return nil
	}
	before, now := words[:len(words)-1], words[len(words)-1]
	helps := len(before) > 0 && before[0] == "help"
	if helps {
		before = before[1:]
	}
	at := &cli.Command{Subcommands: app.Commands, Flags: append(slices.Clone(app.Flags), cli.HelpFlag)}
	arguments, flag := 0, ""
	for _, w := range before {
		next := subcommand(at, w)
		switch {
		case flag != "":
			flag = ""
		case w == "--" || at.SkipFlagParsing:
			return nil
		case strings.HasPrefix(w, "-"):
			if name := strings.TrimLeft(w, "-"); takesValue(at, name) {
				flag = name
			}
		case next != nil && arguments == 0:
			at = next
		default:
			arguments++
		}
	}
	var all []candidate
	switch {
	case flag != "":
		all = valuesOf(at, flag)
	case strings.HasPrefix(now, "-"):
		all = flagsOf(at)
	case arguments > 0:
	case len(at.Subcommands) > 0:
		all = commandsBelow(at)
		if at.Name == "" && !helps {
			all = append(all, candidate{"help", "say what a command takes"})
		}
	case helps:
	default:
		all = argumentsOf(at)
	}
	return slices.DeleteFunc(all, func(x candidate) bool { return !strings.HasPrefix(x.word, now) })
}

func commandsBelow(c *cli.Command) (out []candidate) {
	for _, s := range c.Subcommands {
		if !s.Hidden {
			out = append(out, candidate{s.Name, s.Usage})
		}
	}
	return out
}

// flagValue is what a flag's usage calls its value.
var flagValue = regexp.MustCompile("`([^`]*)`")

func flagsOf(c *cli.Command) (out []candidate) {
	for _, f := range c.Flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		says := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			says = flagValue.ReplaceAllString(d.GetUsage(), "$1")
		}
		out = append(out, candidate{"--" + f.Names()[0], says})
	}
	if c.Name != "" {
		out = append(out, candidate{"--help", "show help"})
	}
	return out
}

// argumentsOf returns the arguments of a command that are names.
func argumentsOf(c *cli.Command) (out []candidate) {
	switch c.Name {
	case "examples":
		return exampleNames()
	case "completion":
		return plain(shellNames())
	}
	return nil
}

// valuesOf returns the values of a flag that are names.
func valuesOf(c *cli.Command, flag string) []candidate {
	name := flag
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), flag) {
			name = f.Names()[0]
		}
	}
	switch name {
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

func exampleNames() (out []candidate) {
	for _, name := range scenarios.Examples() {
		text, _ := scenarios.Example(name)
		out = append(out, candidate{name, scenarios.About(text)})
	}
	return out
}

func plain(names []string) (out []candidate) {
	for _, n := range names {
		out = append(out, candidate{word: n})
	}
	return out
}
