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
	Name     string   // "slowdown"
	Topology string   // notation, "" where there are several
	Model    string   // "count" or "routed", "" where there is no choice
	Notes    []string // what the columns mean and what they were computed from
	Columns  []Column
	Rows     [][]any // int, float64, bool, string, or nil where there is no value
}

// A Column has a short title for people, and a name that carries the unit for
// programs.
type Column struct {
	Title string
	Name  string
	Digit int // digits after the point of a float64
}

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
	case float64:
		return strconv.FormatFloat(v, 'f', t.Columns[column].Digit, 64)
	}
	return fmt.Sprint(v)
}

// WriteCSV writes a line of column names and one per row. A missing value is
// empty.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	line := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		line[i] = c.Name
	}
	out.Write(line)
	for _, row := range t.Rows {
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
	}{Schema: "evbench/table/1", Table: t.Name, Topology: t.Topology, Model: t.Model, Notes: t.Notes, Rows: []map[string]any{}}
	for _, c := range t.Columns {
		doc.Columns = append(doc.Columns, c.Name)
	}
	for _, row := range t.Rows {
		object := map[string]any{}
		for i, v := range row {
			object[t.Columns[i].Name] = v
		}
		doc.Rows = append(doc.Rows, object)
	}
	return json.NewEncoder(w).Encode(doc)
}
