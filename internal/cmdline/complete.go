package cmdline

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Completes reports whether a shell asks how the words can go on.
func Completes(args []string) bool {
	return args[len(args)-1] == "--"+cli.BashCompletionFlag.Names()[0]
}

// Words returns the words that may stand somewhere, such as scheduler.Names.
type Words func() []string

// complete returns what completes a command: its commands and flags as cli does, its first
// argument, nil if that is no name, and the values of flags by their first names. Where
// another value or argument stands it prints nothing, so that a shell completes files.
func complete(c *cli.Command, argument Words, values map[string]Words) cli.BashCompleteFunc {
	return func(ctx *cli.Context) {
		names, suggest := argument, cli.DefaultCompleteWithFlags(&cli.Command{Subcommands: c.Subcommands, Flags: c.VisibleFlags()})
		switch last := os.Args[len(os.Args)-2]; { // as cli has it
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

// valueFollows reports whether a word is a flag that takes the next word.
func valueFollows(f cli.Flag, word string) bool {
	_, isBool := f.(*cli.BoolFlag)
	return !isBool && slices.ContainsFunc(f.Names(), func(n string) bool { return strings.Repeat("-", min(len(n), 2))+n == word })
}
