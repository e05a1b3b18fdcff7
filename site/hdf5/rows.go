//go:build hdf5

package hdf5

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"

	"evbench/results"
)

// Rows hold rows until they are written, as the length of texts is known only then. Rows that do
// not fit into memory are in files without a name, so a killed program leaves none.
type Rows struct {
	dir string
	of  map[*results.Table]*rows
}

// NewRows returns Rows that keep rows in a directory.
func NewRows(dir string) *Rows { return &Rows{dir: dir, of: map[*results.Table]*rows{}} }

// Add keeps a row of a table.
func (r *Rows) Add(t *results.Table, row reflect.Value) error {
	x := r.rows(t)
	if x.add(row); len(x.last) >= maxWaiting && x.err == nil {
		x.err = x.spill(r.dir)
	}
	return x.err
}

func (r *Rows) rows(t *results.Table) *rows {
	if r.of[t] == nil {
		r.setForm(t, results.Form{Table: t})
	}
	return r.of[t]
}

// setForm is called before the first row of a table.
func (r *Rows) setForm(t *results.Table, f results.Form) { r.of[t] = newRows(f) }

// Close forgets the rows.
func (r *Rows) Close() {
	for _, x := range r.of {
		if x.file != nil {
			_ = x.file.Close() // it has no name any more
		}
	}
}

// maxWaiting is the most bytes of rows in memory.
const maxWaiting = 64 << 10

// The rows of one table, each with eight bytes for a column: its bits, or the number of its text.
type rows struct {
	of      results.Form
	count   int
	texts   []string
	number  map[string]uint64 // in texts
	longest []int             // texts, by column
	file    *os.File          // all but the last; nil: there are no others
	last    []byte
	err     error // of the file
}

func newRows(f results.Form) *rows {
	return &rows{of: f, number: map[string]uint64{}, longest: make([]int, len(f.Columns))}
}

// rowsOf makes rows of a slice.
func rowsOf(f results.Form, list any) *rows {
	x := newRows(f)
	for _, row := range reflect.ValueOf(list).Seq2() {
		x.add(row)
	}
	return x
}

func (x *rows) add(record reflect.Value) {
	row := x.of.Row(x.count, record)
	for i := range x.of.Columns {
		c := &x.of.Columns[i]
		if c.Kind != reflect.String {
			x.last = binary.LittleEndian.AppendUint64(x.last, c.Bits(row))
			continue
		}
		text := c.Text(row)
		n, ok := x.number[text]
		if !ok {
			n = uint64(len(x.texts))
			x.texts, x.number[text] = append(x.texts, text), n
		}
		x.longest[i] = max(x.longest[i], len(text))
		x.last = binary.LittleEndian.AppendUint64(x.last, n)
	}
	x.count++
}

// spill moves rows from memory to the file.
func (x *rows) spill(dir string) (err error) {
	if x.file == nil {
		if x.file, err = os.CreateTemp(dir, ".rows-*"); err != nil {
			return err
		}
		if err := os.Remove(x.file.Name()); err != nil {
			return errors.Join(err, x.file.Close())
		}
	}
	_, err = x.file.Write(x.last)
	x.last = x.last[:0]
	return err
}

// each passes the columns of all rows to take, one row after the other.
func (x *rows) each(take func(columns []byte) error) error {
	if x.err != nil {
		return x.err
	}
	in, columns := io.Reader(bytes.NewReader(x.last)), make([]byte, 8*len(x.of.Columns))
	if x.file != nil {
		in = io.MultiReader(bufio.NewReaderSize(io.NewSectionReader(x.file, 0, math.MaxInt64), maxWaiting), in)
	}
	for i := range x.count {
		if _, err := io.ReadFull(in, columns); err != nil {
			return fmt.Errorf("/%s: row %d: %w", x.of.Name, i, err)
		}
		if err := take(columns); err != nil {
			return fmt.Errorf("/%s: row %d: %w", x.of.Name, i, err)
		}
	}
	return nil
}
