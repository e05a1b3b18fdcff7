package answer

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"evbench/internal/lists"
	"evbench/internal/show"
)

// A Table is rows of values, each column of one type.
type Table struct {
	Name     string   // "sizes"
	Topology string   // of the network, "" where there are several or none
	Notes    []string // what the columns mean and what they were computed from
	Columns  []Column
	Rows     [][]any // int, float64, bool, string; nil, also a *float64: there is no value
}

// A Column has a short title for people, and a name with the unit for programs.
type Column struct {
	Title, Name string
	Digits      int // digits after the point of a float64; shortest
}

// shortest writes a float64 with the fewest digits that give it back.
const shortest = -1

// Plain returns a table for programs alone, whose numbers have all their digits.
func Plain(names ...string) *Table {
	return &Table{Columns: lists.Map(names, func(name string) Column { return Column{Name: name, Digits: shortest} })}
}

// Add adds a row: a value for each column.
func (t *Table) Add(row ...any) { t.Rows = append(t.Rows, row) }

// WriteText writes the notes, as lines that begin with "#", and the aligned
// table: numbers to the right, words to the left.
func (t *Table) WriteText(w io.Writer) error {
	lines := [][]string{make([]string, len(t.Columns))}
	columns := make([]show.Column, len(t.Columns))
	for i, c := range t.Columns {
		lines[0][i], columns[i].Right = c.Title, true
	}
	for _, row := range t.Rows {
		line := make([]string, len(row))
		for i, v := range row {
			if line[i] = t.cell(i, v); line[i] == "" {
				line[i] = "-"
			}
			if _, ok := v.(string); ok {
				columns[i].Right = false
			}
		}
		lines = append(lines, line)
	}
	out := bufio.NewWriter(w)
	for _, n := range t.Notes {
		fmt.Fprintln(out, "#", n)
	}
	if err := show.Align(out, lines, columns...); err != nil {
		return err
	}
	return out.Flush()
}

func (t *Table) cell(column int, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case *float64:
		if v == nil {
			return ""
		}
		return t.cell(column, *v)
	case float64:
		if digits := t.Columns[column].Digits; digits != shortest {
			return strconv.FormatFloat(v, 'f', digits, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// writeCSV writes a line of column names and one per row. A missing value is
// empty.
func (t *Table) writeCSV(w io.Writer) error {
	lines := [][]string{lists.Map(t.Columns, func(c Column) string { return c.Name })}
	for _, row := range t.Rows {
		lines = append(lines, lists.Tabulate(len(row), func(i int) string { return t.cell(i, row[i]) }))
	}
	return show.WriteCSV(w, lines)
}

// tableFields are a table in a document: its rows are objects by column name, a missing value is null.
type tableFields struct {
	Table    string           `json:"table"`
	Topology string           `json:"topology,omitempty"`
	Notes    []string         `json:"notes,omitempty"`
	Columns  []string         `json:"columns"`
	Rows     []map[string]any `json:"rows"`
}

func (t *Table) fields() tableFields {
	f := tableFields{Table: t.Name, Topology: t.Topology, Notes: t.Notes, Rows: []map[string]any{}}
	f.Columns = lists.Map(t.Columns, func(c Column) string { return c.Name })
	for _, row := range t.Rows {
		object := map[string]any{}
		for i, v := range row {
			object[t.Columns[i].Name] = v
		}
		f.Rows = append(f.Rows, object)
	}
	return f
}
