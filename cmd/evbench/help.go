package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"evbench/internal/nearest"
)

// A task is what commands are for; --help lists them by it.
type task struct {
	name     string
	commands []*cli.Command
}

func tasks() []task {
	return []task{
		{"run scenarios", []*cli.Command{
			runCommand(), simCommand(), accuracyCommand(), validateCommand(), examplesCommand(), schemaCommand(),
		}},
		{"look at results", []*cli.Command{reportCommand(), plotCommand(), compareCommand(), judgeCommand(), resultsCommand()}},
		{"plan", []*cli.Command{planCommand(), verifyCommand(), diffCommand(), whatifCommand(), tableCommand()}},
		{"networks, their routes and failures", []*cli.Command{topoCommand(), routesCommand(), failuresCommand()}},
		{"labs and clusters", []*cli.Command{labCommand(), hostCommand(), controllerCommand(), workerCommand()}},
		{"evbench itself", []*cli.Command{reproduceCommand(), completionCommand(), completeCommand(), manCommand(), versionCommand()}},
	}
}

// commands returns the commands of all tasks, in order.
func commands(all []task) (out []*cli.Command) {
	for _, t := range all {
		out = append(out, t.commands...)
	}
	return out
}

// helpOf is the template of the program's help: cli would sort the tasks by name.
func helpOf(all []task) string {
	width := 0
	for _, c := range commands(all) {
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	for _, t := range all {
		fmt.Fprintf(&b, "\n   %s:\n", t.name)
		for _, c := range t.commands {
			if c.Hidden {
				continue
			}
			fmt.Fprintf(&b, "     %-*s  %s\n", width, c.Name, c.Usage)
		}
	}
	return `NAME:
   {{template "helpNameTemplate" .}}

USAGE:
   evbench COMMAND [OPTION…] [ARGUMENT…]

DESCRIPTION:
   {{template "descriptionTemplate" .}}

COMMANDS:` + b.String() + `
OPTIONS:{{template "visibleFlagTemplate" .}}
`
}

// nothing is a default that says no more than that there is none.
var nothing = regexp.MustCompile(` \(default: (?:false|0|0s)\)$`)

// columns is how wide help is at most.
const columns = 100

func init() {
	cli.HelpPrinter = func(w io.Writer, page string, data any) {
		var text bytes.Buffer
		cli.HelpPrinterCustom(&text, page, data, nil)
		for line := range strings.Lines(text.String()) {
			fmt.Fprintln(w, fold(nothing.ReplaceAllString(strings.TrimRight(line, " \n"), "")))
		}
	}
}

// explained is a line that begins with a name, which two blanks or more set apart from
// what is said of it.
var explained = regexp.MustCompile(`^ *\S+(?: \S+)* {2,}`)

// fold breaks a line that is too long between words. What follows stands below where the
// text began; after lines that a shell is to read there is a backslash.
func fold(line string) string {
	if utf8.RuneCountInString(line) <= columns {
		return line
	}
	blank := len(line) - len(strings.TrimLeft(line, " "))
	head, more := line[:blank], ""
	if m := explained.FindString(line); m != "" {
		head = m
	} else if strings.HasPrefix(line[blank:], "evbench ") && !strings.Contains(line, " - ") && !strings.Contains(line, "[") {
		more = ` \`
	}
	indent := utf8.RuneCountInString(head)
	out, at := head, indent
	if more != "" {
		indent += 2
	}
	for i, word := range strings.Fields(line[len(head):]) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n+len(more) > columns:
			out += more + "\n" + strings.Repeat(" ", indent)
			at = indent
		default:
			out += " "
			at++
		}
		out += word
		at += n
	}
	return out
}

// helpFirst makes "help COMMAND" of it what it means, "COMMAND --help".
func helpFirst(args []string) []string {
	if len(args) < 2 || args[1] != "help" {
		return args
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
		b := versionInfo()
		return b.print(c.App.Writer)
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

var undefined = regexp.MustCompile(`^flag provided but not defined: -(.+)$`)

// wrongFlag returns wrong use of one of the flags; of one that there is not it says which
// may be meant.
func wrongFlag(err error, flags []cli.Flag) error {
	m := undefined.FindStringSubmatch(err.Error())
	if m == nil {
		return usage(err)
	}
	var names []string
	for _, f := range flags {
		names = append(names, slices.DeleteFunc(f.Names(), func(name string) bool { return len(name) == 1 })...)
	}
	if near := nearest.To(strings.TrimLeft(m[1], "-"), names); near != "" {
		return usagef("%w; did you mean --%s?", err, near)
	}
	return usage(err)
}
