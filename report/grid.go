package report

import (
	"strings"
	"unicode/utf8"

	"evbench/internal/printable"
)

type column struct {
	head  string
	over  string // stands above the head and may reach over the columns after it
	right bool   // aligned
	wrap  bool   // gives way when the grid is too wide
	// optional, if not 0, lets the column go when the grid is too wide, the least first.
	optional int

	style func(cell string) string // of a terminal; nil: none
}

type grid struct {
	columns []column
	rows    [][]string
	gap     int // columns between two, 1 when it is tight
	colour  bool
}

// narrowest is the least width of a column that gives way: that of "INCOMPLETE".
const narrowest = 10

func (g *grid) draw(b *strings.Builder, width int) {
	g.oneLine()
	g.shed(width)
	widths := g.widths(width)
	g.overline(b, widths)
	heads := make([]string, len(g.columns))
	for i, c := range g.columns {
		heads[i] = c.head
	}
	g.row(b, heads, widths)
	for _, r := range g.rows {
		g.row(b, r, widths)
	}
}

// oneLine keeps cells from ending their row, or from moving what stands beside them.
func (g *grid) oneLine() {
	for _, r := range g.rows {
		for i := range r {
			r[i] = printable.Line(r[i])
		}
	}
}

// shed lets optional columns go until the others fit, or none is left.
func (g *grid) shed(width int) {
	for {
		tight := grid{columns: g.columns, rows: g.rows, gap: 1}
		least := 0
		for _, c := range g.columns {
			if c.optional > 0 && (least == 0 || c.optional < least) {
				least = c.optional
			}
		}
		if least == 0 || tight.total(tight.needed()) <= width {
			return
		}
		g.remove(least)
	}
}

func (g *grid) remove(optional int) {
	var keep []int
	for i, c := range g.columns {
		if c.optional != optional {
			keep = append(keep, i)
		}
	}
	g.columns = pick(g.columns, keep)
	for i, r := range g.rows {
		g.rows[i] = pick(r, keep)
	}
}

func pick[T any](all []T, places []int) []T {
	out := make([]T, len(places))
	for i, p := range places {
		out[i] = all[p]
	}
	return out
}

func (g *grid) needed() []int {
	widths := make([]int, len(g.columns))
	for i, c := range g.columns {
		widths[i] = length(c.head)
		for _, r := range g.rows {
			widths[i] = max(widths[i], length(r[i]))
		}
	}
	return widths
}

// widths gives every column what it needs. When that is more than there is, it
// narrows the gaps, and then the columns that wrap, from the left.
func (g *grid) widths(width int) []int {
	widths := g.needed()
	if g.total(widths) > width {
		g.gap = 1
	}
	for i, c := range g.columns {
		if over := g.total(widths) - width; c.wrap && over > 0 {
			widths[i] = min(widths[i], max(narrowest, widths[i]-over))
		}
	}
	return widths
}

func (g *grid) total(widths []int) int {
	sum := g.gap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// overline writes the line above the heads.
func (g *grid) overline(b *strings.Builder, widths []int) {
	line, at := "", 0
	for i, c := range g.columns {
		if c.over != "" {
			line = pad(line, at, false) + c.over
		}
		at += widths[i] + g.gap
	}
	if line != "" {
		b.WriteString(line + "\n")
	}
}

// row writes one row, of as many lines as its longest cell wraps to.
func (g *grid) row(b *strings.Builder, cells []string, widths []int) {
	lines := make([][]string, len(cells))
	tallest := 1
	for i, cell := range cells {
		lines[i] = []string{cell}
		if g.columns[i].wrap {
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
			cell = pad(cell, widths[i], g.columns[i].right)
			if style := g.columns[i].style; style != nil && g.colour {
				text := strings.TrimRight(cell, " ")
				cell = paint(true, style(cells[i]), text) + cell[len(text):]
			}
			line.WriteString(cell + strings.Repeat(" ", g.gap))
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

// length is the number of characters of s; each takes one column in the names
// and figures shown here.
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

// paragraph writes s in lines of at most width characters, all but the first
// indented. A text of others may be of any length.
func paragraph(b *strings.Builder, s string, width int) {
	const indent = "  "
	for i, line := range wrap(printable.Text(s, printable.Most), max(narrowest, width-len(indent))) {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(line + "\n")
	}
}
