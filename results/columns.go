package results

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Table says how the records of one type are kept: a line each in NAME.csv, a row each in
// the dataset NAME of an HDF5 file. Its columns are the fields with a unit, in their order:
// a field that is new is in every form.
type Table struct {
	Name, Title string
	Columns     []Column
	record      reflect.Type
}

// A Column is a field of a record. Tags of the field describe it: unit, "" where there is none;
// col, its name if that is not the one in JSON; digits behind the point, 6 unless it says so;
// join, what separates the texts of a list, a space unless it says so; known, the field that
// says whether there is a value; none, the number that stands for no value; csv:"-" where only HDF5 has the column.
type Column struct {
	Name, Unit string
	HDF5Only   bool
	digits     int
	join       string
	none       bool
	index      []int
	known      []int
}

// The tables of records that a sink takes.
var (
	Samples   = NewTable[Sample]("samples", "what each server counted in each interval")
	Links     = NewTable[LinkCount]("links", "what each direction of each cable carried in the measured part of a case")
	Pairs     = NewTable[PairCount]("pairs", "what each server received of each other one in the measured part of a case, and how long it waited for that")
	Exchanges = NewTable[ExchangeTime]("exchanges", "how long the exchanges of a case took, the mean over servers; a row may stand for several that follow one another")
	Spans     = NewTable[Span]("trace", "what each server did, by its own clock")
)

// Tables of what a summary says, too.
var (
	Failovers = NewTable[Failover]("failovers", "what was done about each change of what is alive; times since the measured part began; NaN: not known, or did not happen")
	Cases     = NewTable[Case]("summary", "one row for each case and repeat; /summary.json says more")
)

// Tables are those of which a Run holds the rows.
var Tables = []*Table{Samples, Links, Pairs, Exchanges}

// NewTable returns the table of records of a type.
func NewTable[T any](name, title string) *Table {
	t := &Table{Name: name, Title: title, record: reflect.TypeFor[T]()}
	t.add(t.record, "", nil)
	return t
}

// add adds the columns of a struct, whose fields are found at index in the record.
func (t *Table) add(of reflect.Type, prefix string, index []int) {
	for i := range of.NumField() {
		f := of.Field(i)
		at := append(slices.Clip(index), i)
		name := f.Tag.Get("col")
		if name == "" {
			name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
		}
		unit, ok := f.Tag.Lookup("unit")
		switch {
		case f.Anonymous:
			t.add(f.Type, prefix, at)
		case !ok:
		case f.Type.Kind() == reflect.Struct:
			first := len(t.Columns)
			t.add(f.Type, name+"_", at)
			for i := range t.Columns[first:] {
				t.Columns[first+i].Unit = unit
			}
		default:
			t.Columns = append(t.Columns, columnOf(t.record, f.Tag, Column{Name: prefix + name, Unit: unit, index: at}))
		}
	}
}

func columnOf(record reflect.Type, tag reflect.StructTag, c Column) Column {
	c.digits, c.join, c.HDF5Only, c.none = 6, " ", tag.Get("csv") == "-", tag.Get("none") != ""
	if text, ok := tag.Lookup("digits"); ok {
		c.digits, _ = strconv.Atoi(text)
	}
	if text, ok := tag.Lookup("join"); ok {
		c.join = text
	}
	if known, ok := record.FieldByName(tag.Get("known")); ok {
		c.known = known.Index
	}
	return c
}

// TableOf returns the table of a record that streams in.
func TableOf(r Record) *Table {
	for _, t := range Tables {
		if t.record == reflect.TypeOf(r) {
			return t
		}
	}
	return Spans
}

// Header returns the first line of the CSV file.
func (t *Table) Header() (line []string) {
	for _, c := range t.Columns {
		if !c.HDF5Only {
			line = append(line, c.Name)
		}
	}
	return line
}

// Line appends the line of a record to an empty one.
func (t *Table) Line(line []string, record reflect.Value) []string {
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.HDF5Only {
			line = append(line, c.text(record))
		}
	}
	return line
}

// Parse reads a line with as many fields as the header into a record. The error names the column.
func (t *Table) Parse(record reflect.Value, line []string) error {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.HDF5Only {
			continue
		}
		if err := c.parse(record, line[0]); err != nil {
			return fmt.Errorf("%s: %.60q is %w", c.Name, line[0], err)
		}
		line = line[1:]
	}
	return nil
}

// New returns a record to be filled in.
func (t *Table) New() reflect.Value { return reflect.New(t.record).Elem() }

// Rows hands on rows, one after the other, until there is an error.
type Rows func(take func(row reflect.Value) error) error

// RowsOf are those of a slice.
func RowsOf[T any](rows []T) Rows { return rowsOf(reflect.ValueOf(rows)) }

func rowsOf(rows reflect.Value) Rows {
	return func(take func(reflect.Value) error) error {
		for _, row := range rows.Seq2() {
			if err := take(row); err != nil {
				return err
			}
		}
		return nil
	}
}

// Rows are those of a table in memory.
func (r *Run) Rows(t *Table) Rows { return rowsOf(t.Field(r)) }

// Field is the field of a run that has the rows of a table: a slice.
func (t *Table) Field(r *Run) reflect.Value {
	run := reflect.ValueOf(r).Elem()
	for i := range run.NumField() {
		if f := run.Field(i); f.Kind() == reflect.Slice && f.Type().Elem() == t.record {
			return f
		}
	}
	panic("a run has no rows of " + t.Name)
}

// Records are all of a run: its plans, rows, summary, if it has one, and manifest.
func (r *Run) Records() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for _, name := range slices.Sorted(maps.Keys(r.Plans)) {
			if !yield(PlanText{name, r.Plans[name]}) {
				return
			}
		}
		for _, t := range Tables {
			for _, row := range t.Field(r).Seq2() {
				if !yield(row.Interface().(Record)) {
					return
				}
			}
		}
		if r.Summary.Schema == "" || yield(r.Summary) {
			yield(r.Manifest)
		}
	}
}

// Value returns a field of a record as a string, int, uint64, float64 or bool; a float that is not known is NaN.
func (c *Column) Value(record reflect.Value) any {
	v := record.FieldByIndex(c.index)
	switch x := v.Interface().(type) {
	case SpanKind:
		return x.String()
	case []string:
		return strings.Join(x, c.join)
	case *float64:
		if x == nil {
			return math.NaN()
		}
		return *x
	default:
		return x
	}
}

// text returns a field of a record as CSV has it, "" where there is no value.
func (c *Column) text(record reflect.Value) string {
	if c.known != nil && !record.FieldByIndex(c.known).Bool() {
		return ""
	}
	switch x := c.Value(record).(type) {
	case string:
		return x
	case uint64:
		return strconv.FormatUint(x, 10)
	case float64:
		if math.IsNaN(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'f', c.digits, 64)
	case int:
		if c.none && x < 0 {
			return ""
		}
		return strconv.Itoa(x)
	default:
		return fmt.Sprint(x)
	}
}

// parse reads what text returns into a record. Lists and what may be NaN are not read.
func (c *Column) parse(record reflect.Value, text string) (err error) {
	if c.known != nil {
		record.FieldByIndex(c.known).SetBool(text != "")
		if text == "" {
			return nil
		}
	}
	if c.none && text == "" {
		record.FieldByIndex(c.index).SetInt(-1)
		return nil
	}
	var x any = text
	switch c.Value(record).(type) {
	case int, uint64:
		x, err = strconv.ParseUint(text, 10, 64)
	case float64:
		x, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		return errNumber
	}
	return c.Set(record, x)
}

var errNumber = errors.New("not a number that fits")

// maxFloat bounds what is taken for a quantity; nothing measured is near.
const maxFloat = 1e18

// Set puts a value that was read into a record: a string, uint64, float64 or bool. What
// nobody can have counted is refused.
func (c *Column) Set(record reflect.Value, x any) error {
	to := record.FieldByIndex(c.index)
	switch x := x.(type) {
	case bool:
		to.SetBool(x)
	case float64:
		if !(x >= 0 && x <= maxFloat) { // NaN fails too
			return errNumber
		}
		to.SetFloat(x)
	case uint64:
		if to.CanUint() {
			to.SetUint(x)
			return nil
		}
		if x > math.MaxInt32 {
			return errNumber
		}
		to.SetInt(int64(x))
	case string:
		if to.Kind() == reflect.String {
			to.SetString(Text(x))
			return nil
		}
		kind := slices.Index(SpanKinds(), x)
		if kind < 0 {
			return fmt.Errorf("none of %v", SpanKinds())
		}
		to.SetUint(uint64(kind))
	}
	return nil
}
