package cmdline

import (
	"fmt"
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
