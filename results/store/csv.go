package store

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"evbench/internal/disk"
	"evbench/results"
)

// A table is one CSV file that grows. It keeps its first error.
type table struct {
	of   *results.Table
	form results.Form // in which it is written
	n    int          // rows so far
	file disk.File
	size int64  // of the file
	rows []byte // not in it yet
	err  error
}

// block is how many bytes wait to be written: a killed run loses them.
const block = 4 << 10

func fileOf(t *results.Table) string { return t.Name + ".csv" }

// createTable writes the header at once: a full disk shows before anything is measured.
func createTable(dir string, of *results.Table, form results.Form) *table {
	f, err := disk.Open(filepath.Join(dir, fileOf(of)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return &table{of: of, err: err}
	}
	t := &table{of: of, form: form, file: f, rows: form.Header(nil)}
	if t.flush() != nil { // keeps its error
		_ = os.Remove(f.Name()) // a file without a header would be no table
	}
	return t
}

func (t *table) add(record reflect.Value) error {
	if t.err == nil {
		t.rows = t.form.Line(t.rows, t.form.Row(t.n, record))
		t.n++
	}
	if len(t.rows) < block {
		return t.err
	}
	return t.flush()
}

func (t *table) flush() error {
	if t.err == nil {
		if _, t.err = t.file.Write(t.rows); t.err != nil {
			_ = t.file.Truncate(t.size) // no half of a line
		}
		t.size += int64(len(t.rows))
		t.rows = t.rows[:0]
	}
	return t.err
}

// close also syncs: a full disk may show only then.
func (t *table) close() error {
	err := t.flush()
	if t.file.File == nil {
		return err
	}
	if err == nil {
		err = t.file.Sync()
	}
	return errors.Join(err, t.file.Close())
}

// readTable passes each row of a CSV file to take; its record is valid until the next. It returns the
// columns of the file. Errors name line and column.
func readTable(r io.Reader, t *results.Table, take func(results.Row) error) (*results.Table, error) {
	row := results.Row{Record: t.New()}
	return lines(r, t, func(t *results.Table, line []string) error {
		t.Clear(&row)
		if err := t.Parse(row, line); err != nil {
			return err
		}
		return take(row)
	})
}

// lines calls f for every line after the header. Columns are found by their names: an older file has
// fewer, a newer one more.
func lines(r io.Reader, t *results.Table, f func(t *results.Table, line []string) error) (*results.Table, error) {
	end := &lastByte{r: r, left: maxRow}
	in := csv.NewReader(end) // which holds all lines to the number of columns
	in.ReuseRecord = true
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("empty; the first line names the columns")
	} else if err != nil {
		return nil, err
	}
	if t, err = t.With(header, nil); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	return t, end.lines(in, func(line []string) error { return f(t, line) })
}

// lines calls f for every line that is left.
func (l *lastByte) lines(in *csv.Reader, f func(line []string) error) error {
	for number := 1; ; {
		l.left = maxRow
		line, err := in.Read()
		if errors.Is(err, io.EOF) {
			return l.closed(number)
		}
		if len(line) > 0 {
			number, _ = in.FieldPos(0)
		}
		if err == nil {
			if err = f(line); err != nil {
				err = fmt.Errorf("line %d: %w", number, err)
			}
		}
		if err != nil {
			return l.reason(in, number, err)
		}
	}
}

// maxRow bounds the bytes read for one line, so that a file without lines, such as a device, takes
// no more memory.
const maxRow = 1 << 20

// lastByte passes its input on, up to a limit, and keeps the last byte.
type lastByte struct {
	r    io.Reader
	left int
	last byte
}

func (l *lastByte) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("a line of more than %d bytes", maxRow)
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	if n > 0 {
		l.last = p[n-1]
	}
	return n, err
}

// reason returns the error of a line. For a last line that was cut off it says so.
func (l *lastByte) reason(in *csv.Reader, line int, err error) error {
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		line = bad.StartLine
	}
	l.left = maxRow
	if _, next := in.Read(); errors.Is(next, io.EOF) && l.closed(line) != nil {
		return l.closed(line)
	}
	return err
}

// closed checks the end of the file: a last number without its end of line may lack digits too.
func (l *lastByte) closed(line int) error {
	if l.last != '\n' {
		return fmt.Errorf("line %d has no end: the file was cut off there", line)
	}
	return nil
}
