package cmdline

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// FlagsFirst moves the flags of a command before its arguments, so that users may write them in any
// order; after "--" nothing is moved. Giving a flag of one value twice is an error: only the last
// would count.
func FlagsFirst(app *cli.App, args []string) ([]string, error) {
	if len(args) < 2 || Completes(args) {
		return args, nil
	}
	cmd := app.Command(args[1])
	head := args[:2:2]
	for cmd != nil && len(head) < len(args) && cmd.Command(args[len(head)]) != nil {
		cmd = cmd.Command(args[len(head)])
		head = args[: len(head)+1 : len(head)+1]
	}
	if cmd == nil || cmd.SkipFlagParsing {
		return args, nil
	}
	var flags, rest []string
	given := map[cli.Flag]bool{}
	for i := len(head); i < len(args); i++ {
		a := args[i]
		if a == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			rest = append(rest, a)
			continue
		}
		flags = append(flags, a)
		name, _, joined := strings.Cut(strings.TrimLeft(a, "-"), "=")
		f := flagOf(cmd, name)
		if f == nil {
			continue
		}
		if given[f] && !takesMany(f) {
			return args, fmt.Errorf("--%s is given twice; it takes one value, or a list where its help says so", f.Names()[0])
		}
		given[f] = true
		if !joined && takesValue(cmd, name) && i+1 < len(args) {
			i++
			flags = append(flags, args[i])
		}
	}
	return slices.Concat(head, flags, rest), nil
}

func flagOf(c *cli.Command, name string) cli.Flag {
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// takesMany reports whether a flag may be given more than once: each adds to the earlier ones, or
// repeats them.
func takesMany(f cli.Flag) bool {
	many, ok := f.(cli.DocGenerationSliceFlag)
	_, isBool := f.(*cli.BoolFlag)
	return isBool || ok && many.IsSliceFlag()
}

// takesValue reports whether the word after a flag is its value.
func takesValue(c *cli.Command, name string) bool {
	f := flagOf(c, name)
	_, isBool := f.(*cli.BoolFlag)
	return f != nil && !isBool
}

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
