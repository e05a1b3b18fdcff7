package survey

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"evbench/internal/show"
)

// A Table is what one of the surveys prints: text for people, CSV or JSON for
// programs.
type Table struct {
	name     string   // "slowdown"
	topology string   // notation, "" where there are several
	model    string   // "count" or "routed", "" where there is no choice
	Notes    []string // what the columns mean and what they were computed from
	columns  []Column
	rows     [][]any // int, float64, bool, string, or nil where there is no value
}

// A Column has a short title for people, and a name that carries the unit for
// programs.
type Column struct {
	title string
	name  string
	digit int // digits after the point of a float64
}

// Add adds a row: for each column an int, float64, bool, string, or nil for no value.
func (t *Table) Add(row ...any) { t.rows = append(t.rows, row) }

// WriteText writes the notes, as lines that begin with "#", and the aligned
// table: numbers to the right, words to the left.
func (t *Table) WriteText(w io.Writer) error {
	lines := [][]string{make([]string, len(t.columns))}
	columns := make([]show.Column, len(t.columns))
	for i, c := range t.columns {
		lines[0][i], columns[i].Right = c.title, true
	}
	for _, row := range t.rows {
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
	case float64:
		return strconv.FormatFloat(v, 'f', t.columns[column].digit, 64)
	}
	return fmt.Sprint(v)
}

// WriteCSV writes a line of column names and one per row. A missing value is
// empty.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	line := make([]string, len(t.columns))
	for i, c := range t.columns {
		line[i] = c.name
	}
	out.Write(line)
	for _, row := range t.rows {
		for i, v := range row {
			line[i] = t.cell(i, v)
		}
		out.Write(line)
	}
	out.Flush()
	return out.Error()
}

// WriteJSON writes one document, schema evbench/table/1: the rows are objects by
// column name, a missing value is null.
func (t *Table) WriteJSON(w io.Writer) error {
	doc := struct {
		Schema   string           `json:"schema"`
		Table    string           `json:"table"`
		Topology string           `json:"topology,omitempty"`
		Model    string           `json:"model,omitempty"`
		Notes    []string         `json:"notes,omitempty"`
		Columns  []string         `json:"columns"`
		Rows     []map[string]any `json:"rows"`
	}{Schema: "evbench/table/1", Table: t.name, Topology: t.topology, Model: t.model, Notes: t.Notes, Rows: []map[string]any{}}
	for _, c := range t.columns {
		doc.Columns = append(doc.Columns, c.name)
	}
	for _, row := range t.rows {
		object := map[string]any{}
		for i, v := range row {
			object[t.columns[i].name] = v
		}
		doc.Rows = append(doc.Rows, object)
	}
	return json.NewEncoder(w).Encode(doc)
}
