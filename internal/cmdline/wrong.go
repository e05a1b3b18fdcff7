package cmdline

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/proc"
	"evbench/internal/show"
)

// HelpFirst turns "help COMMAND" into "COMMAND --help".
func HelpFirst(args []string) []string {
	if len(args) < 2 || args[1] != "help" {
		return args
	}
	if Completes(args) {
		return slices.Concat(args[:1], args[2:])
	}
	words := slices.DeleteFunc(slices.Clone(args[2:]), func(a string) bool { return a == "help" || a == "--help" || a == "-h" })
	return slices.Concat(args[:1], words, []string{"--help"})
}

// NoCommand is the action of a program without a command, or with an unknown one.
func NoCommand(c *cli.Context) error {
	if !c.Args().Present() {
		return cli.ShowAppHelp(c)
	}
	name := c.Args().First()
	return proc.Usagef("no command %q; %s%s help all lists them", name, didYouMean(name, namesOf(c.App.Commands)), c.App.Name)
}

// noSubcommand is NoCommand for a command with subcommands.
func noSubcommand(c *cli.Context) error {
	if !c.Args().Present() {
		return cli.ShowSubcommandHelp(c)
	}
	name, names := c.Args().First(), namesOf(c.Command.Subcommands)
	there := "there are"
	if len(names) == 1 {
		there = "there is"
	}
	return proc.Usagef("%s has no command %q; %s%s %s", c.Command.Name, name, didYouMean(name, names), there, strings.Join(names, ", "))
}

func namesOf(commands []*cli.Command) (names []string) {
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// didYouMean suggests a name near enough to the given one, as a part of an error.
func didYouMean(name string, names []string) string {
	if near := show.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %s? ", near)
	}
	return ""
}

var (
	undefined = regexp.MustCompile(`^flag provided but not defined: --?(.+)$`)
	oneDash   = regexp.MustCompile(`(: |for |flag )-([a-z][a-z])`) // the form of package flag
)

// noUnit is the error of urfave/cli about a duration without a unit.
var noUnit = regexp.MustCompile(`^invalid value "([0-9.]+)" for flag --([a-z-]+): parse error$`)

// WrongFlag returns wrong use of one of the flags; for an unknown flag it suggests one.
func WrongFlag(err error, flags []cli.Flag) error {
	err = errors.New(oneDash.ReplaceAllString(err.Error(), "$1--$2"))
	m := undefined.FindStringSubmatch(err.Error())
	if m == nil {
		if x := noUnit.FindStringSubmatch(err.Error()); x != nil && isDuration(x[2], flags) {
			return proc.Usagef("--%s %s: no unit; write %ss, %sms or %sm", x[2], x[1], x[1], x[1], x[1])
		}
		return proc.Usage(err)
	}
	var names []string
	for _, f := range flags {
		names = append(names, slices.DeleteFunc(f.Names(), func(name string) bool { return len(name) == 1 })...)
	}
	if near := show.Nearest(strings.TrimLeft(m[1], "-"), names); near != "" {
		return proc.Usagef("%w; did you mean --%s?", err, near)
	}
	return proc.Usage(err)
}

func isDuration(name string, flags []cli.Flag) bool {
	return slices.ContainsFunc(flags, func(f cli.Flag) bool {
		_, is := f.(*cli.DurationFlag)
		return is && slices.Contains(f.Names(), name)
	})
}
