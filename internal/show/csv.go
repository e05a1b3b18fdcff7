package show

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AppendCell appends a text as a cell of CSV: in quotes where encoding/csv has them, and where a spreadsheet would take
// it for a formula.
func AppendCell(to []byte, text string) []byte {
	first, _ := utf8.DecodeRuneInString(text)
	if text != `\.` && !strings.ContainsAny(text, ",\"\r\n") && !unicode.IsSpace(first) && !strings.ContainsRune("=+@", first) {
		return append(to, text...)
	}
	return append(append(append(to, '"'), strings.ReplaceAll(text, `"`, `""`)...), '"')
}

// WriteCSV writes lines of cells.
func WriteCSV(w io.Writer, lines [][]string) error {
	var out []byte
	for _, line := range lines {
		for i, cell := range line {
			if i > 0 {
				out = append(out, ',')
			}
			out = AppendCell(out, cell)
		}
		out = append(out, '\n')
	}
	_, err := w.Write(out)
	return err
}
