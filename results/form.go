package results

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"evbench/internal/lists"
)

// A Row is the record of a row, and its values in columns that this version does not know.
type Row struct {
	Record reflect.Value
	Other  []string
}

// A Form is a table with the columns that a file has, in their order: an older file may lack some,
// a newer one has others. Columns that only HDF5 has are in every form.
type Form struct {
	*Table
	Other [][]string // values in columns that this version does not know, by row; nil without any
}

// Forms are the forms of tables that differ from the tables of this version.
type Forms map[*Table]Form

// Of returns the form of a table, by default the table itself.
func (f Forms) Of(t *Table) Form {
	if form, ok := f[t]; ok {
		return form
	}
	return Form{Table: t}
}

// SetForm keeps the form in which a table was read, if it differs from the table.
func (r *Run) SetForm(t *Table, f Form) {
	if f.Table != t {
		if r.Forms == nil {
			r.Forms = Forms{}
		}
		r.Forms[t] = f
	}
}

// Add keeps what a row has in columns that this version does not know.
func (f *Form) Add(row Row) {
	if row.Other != nil {
		f.Other = append(f.Other, row.Other)
	}
}

// Row returns row number i, given its record.
func (f Form) Row(i int, record reflect.Value) Row {
	if f.Other == nil {
		return Row{Record: record}
	}
	return Row{record, f.Other[i]}
}

// With returns the table with the columns of a file. Those that this version does not know have the
// kinds, texts where that is nil. Columns that only HDF5 has are added behind. It is t itself where all
// are the same.
func (t *Table) With(names []string, kinds []reflect.Kind) (*Table, error) {
	out, known, found := &Table{Name: t.Name, Title: t.Title, record: t.record}, map[string]Column{}, map[string]bool{}
	for _, c := range t.Columns {
		known[c.Name] = c
	}
	for i, name := range names {
		c, ok := known[name]
		if !ok {
			c = Column{Name: Text(name), Kind: reflect.String, other: out.others}
			out.others++
			if kinds != nil {
				c.Kind = kinds[i]
			}
		}
		if c.Name == "" {
			return nil, fmt.Errorf("column %d has no name", i+1)
		}
		if found[c.Name] {
			return nil, fmt.Errorf("two columns %.60q", c.Name)
		}
		found[c.Name] = true
		out.Columns = append(out.Columns, c)
	}
	for _, c := range t.Columns {
		switch {
		case found[c.Name]:
		case c.key:
			return nil, fmt.Errorf("no column %q", c.Name)
		case c.HDF5Only:
			out.Columns = append(out.Columns, c)
		default:
			out.lacks = append(out.lacks, c)
		}
	}
	if slices.EqualFunc(out.Columns, t.Columns, func(a, b Column) bool { return a.Name == b.Name }) {
		return t, nil
	}
	return out, nil
}

// Lacks returns the names of the columns of this version that are not in the file.
func (t *Table) Lacks() []string { return lists.Map(t.lacks, func(c Column) string { return c.Name }) }

// Has reports whether the table has a column.
func (t *Table) Has(name string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Known reports whether this version knows the column.
func (c *Column) Known() bool { return c.index != nil }

// Clear makes a row, with or without a record, one without values.
func (t *Table) Clear(row *Row) {
	row.Other = t.room()
	if !row.Record.IsValid() {
		return
	}
	row.Record.SetZero()
	for _, c := range t.lacks {
		if c.none {
			row.Record.FieldByIndex(c.index).SetInt(-1)
		}
	}
}

func (t *Table) room() []string {
	if t.others == 0 {
		return nil
	}
	return make([]string, t.others)
}

// Same compares the record of a row with a line, and takes from it what this version does not know.
func (t *Table) Same(row *Row, line []string) bool {
	row.Other = t.room()
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case c.HDF5Only:
			continue
		case c.index == nil:
			row.Other[c.other] = Text(line[0])
		case Text(c.plain(*row)) != Text(line[0]):
			return false
		}
		line = line[1:]
	}
	return true
}

// plain is the text of append without quotes.
func (c *Column) plain(row Row) string {
	if c.Kind == reflect.String {
		return c.Text(row)
	}
	return string(c.append(nil, row))
}

// bitsOf returns the bits of a value in a column that this version does not know.
func bitsOf(kind reflect.Kind, text string) uint64 {
	switch kind {
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			f = math.NaN()
		}
		return math.Float64bits(f)
	case reflect.Int:
		i, _ := strconv.ParseInt(text, 10, 64)
		return uint64(i)
	}
	bits, _ := strconv.ParseUint(text, 10, 64)
	return bits
}

// textOf is the reverse of bitsOf, "" for NaN.
func textOf(kind reflect.Kind, bits uint64) string {
	switch kind {
	case reflect.Float64:
		if f := math.Float64frombits(bits); !math.IsNaN(f) {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
		return ""
	case reflect.Int:
		return strconv.FormatInt(int64(bits), 10)
	}
	return strconv.FormatUint(bits, 10)
}
