package cmdline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// FlagsFirst moves the flags of a command before its arguments, so that they
// may be written in any order; after "--" nothing is moved.
func FlagsFirst(app *cli.App, args []string) []string {
	if len(args) < 2 {
		return args
	}
	cmd := app.Command(args[1])
	head := args[:2:2]
	for cmd != nil && len(head) < len(args) && Subcommand(cmd, args[len(head)]) != nil {
		cmd = Subcommand(cmd, args[len(head)])
		head = args[: len(head)+1 : len(head)+1]
	}
	if cmd == nil || cmd.SkipFlagParsing {
		return args
	}
	var flags, rest []string
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
		if !strings.Contains(a, "=") && takesValue(cmd, strings.TrimLeft(a, "-")) && i+1 < len(args) {
			i++
			flags = append(flags, args[i])
		}
	}
	return slices.Concat(head, flags, rest)
}

// Subcommand returns the command of a name below another, nil if there is none.
func Subcommand(c *cli.Command, name string) *cli.Command {
	for _, s := range c.Subcommands {
		if s.HasName(name) {
			return s
		}
	}
	return nil
}

func takesValue(c *cli.Command, name string) bool {
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			_, isBool := f.(*cli.BoolFlag)
			return !isBool
		}
	}
	return false
}
