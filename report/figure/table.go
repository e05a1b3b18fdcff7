package figure

import (
	"encoding/csv"
	"io"
	"strconv"
)

// A Table is the data of a figure.
type Table struct {
	Columns []string
	Rows    [][]string
}

// WriteCSV writes the table as CSV, the names of the columns first.
func (t Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(t.Columns); err != nil {
		return err
	}
	return out.WriteAll(t.Rows)
}

func (t *Table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

func whole(n int) string { return strconv.Itoa(n) }

// bits prints a rate to the bit per second.
func bits(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

// decimals prints seconds, shares and loads.
func decimals(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }
