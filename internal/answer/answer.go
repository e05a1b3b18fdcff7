// Package answer is the first output of a command. Every command that measures, plans or checks
// begins with one sentence and a verdict; text, pages, the live page and JSON show the same Answer.
package answer

import (
	"fmt"
	"io"
	"strings"
)

// A Verdict says whether the subject of a question is as it should be.
type Verdict string

// The verdicts. Good and Bad rest on known figures; Unknown means that a figure is missing or
// untrustworthy; Pending that it is still being measured.
const (
	Good    Verdict = "GOOD"
	Bad     Verdict = "BAD"
	Unknown Verdict = "NOT KNOWN"
	Pending Verdict = "PENDING"
)

// An Answer is the result of a command.
type Answer struct {
	Question string  `json:"question"` // ends with a question mark
	Verdict  Verdict `json:"verdict"`
	Sentence string  `json:"sentence"`
	// Why lists the decisive facts, the most important first.
	Why []string `json:"why,omitempty"`
	// Next lists commands, ready to be typed.
	Next []string `json:"next,omitempty"`
}

// String is the first line: the verdict and the sentence.
func (a Answer) String() string { return fmt.Sprintf("%s: %s", a.Verdict, a.Sentence) }

const program = "evbench"

// Program is what people type for this program: its path where it was started by one, so that the commands
// of Next run as printed. JSON has its name.
var Program = program

// WriteText writes the answer for people, followed by an empty line.
func (a Answer) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintln(&b, a)
	a.reasons(&b)
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func (a Answer) reasons(b *strings.Builder) {
	for _, why := range a.Why {
		fmt.Fprintf(b, "  because  %s\n", why)
	}
	for _, next := range a.Next {
		if rest, ok := strings.CutPrefix(next, program+" "); ok {
			next = Typed(Program) + " " + rest
		}
		fmt.Fprintf(b, "  next     %s\n", next)
	}
}

// Of chooses between Good and Bad.
func Of(good bool) Verdict {
	if good {
		return Good
	}
	return Bad
}

// Typed quotes arguments of a command that a shell would split or change.
func Typed(args ...string) string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'`$&|;<>()[]{}*?!#~\\") {
			out[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
