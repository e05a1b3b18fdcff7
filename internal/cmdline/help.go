// Package cmdline explains a command line from its commands and flags: help of a hundred
// columns by task, the manual page, and what a shell may complete. It knows no command.
package cmdline

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// A Task is what commands are for; --help lists them by it.
type Task struct {
	Name     string
	Commands []*cli.Command
}

// Commands returns the commands of all tasks, in order.
func Commands(all []Task) (out []*cli.Command) {
	for _, t := range all {
		out = append(out, t.Commands...)
	}
	return out
}

// HelpTemplate is the template of the program's help: cli would sort the tasks by name.
func HelpTemplate(all []Task) string {
	width := 0
	for _, c := range Commands(all) {
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	for _, t := range all {
		fmt.Fprintf(&b, "\n   %s:\n", t.Name)
		for _, c := range t.Commands {
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

const columns = 100

// PrintHelp is a cli.HelpPrinter that folds what is too long.
func PrintHelp(w io.Writer, page string, data any) {
	var text bytes.Buffer
	cli.HelpPrinterCustom(&text, page, data, nil)
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(w, fold(nothing.ReplaceAllString(strings.TrimRight(line, " \n"), "")))
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
