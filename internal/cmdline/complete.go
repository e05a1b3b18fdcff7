package cmdline

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Completes reports whether a shell asks for completions.
func Completes(args []string) bool {
	return args[len(args)-1] == "--"+cli.BashCompletionFlag.Names()[0]
}

// Words returns the valid words for a position, such as scheduler.Names.
type Words func() []string

// complete returns the completions of a command: its commands and flags from cli, its first
// argument, nil if that is no name, and the values of flags by their first names. For other values
// or arguments it prints nothing, so that a shell completes files.
func complete(c *cli.Command, argument Words, values map[string]Words) cli.BashCompleteFunc {
	return func(ctx *cli.Context) {
		names, suggest := argument, cli.DefaultCompleteWithFlags(&cli.Command{Subcommands: c.Subcommands, Flags: c.VisibleFlags()})
		switch last := os.Args[len(os.Args)-2]; { // as cli does
		case strings.HasPrefix(last, "-"):
			i := slices.IndexFunc(c.Flags, func(f cli.Flag) bool { return valueFollows(f, last) })
			if i < 0 {
				suggest(ctx)
				return
			}
			names = values[c.Flags[i].Names()[0]]
		case len(c.Subcommands) > 0:
			suggest(ctx)
			return
		case ctx.Args().Present():
			return
		}
		if names != nil {
			fmt.Fprintln(ctx.App.Writer, strings.Join(names(), "\n"))
		}
	}
}

// valueFollows reports whether a word is a flag with a value after it.
func valueFollows(f cli.Flag, word string) bool {
	_, isBool := f.(*cli.BoolFlag)
	return !isBool && slices.ContainsFunc(f.Names(), func(n string) bool { return strings.Repeat("-", min(len(n), 2))+n == word })
}
