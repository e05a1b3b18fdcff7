// Package show answers: how are counts, lists of names and columns shown to people?
// Widths are counted in characters, of which each takes one place. It knows nothing of
// networks, and colours nothing.
package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Commas writes a number in groups of three digits.
func Commas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural writes a count and its noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Amount writes a number with three digits and its unit with a prefix: 9.41 Gbit/s.
func Amount(x float64, unit string) string {
	for _, prefix := range []string{"", "k", "M", "G"} {
		if x < 999.5 {
			return fmt.Sprintf("%.3g %s%s", x, prefix, unit)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.3g T%s", x, unit)
}

// few is how many names of a list are written out.
const few = 8

// Few writes a list of names; of a long one it names the first, and says how many there are.
func Few(names []string) string {
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, … (%d)", strings.Join(names[:few-1], ", "), len(names))
}

// A Column of a table.
type Column struct {
	Right bool // aligned, as numbers are
	Tight bool // one blank to the next column, in place of two
}

// Align writes lines of cells as columns. No line ends with blanks. Columns that are not
// described are aligned to the left.
func Align(w io.Writer, lines [][]string, columns ...Column) error {
	width := widths(lines)
	described := make([]Column, len(width))
	copy(described, columns)
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(aligned(line, width, described), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func widths(lines [][]string) (width []int) {
	for _, line := range lines {
		for i, cell := range line {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	return width
}

func aligned(line []string, width []int, columns []Column) string {
	var b strings.Builder
	for i, cell := range line {
		space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
		if columns[i].Right {
			b.WriteString(space + cell)
		} else {
			b.WriteString(cell + space)
		}
		if b.WriteByte(' '); !columns[i].Tight {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
