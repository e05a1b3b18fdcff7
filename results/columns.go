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

	"evbench/internal/show"
)

// A Table is the file form of the records of one type: a line each in NAME.csv, a row each in the
// dataset NAME of an HDF5 file. Its columns are the fields with a unit, in their order, so a new
// field is in every form.
type Table struct {
	Name, Title string
	Columns     []Column
	record      reflect.Type
	lacks       []Column // of this version, that a file does not have
	others      int      // columns of a file that this version does not know
}

// A Column is a field of a record. Tags of the field describe it: unit, "" where there is none;
// col, its name if not the name in JSON; digits behind the point, default 6; join, the separator of
// the texts of a list, default a space; known, the field that says whether there is a value; none,
// the number that stands for no value; csv:"-" where only HDF5 has the column; key:"yes" where a row
// means nothing without it.
type Column struct {
	Name, Unit string
	HDF5Only   bool
	Kind       reflect.Kind // of the value: String, Int, Uint64, Float64 or Bool
	digits     int
	join       string
	none, key  bool
	index      []int // of the field; nil: this version has none
	known      []int
	other      int // without a field: of the value in Row.Other
}

// The tables of records that a sink takes.
var (
	Samples   = NewTable[Sample]("samples", "what each server counted in each interval")
	Links     = NewTable[LinkCount]("links", "what each direction of each cable carried in the measured part of a case")
	Pairs     = NewTable[PairCount]("pairs", "what each server received of each other one in the measured part of a case, and how long it waited for that")
	Servers   = NewTable[ServerCount]("servers", "what each server noted of itself in the measured part of a case; stops: times its process stood still")
	Exchanges = NewTable[ExchangeTime]("exchanges", "how long the exchanges of a case took, the mean over servers; a row may stand for several that follow one another")
	Spans     = NewTable[Span]("trace", "what each server did, by its own clock")
)

// Tables of records that a summary also holds.
var (
	Failovers = NewTable[Failover]("failovers", "what was done about each change of what is alive; times since the measured part began; NaN: not known, or did not happen")
	Loads     = NewTable[LoadRow]("loads", "what became of the events that a clock offered to each case")
	Cases     = NewTable[Case]("summary", "one row for each case and repeat; /summary.json says more")
)

// Tables are the tables whose rows a Run holds.
var Tables = []*Table{Samples, Links, Pairs, Servers, Exchanges}

// Derived are the tables whose rows a summary holds too, and that are there where it has any.
var Derived = []*Table{Failovers, Loads}

// Rows returns the rows of a derived table: a slice.
func (s Summary) Rows(t *Table) reflect.Value {
	if t == Loads {
		return reflect.ValueOf(s.Loads())
	}
	return reflect.ValueOf(s.Failovers())
}

// NewTable returns the table of records of a type.
func NewTable[T any](name, title string) *Table {
	t := &Table{Name: name, Title: title, record: reflect.TypeFor[T]()}
	t.add(t.record, "", nil)
	return t
}

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
			t.add(f.Type, prefix+name+"_", at)
			for i := range t.Columns[first:] {
				t.Columns[first+i].Unit = unit
			}
		default:
			t.Columns = append(t.Columns, columnOf(t.record, f.Tag, Column{Name: prefix + name, Unit: unit, index: at}))
		}
	}
}

func columnOf(record reflect.Type, tag reflect.StructTag, c Column) Column {
	switch of := record.FieldByIndex(c.index).Type; {
	case of.Kind() == reflect.Slice, of == reflect.TypeFor[SpanKind]():
		c.Kind = reflect.String
	case of.Kind() == reflect.Pointer:
		c.Kind = reflect.Float64
	default:
		c.Kind = of.Kind()
	}
	c.digits, c.join, c.HDF5Only, c.none, c.key = 6, " ", tag.Get("csv") == "-", tag.Get("none") != "", tag.Get("key") != ""
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

// Header appends the first line of the CSV file.
func (t *Table) Header(to []byte) []byte {
	return t.line(to, func(to []byte, c *Column) []byte { return show.AppendCell(to, c.Name) })
}

// Line appends the line of a row.
func (t *Table) Line(to []byte, row Row) []byte {
	return t.line(to, func(to []byte, c *Column) []byte { return c.append(to, row) })
}

func (t *Table) line(to []byte, field func([]byte, *Column) []byte) []byte {
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.HDF5Only {
			to = append(field(to, c), ',')
		}
	}
	to[len(to)-1] = '\n'
	return to
}

// Parse reads a line with as many fields as the header into an empty row. The error names the column.
func (t *Table) Parse(row Row, line []string) error {
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.HDF5Only {
			continue
		}
		if err := c.parse(row, line[0]); err != nil {
			return fmt.Errorf("%s: %.60q is %w", c.Name, line[0], err)
		}
		line = line[1:]
	}
	return nil
}

// New returns a record to be filled in.
func (t *Table) New() reflect.Value { return reflect.New(t.record).Elem() }

// Field returns the field of a run that holds the rows of a table: a slice.
func (t *Table) Field(r *Run) reflect.Value {
	for _, f := range reflect.ValueOf(r).Elem().Fields() {
		if f.Kind() == reflect.Slice && f.Type().Elem() == t.record {
			return f
		}
	}
	panic("a run has no rows of " + t.Name)
}

// Records returns all records of a run: its plans, rows, summary, if it has one, and manifest.
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

// Text returns a text value.
func (c *Column) Text(row Row) string {
	if c.index == nil {
		return row.Other[c.other]
	}
	switch v := row.Record.FieldByIndex(c.index); v.Kind() {
	case reflect.Slice:
		return strings.Join(v.Interface().([]string), c.join)
	case reflect.Uint8:
		return SpanKind(v.Uint()).String()
	default:
		return v.String()
	}
}

// Bits returns a value other than a text: IEEE 754 bits of a float, NaN if not known, 1 for yes.
func (c *Column) Bits(row Row) uint64 {
	if c.index == nil {
		return bitsOf(c.Kind, row.Other[c.other])
	}
	switch v := row.Record.FieldByIndex(c.index); v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return math.Float64bits(math.NaN())
		}
		return math.Float64bits(v.Elem().Float())
	case reflect.Float64:
		return math.Float64bits(v.Float())
	case reflect.Int:
		return uint64(v.Int())
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	default:
		return v.Uint()
	}
}

// append appends a value in its CSV form, nothing where there is none.
func (c *Column) append(to []byte, row Row) []byte {
	if c.known != nil && !row.Record.FieldByIndex(c.known).Bool() {
		return to
	}
	if c.index == nil || c.Kind == reflect.String {
		return show.AppendCell(to, c.Text(row))
	}
	switch x := c.Bits(row); c.Kind {
	case reflect.Bool:
		return strconv.AppendBool(to, x == 1)
	case reflect.Float64:
		if x := math.Float64frombits(x); !math.IsNaN(x) {
			return strconv.AppendFloat(to, x, 'f', c.digits, 64)
		}
		return to
	case reflect.Int:
		if c.none && int(x) < 0 {
			return to
		}
		return strconv.AppendInt(to, int64(x), 10)
	default:
		return strconv.AppendUint(to, x, 10)
	}
}

// parse reads the output of append into a row, except lists and values that may be NaN.
func (c *Column) parse(row Row, text string) error {
	if c.known != nil {
		row.Record.FieldByIndex(c.known).SetBool(text != "")
		if text == "" {
			return nil
		}
	}
	if c.none && text == "" {
		row.Record.FieldByIndex(c.index).SetInt(-1)
		return nil
	}
	if c.Kind == reflect.String {
		return c.SetText(row, text)
	}
	x, err := strconv.ParseUint(text, 10, 64)
	if c.Kind == reflect.Float64 {
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		x = math.Float64bits(f)
	}
	if err != nil {
		return errNumber
	}
	return c.SetBits(row, x)
}

var errNumber = errors.New("not a number that fits")

// maxFloat bounds quantities; no measured value is near.
const maxFloat = 1e18

// SetText puts a text that was read into a row.
func (c *Column) SetText(row Row, text string) error {
	if c.index == nil {
		row.Other[c.other] = Text(text)
		return nil
	}
	to := row.Record.FieldByIndex(c.index)
	if to.Kind() == reflect.String {
		to.SetString(Text(text))
		return nil
	}
	kind := slices.Index(SpanKinds(), text)
	if kind < 0 {
		return fmt.Errorf("none of %v", SpanKinds())
	}
	to.SetUint(uint64(kind))
	return nil
}

// SetBits puts the result of Bits into a row. It refuses impossible counts.
func (c *Column) SetBits(row Row, x uint64) error {
	if c.index == nil {
		row.Other[c.other] = textOf(c.Kind, x)
		return nil
	}
	to := row.Record.FieldByIndex(c.index)
	switch c.Kind {
	case reflect.Float64:
		f := math.Float64frombits(x)
		if !(f >= 0 && f <= maxFloat) { // NaN fails too
			return errNumber
		}
		to.SetFloat(f)
	case reflect.Int:
		if x > math.MaxInt32 {
			return errNumber
		}
		to.SetInt(int64(x))
	case reflect.Bool:
		if x > 1 {
			return errors.New("neither 0 nor 1")
		}
		to.SetBool(x == 1)
	default:
		to.SetUint(x)
	}
	return nil
}
