// Package store answers: in which forms is a run kept, and how is it made, opened and converted? A
// run is a directory of CSV and JSON files. One more format, HDF5, is handed in: a run is then
// also a file of it, in the directory or alone. Columns carry their units, and users' scripts rely
// on them. It measures and judges nothing.
package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"golang.org/x/sys/unix"

	"evbench/internal/atomicfile"
	"evbench/results"
	"evbench/routing"
)

// Names in a directory of results, beside the tables.
const (
	SummaryFile  = "summary.json"
	ManifestFile = "manifest.json"
	// PlansDir has a text for each case that has a schedule, named after the case.
	PlansDir = "plans"
)

// Files keep a run in a directory of its own. One goroutine uses them at a time. Every error names
// the file. After an error, the file stays as it is, and each further call and Close return the
// error.
type Files struct {
	dir    string
	forms  results.Forms
	tables []*table // those that are there, of tables with records, and of samples and links
	one    Rows     // for the file at the end that has all of it; nil: there will be none
	file   string   // of one
	judged bool     // there is a summary
}

// A Format keeps a whole run in one file. The zero value has directories alone.
type Format struct {
	File    string                                  // its name in the directory of a run
	Read    func(name string) (*results.Run, error) // reads a file
	Rows    func(dir string) Rows                   // begins one in a directory; nil: it is not built in
	Engines routing.Engines                         // of plans, beside routing's own
}

// Rows are the rows of a run until they are written.
type Rows interface {
	Add(t *results.Table, row reflect.Value) error
	Save(name string, run *results.Run) error
	Close() // forgets the rows
}

// ErrThere is the error where results would be overwritten.
var ErrThere = errors.New("exists already; results are never overwritten")

// CanCreate asks whether Create could make a directory, and changes nothing. The error wraps
// ErrThere where something has that name.
func CanCreate(dir string) error {
	if Present(dir) {
		return fmt.Errorf("%s: %w", dir, ErrThere)
	}
	parent := filepath.Dir(dir)
	for !Present(parent) {
		parent = filepath.Dir(parent)
	}
	err := unix.Access(parent, unix.W_OK|unix.X_OK)
	if info, statErr := os.Stat(parent); statErr != nil || !info.IsDir() {
		err = cmp.Or(statErr, error(unix.ENOTDIR))
	}
	if err != nil {
		return fmt.Errorf("%s cannot be made: %s: %w", dir, parent, err)
	}
	return nil
}

// Present reports whether there is a file of a name.
func Present(name string) bool { _, err := os.Lstat(name); return err == nil }

// Create is Format.Create for directories alone.
func Create(dir string) (*Files, error) { return Format{}.Create(dir) }

// Create makes the directory of a run, and its parents. It never touches an existing directory: the
// error then wraps fs.ErrExist.
func (x Format) Create(dir string) (*Files, error) {
	f, err := create(dir, nil)
	if err == nil && x.Rows != nil {
		f.one, f.file = x.Rows(dir), x.File
	}
	return f, err
}

func create(dir string, forms results.Forms) (*Files, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%s exists already; results are never overwritten: %w", dir, err)
		}
		return nil, err
	}
	f := &Files{dir: dir, forms: forms}
	if err := errors.Join(f.table(results.Samples).err, f.table(results.Links).err); err != nil {
		return nil, errors.Join(err, f.each((*table).close), os.RemoveAll(dir))
	}
	return f, nil
}

// Keeps says that there are files for all records.
func (f *Files) Keeps() results.Keeps {
	return results.Keeps{Pairs: true, Courses: true, Plans: true, Spans: true}
}

// Write keeps a record. Summary and manifest replace the ones before atomically, and write the
// lines so far to disk.
func (f *Files) Write(r results.Record) error {
	switch x := r.(type) {
	case results.Manifest:
		return errors.Join(f.each((*table).flush), f.document(ManifestFile, x.Write))
	case results.Summary:
		err := f.each((*table).flush)
		for _, t := range results.Derived {
			if text := f.derived(t, x); text != nil {
				err = errors.Join(err, f.text(fileOf(t), text))
			}
		}
		err = errors.Join(err, f.document(SummaryFile, x.Write))
		f.judged = err == nil
		return err
	case results.PathsText:
		return f.text(x.File, x.Text)
	case results.PlanText:
		if err := os.MkdirAll(filepath.Join(f.dir, PlansDir), 0o755); err != nil {
			return err
		}
		return f.text(filepath.Join(PlansDir, url.PathEscape(x.Case)+".txt"), x.Text)
	}
	t, row := f.table(results.TableOf(r)), reflect.ValueOf(r)
	if err := t.add(row); err != nil || f.one == nil || t.of == results.Spans {
		return err
	}
	return f.one.Add(t.of, row)
}

// table returns the file of a table, which is made when it is needed.
func (f *Files) table(of *results.Table) *table {
	if i := slices.IndexFunc(f.tables, func(t *table) bool { return t.of == of }); i >= 0 {
		return f.tables[i]
	}
	t := createTable(f.dir, of, f.forms.Of(of))
	f.tables = append(f.tables, t)
	return t
}

func (f *Files) each(do func(*table) error) (err error) {
	for _, t := range f.tables {
		err = errors.Join(err, do(t))
	}
	return err
}

func (f *Files) document(name string, write func(io.Writer) error) error {
	return atomicfile.Write(filepath.Join(f.dir, name), write)
}

func (f *Files) text(name string, text []byte) error {
	return f.document(name, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// derived is the file of a table whose rows summary.json has too, nil where there are none.
func (f *Files) derived(t *results.Table, s results.Summary) (text []byte) {
	form := f.forms.Of(t)
	for i, row := range s.Rows(t).Seq2() {
		if text == nil {
			text = form.Header(nil)
		}
		text = form.Line(text, form.Row(int(i.Int()), row))
	}
	return text
}

// Close closes all files, and makes the one file of them where its format is built in. The files on
// disk are complete if and only if there was no error.
func (f *Files) Close() error {
	if f.one != nil {
		defer f.one.Close()
	}
	if err := f.each((*table).close); err != nil || f.one == nil || !f.judged {
		return err
	}
	run, err := readDocuments(f.dir)
	if err != nil {
		return err
	}
	return f.one.Save(filepath.Join(f.dir, f.file), run)
}

// Save makes a directory of results of a run, without the one file. On error it leaves none.
func Save(dir string, run *results.Run) error {
	files, err := create(dir, run.Forms)
	if err != nil {
		return err
	}
	for r := range run.Records() {
		if err = files.Write(r); err != nil {
			break
		}
	}
	if err = errors.Join(err, files.Close()); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}
