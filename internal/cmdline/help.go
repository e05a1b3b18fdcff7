// Package cmdline builds a command line from a description of its commands and flags: help of a
// hundred columns by task, the manual page, and shell completion. It contains no command.
package cmdline

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"evbench/internal/lists"

	"github.com/urfave/cli/v2"
)

// A Task is the purpose of a group of commands in --help.
type Task struct {
	Name     string
	Commands []*cli.Command
}

func Commands(all []Task) (out []*cli.Command) {
	for _, t := range all {
		out = append(out, t.Commands...)
	}
	return out
}

// HelpTemplate is the template of the program's help: the commands to begin with, or without any all by task,
// which cli would sort by name.
func HelpTemplate(all []Task, begin ...string) string {
	var b strings.Builder
	if begin != nil {
		commands := Commands(all)
		all = []Task{{"to begin with (evbench help all lists all " + strconv.Itoa(len(commands)) + " commands)", lists.Map(begin, func(name string) *cli.Command {
			return commands[slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == name })]
		})}}
	}
	width := lists.MaxOf(Commands(all), func(c *cli.Command) int { return len(c.Name) })
	for _, t := range all {
		fmt.Fprintf(&b, "\n   %s:\n", t.Name)
		for _, c := range t.Commands {
			fmt.Fprintf(&b, "     %-*s  %s\n", width, c.Name, c.Usage)
		}
	}
	return `NAME:
   {{template "helpNameTemplate" .}}

USAGE:
   {{.Name}} COMMAND [OPTION…] [ARGUMENT…]

DESCRIPTION:
   {{template "descriptionTemplate" .}}

COMMANDS:` + b.String() + `
OPTIONS:{{template "visibleFlagTemplate" .}}
`
}

// nothing is a default that only says that there is none.
var nothing = regexp.MustCompile(` \(default: (?:false|0|0s)\)$`)

const columns = 100

// PrintHelp is a cli.HelpPrinter that folds long lines.
func PrintHelp(w io.Writer, page string, data any) {
	var text bytes.Buffer
	cli.HelpPrinterCustom(&text, page, data, nil)
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(w, fold(nothing.ReplaceAllString(strings.TrimRight(line, " \n"), "")))
	}
}

// explained is a line that begins with a name, which two or more blanks separate from its
// explanation.
var explained = regexp.MustCompile(`^ *\S+(?: \S+)* {2,}`)

// fold breaks a long line between words. Continuations are aligned with the start of the text;
// lines for a shell end in a backslash.
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
