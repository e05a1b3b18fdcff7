// Package answer is the first output of a command. Every command that measures, plans or checks
// begins with one sentence and a verdict; text, pages, the live page and JSON show the same Answer.
package answer

import (
	"bytes"
	"encoding/json"
	"errors"
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

// A Document is all that a command says: its answer, and its findings as text for people, as fields
// of one JSON document and as a table for programs.
type Document struct {
	Answer Answer                // without a verdict: there is none
	Text   func(io.Writer) error // what stands below the answer; nil: the table
	Schema string                // of the JSON document, such as evbench/diff/1; "": Fields begin with it
	Fields any                   // a struct; nil: those of the table
	Table  *Table                // as CSV; nil: there is no such form
}

// Write writes the document as text, json or csv.
func (d Document) Write(w io.Writer, form string) error {
	switch form {
	case "json":
		return d.json(w)
	case "csv":
		return d.Table.writeCSV(w)
	}
	if d.Answer.Verdict != "" {
		if err := d.Answer.WriteText(w); err != nil {
			return err
		}
	}
	if d.Text == nil {
		return d.Table.WriteText(w)
	}
	return d.Text(w)
}

// json writes the schema, the answer and the fields, in this order.
func (d Document) json(w io.Writer) error {
	if d.Fields == nil {
		d.Fields = d.Table.fields()
	}
	fields, err := json.Marshal(d.Fields)
	if err != nil {
		return err
	}
	schema, rest := fmt.Appendf(nil, "{\"schema\":%q", d.Schema), fields[1:]
	if d.Schema == "" {
		schema, rest, _ = bytes.Cut(fields, []byte(","))
	}
	if len(rest) > 1 { // fields, and no } alone
		rest = append([]byte(","), rest...)
	}
	var said bytes.Buffer
	if d.Answer.Verdict != "" {
		said.WriteString(`,"answer":`)
		e := json.NewEncoder(&said)
		e.SetEscapeHTML(false)
		err = e.Encode(d.Answer)
	}
	_, wrong := fmt.Fprintf(w, "%s%s%s\n", schema, bytes.TrimSpace(said.Bytes()), rest)
	return errors.Join(err, wrong)
}
