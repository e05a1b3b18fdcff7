package csv

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"evbench/internal/atomicfile"
	"evbench/results"
)

// A Writer keeps a run in a directory of its own. One goroutine uses it at a
// time. Every error names the file; after one, the file stays as it is and the
// error comes back from each further call and from Close.
type Writer struct {
	dir            string
	samples, links *table
}

// Create makes the directory, and its parents, for a new run. A directory that
// exists is never touched: it is an error that wraps fs.ErrExist.
func Create(dir string) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%s is there already; results are never overwritten: %w", dir, err)
		}
		return nil, err
	}
	samples, err := createTable(filepath.Join(dir, SamplesFile), sampleColumns)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	links, err := createTable(filepath.Join(dir, LinksFile), linkColumns)
	if err != nil {
		return nil, errors.Join(err, samples.file.Close(), os.RemoveAll(dir))
	}
	return &Writer{dir, samples, links}, nil
}

// Sample appends a line to samples.csv.
func (w *Writer) Sample(s results.Sample) error { return w.samples.add(sampleRow(s)) }

// Link appends a line to links.csv.
func (w *Writer) Link(l results.LinkCount) error { return w.links.add(linkRow(l)) }

// Manifest puts manifest.json in place of the one before, whole or not at all,
// and the lines so far on disk.
func (w *Writer) Manifest(m results.Manifest) error {
	return errors.Join(w.Flush(), atomicfile.Write(filepath.Join(w.dir, ManifestFile), m.Write))
}

// Summary puts summary.json in place of the one before, whole or not at all, and
// the lines so far on disk.
func (w *Writer) Summary(s results.Summary) error {
	return errors.Join(w.Flush(), atomicfile.Write(filepath.Join(w.dir, SummaryFile), s.Write))
}

// Flush hands all lines so far to the system.
func (w *Writer) Flush() error { return errors.Join(w.samples.flush(), w.links.flush()) }

// Close writes what is left and closes the files. What is on disk then is
// complete if and only if there was no error.
func (w *Writer) Close() error { return errors.Join(w.samples.close(), w.links.close()) }

// A table is one CSV file that grows. encoding/csv keeps the first error of the
// file beneath, and so does the table, with the name.
type table struct {
	file *os.File
	csv  *csv.Writer
	err  error
}

func createTable(name string, columns []string) (*table, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	t := &table{file: f, csv: csv.NewWriter(f)}
	if err := t.begin(columns); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return t, nil
}

// begin writes the header at once: a full disk shows before anything is measured.
func (t *table) begin(columns []string) error {
	if err := t.add(columns); err != nil {
		return err
	}
	return t.flush()
}

func (t *table) add(row []string) error {
	if t.err == nil {
		t.err = t.csv.Write(row)
	}
	return t.err
}

func (t *table) flush() error {
	if t.err == nil {
		t.csv.Flush()
		t.err = t.csv.Error()
	}
	return t.err
}

// close also syncs: a full disk may show only then.
func (t *table) close() error {
	err := t.flush()
	if err == nil {
		err = t.file.Sync()
	}
	return errors.Join(err, t.file.Close())
}

// Read reads the directory of a run back. A run that was killed has no summary;
// the error says so.
func Read(dir string) (*results.Run, error) {
	run := &results.Run{}
	for _, part := range []struct {
		name string
		read func(io.Reader) error
	}{
		{ManifestFile, func(r io.Reader) (err error) { run.Manifest, err = results.ReadManifest(r); return err }},
		{SummaryFile, func(r io.Reader) (err error) { run.Summary, err = results.ReadSummary(r); return err }},
		{SamplesFile, func(r io.Reader) (err error) { run.Samples, err = ReadSamples(r); return err }},
		{LinksFile, func(r io.Reader) (err error) { run.Links, err = ReadLinks(r); return err }},
	} {
		if err := readFile(dir, part.name, part.read); err != nil {
			return nil, err
		}
	}
	return run, nil
}

func readFile(dir, name string, read func(io.Reader) error) error {
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s holds no %s: it is no directory of results, or the run was killed: %w", dir, name, fs.ErrNotExist)
	} else if err != nil {
		return err
	}
	defer f.Close()
	if err := read(f); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}
