package cmdline

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// An ExitCode is what a program may end with, and what that means.
type ExitCode struct {
	Code int
	Says string
}

// Manual returns a manual page for man(7) of a version of a program: the commands by task with their flags and
// examples, and the exit codes. It has no date, so that equal programs have equal pages.
func Manual(app *cli.App, version string, all []Task, codes []ExitCode) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s %s\" \"\"\n", strings.ToUpper(app.Name), app.Name, roff(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", app.Name, roff(app.Usage))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[\\fIOPTION\\fR\\&...] [\\fIARGUMENT\\fR\\&...]\n", app.Name)
	b.WriteString(".SH DESCRIPTION\n")
	for line := range strings.Lines(app.Description) {
		b.WriteString(roffLine(strings.TrimSpace(line)) + "\n.br\n")
	}
	b.WriteString("Options may stand before or after the arguments.\n")
	b.WriteString(".SH OPTIONS\n")
	manualFlags(&b, app.VisibleFlags())
	for _, t := range all {
		fmt.Fprintf(&b, ".SH \"COMMANDS: %s\"\n", strings.ToUpper(roff(t.Name)))
		for _, c := range t.Commands {
			manualCommand(&b, app.Name, c)
		}
	}
	b.WriteString(".SH \"EXIT STATUS\"\n")
	for _, c := range codes {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", c.Code, roffLine(c.Says))
	}
	return b.String()
}

func manualCommand(b *strings.Builder, parent string, c *cli.Command) {
	if c.Hidden {
		return
	}
	name := parent + " " + c.Name
	if len(c.Subcommands) > 0 {
		for _, s := range c.Subcommands {
			manualCommand(b, name, s)
		}
		return
	}
	fmt.Fprintf(b, ".SS \"%s\"\n%s.\n", roff(strings.TrimSpace(name+" "+c.ArgsUsage)), roffLine(strings.ToUpper(c.Usage[:1])+c.Usage[1:]))
	manualFlags(b, c.VisibleFlags())
	if example, ok := strings.CutPrefix(c.Description, "Example:\n"); ok {
		b.WriteString(".PP\nExample:\n.PP\n.nf\n.RS\n")
		for line := range strings.Lines(example) {
			b.WriteString(roffLine(strings.TrimSpace(line)) + "\n")
		}
		b.WriteString(".RE\n.fi\n")
	}
}

func manualFlags(b *strings.Builder, flags []cli.Flag) {
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		written, says := WrittenFlag(d)
		fmt.Fprintf(b, ".TP\n.B \"%s\"\n%s\n", roff(written), roffLine(says))
	}
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// roff writes text so that man shows it as it is; shells may be given what is copied.
func roff(s string) string { return roffEscapes.Replace(s) }

// roffLine is roff for a whole line, which must not begin as a request does.
func roffLine(s string) string {
	if strings.HasPrefix(s, ".") {
		return `\&` + roff(s)
	}
	return roff(s)
}

// WrittenFlag returns how a flag is written, such as --topology, -t NOTATION, and what it
// means, with its default.
func WrittenFlag(f cli.DocGenerationFlag) (written, says string) {
	names := f.(cli.Flag).Names()
	for i, n := range names {
		names[i] = strings.Repeat("-", min(len(n), 2)) + n
	}
	written, says = strings.Join(names, ", "), f.GetUsage()
	if m := flagValue.FindStringSubmatch(says); m != nil {
		written += " " + m[1]
	} else if f.TakesValue() {
		written += " VALUE"
	}
	says = flagValue.ReplaceAllString(says, "$1")
	if value := f.GetValue(); f.TakesValue() && value != "" && value != "0" && value != "0s" && value != "[]" {
		says += " (default: " + value + ")"
	}
	return written, says
}
