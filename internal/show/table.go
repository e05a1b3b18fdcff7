package show

import (
	"io"
	"strings"
	"unicode/utf8"

	"evbench/internal/lists"
)

type Column struct {
	Head  string
	Over  string // above the head; it may extend over the columns after it
	Right bool   // aligned to the right, as for numbers
	Tight bool   // one blank to the next column, instead of two
	Wrap  bool   // may be narrowed when the table is too wide
	// Optional, if not 0, permits dropping the column when the table is too wide, the least first.
	Optional int
	Paint    func(cell, line string) string // colours a line of a cell; nil: unchanged
}

// A Table is drawn as columns of text. Each character takes one place.
type Table struct {
	Columns []Column
	Rows    [][]string
	tight   bool // one blank between all columns
}

// Align writes lines of cells as columns. No line ends with blanks. Columns without a description
// are aligned to the left.
func Align(w io.Writer, lines [][]string, columns ...Column) error {
	t := Table{Rows: lines}
	for _, line := range lines {
		for len(t.Columns) < len(line) {
			t.Columns = append(t.Columns, Column{})
		}
	}
	copy(t.Columns, columns)
	var b strings.Builder
	widths := t.needed()
	for _, line := range lines {
		t.row(&b, line, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// narrowest is the least width of a narrowed column: that of "INCOMPLETE".
const narrowest = 10

// Draw writes the heads and the rows, in width columns if possible.
func (t *Table) Draw(b *strings.Builder, width int) {
	for _, r := range t.Rows {
		for i := range r {
			r[i] = Line(r[i]) // a cell must not end its row or move its neighbours
		}
	}
	t.shed(width)
	widths := t.widths(width)
	t.overline(b, widths)
	heads := lists.Map(t.Columns, func(c Column) string { return c.Head })
	for _, r := range append([][]string{heads}, t.Rows...) {
		t.row(b, r, widths)
	}
}

// shed drops optional columns until the others fit, or none is left.
func (t *Table) shed(width int) {
	for {
		tight := Table{Columns: t.Columns, Rows: t.Rows, tight: true}
		least := 0
		for _, c := range t.Columns {
			if c.Optional > 0 && (least == 0 || c.Optional < least) {
				least = c.Optional
			}
		}
		if least == 0 || tight.total(tight.needed()) <= width {
			return
		}
		columns := t.Columns
		t.Columns = pick(columns, columns, least)
		for i, r := range t.Rows {
			t.Rows[i] = pick(columns, r, least)
		}
	}
}

// pick leaves out the elements in columns with a degree of Optional.
func pick[T any](columns []Column, all []T, optional int) (out []T) {
	for i, x := range all {
		if columns[i].Optional != optional {
			out = append(out, x)
		}
	}
	return out
}

func (t *Table) needed() []int {
	widths := lists.Map(t.Columns, func(c Column) int { return length(c.Head) })
	for _, r := range t.Rows {
		for i, cell := range r {
			widths[i] = max(widths[i], length(cell))
		}
	}
	return widths
}

// widths gives every column the width it needs. If the sum is too large, it narrows the gaps, and
// then the columns that wrap, from the left.
func (t *Table) widths(width int) []int {
	widths := t.needed()
	t.tight = t.tight || t.total(widths) > width
	for i, c := range t.Columns {
		if over := t.total(widths) - width; c.Wrap && over > 0 {
			widths[i] = min(widths[i], max(narrowest, widths[i]-over))
		}
	}
	return widths
}

func (t *Table) gap(column int) int {
	if t.tight || t.Columns[column].Tight {
		return 1
	}
	return 2
}

func (t *Table) total(widths []int) (sum int) {
	for i, w := range widths {
		if sum += w; i > 0 {
			sum += t.gap(i - 1)
		}
	}
	return sum
}

func (t *Table) overline(b *strings.Builder, widths []int) {
	line, at := "", 0
	for i, c := range t.Columns {
		if c.Over != "" {
			line = pad(line, at, false) + c.Over
		}
		at += widths[i] + t.gap(i)
	}
	if line != "" {
		b.WriteString(line + "\n")
	}
}

func (t *Table) row(b *strings.Builder, cells []string, widths []int) {
	lines := make([][]string, len(cells))
	tallest := 1
	for i, cell := range cells {
		lines[i] = []string{cell}
		if t.Columns[i].Wrap {
			lines[i] = wrap(cell, widths[i])
		}
		tallest = max(tallest, len(lines[i]))
	}
	for n := range tallest {
		var line strings.Builder
		for i := range cells {
			cell := ""
			if n < len(lines[i]) {
				cell = lines[i][n]
			}
			cell = pad(cell, widths[i], t.Columns[i].Right)
			if paint := t.Columns[i].Paint; paint != nil {
				text := strings.TrimRight(cell, " ")
				cell = paint(cells[i], text) + cell[len(text):]
			}
			line.WriteString(cell + strings.Repeat(" ", t.gap(i)))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func pad(s string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-length(s)))
	if right {
		return space + s
	}
	return s + space
}

func length(s string) int { return utf8.RuneCountInString(s) }

// wrap breaks s at spaces into lines of at most width characters; a longer word
// is cut.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && length(line)+1+length(word) > width {
			lines, line = append(lines, line), ""
		}
		for length(word) > width {
			cut := []rune(word)
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines, word = append(lines, string(cut[:width])), string(cut[width:])
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// Paragraph writes s in lines of at most width characters, all but the first indented. s may be a
// foreign text of any length.
func Paragraph(b *strings.Builder, s string, width int) {
	const indent = "  "
	for i, line := range wrap(Text(s, Most), max(narrowest, width-len(indent))) {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(line + "\n")
	}
}
