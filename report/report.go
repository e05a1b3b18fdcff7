// Package report answers: how do people read the measurements? It draws fresh and old results as
// text, and rounds figures but does not change them. It measures and judges nothing, and opens no
// file. Figures and the page for a browser are in its sub-packages.
package report

import (
	"cmp"
	"io"
	"strconv"
	"strings"

	"evbench/internal/show"
	"evbench/results"
)

// DefaultWidth is the width of a table in columns, if unknown.
const DefaultWidth = 80

// none is printed for a missing figure.
const none = "–"

// Options of a text. The zero value is for a file.
type Options struct {
	Width  int  // columns; 0: DefaultWidth
	Colour bool // of a text that goes through a show.Writer
}

func (o Options) width() int {
	if o.Width <= 0 {
		return DefaultWidth
	}
	return o.Width
}

// Table writes the summary of a run in lines of at most the requested width, where its figures
// allow: the answer, a row for each case, in words what is wrong, what is not resolved and what is
// odd, and what happened to links; then the fail-overs, if any.
func Table(w io.Writer, s results.Summary, o Options) error {
	width := o.width()
	var b strings.Builder
	if s.Answer != nil {
		var text strings.Builder
		show.Paragraph(&text, s.Answer.String(), width)
		style := ""
		if o.Colour {
			style = show.Bold
		}
		b.WriteString(show.Paint(style, text.String()))
		for _, why := range s.Answer.Why {
			show.Paragraph(&b, "because "+why, width)
		}
		b.WriteByte('\n')
	}
	if !s.Complete {
		show.Paragraph(&b, "The run ended early. This is what was measured until then; it is marked incomplete.", width)
		b.WriteByte('\n')
	}
	t := tableOf(s.Cases, o)
	t.Draw(&b, width)
	b.WriteByte('\n')
	for _, text := range legend(s.Cases, t.Columns) {
		show.Paragraph(&b, text, width)
	}
	for _, text := range notes(s) {
		show.Paragraph(&b, text, width)
	}
	failovers(&b, s.Cases, max(width, failoverWidth))
	_, err := io.WriteString(w, b.String())
	return err
}

// Standing writes a row for each case, with only the heads of the columns: also for a run that goes
// on.
func Standing(b *strings.Builder, cases []results.Case, o Options) {
	t := tableOf(cases, o)
	t.Draw(b, o.width())
}

func tableOf(cases []results.Case, o Options) *show.Table {
	t := &show.Table{}
	columns := columnsOf(cases, "", false)
	for _, x := range columns {
		t.Columns = append(t.Columns, x.Column)
	}
	if o.Colour { // the verdict is last
		t.Columns[len(columns)-1].Paint = func(cell, line string) string { return show.Paint(verdictStyle(cell), line) }
	}
	for _, c := range cases {
		c.Name = results.Label(c, cases)
		row := make([]string, len(columns))
		for i, x := range columns {
			cell := x.cell(c)
			row[i] = cmp.Or(cell.text, cell.Text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Warnings writes oddities of the machines of a run, each as a paragraph.
func Warnings(w io.Writer, warnings []string, o Options) error {
	var b strings.Builder
	for _, text := range warnings {
		show.Paragraph(&b, "warning: "+text, o.width())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Share prints an efficiency or a ratio; 0 is "not given".
func Share(x float64) string {
	if x == 0 {
		return none
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

// Rate prints events per second.
func Rate(x float64) string { return figures(x, 4) }

// figures prints x with about n significant digits and without an exponent:
// 12345, 1.333, 0.0931.
func figures(x float64, n int) string {
	decimals := n - 1
	for limit := 10.0; x >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	if x > 0 && x < 0.1 {
		decimals++
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}
