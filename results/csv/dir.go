package csv

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/results"
)

// A Writer keeps a run in a directory of its own. One goroutine uses it at a
// time. Every error names the file; after one, the file stays as it is and the
// error comes back from each further call and from Close.
type Writer struct {
	dir            string
	samples, links *table
	pairs          *table // nil until there are any
	exchanges      *table // likewise
	spans          *table // likewise
}

// Create makes the directory, and its parents, for a new run. A directory that
// exists is never touched: it is an error that wraps fs.ErrExist.
func Create(dir string) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
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
	return &Writer{dir: dir, samples: samples, links: links}, nil
}

// Sample appends a line to samples.csv.
func (w *Writer) Sample(s results.Sample) error { return w.samples.add(sampleRow(s)) }

// Link appends a line to links.csv.
func (w *Writer) Link(l results.LinkCount) error { return w.links.add(linkRow(l)) }

// Pair appends a line to pairs.csv, which the first one makes.
func (w *Writer) Pair(p results.PairCount) error {
	return w.optional(&w.pairs, PairsFile, pairColumns).add(pairRow(p))
}

// Exchange appends a line to exchanges.csv, which the first one makes.
func (w *Writer) Exchange(e results.ExchangeTime) error {
	return w.optional(&w.exchanges, ExchangesFile, exchangeColumns).add(exchangeRow(e))
}

// Span appends a line to trace.csv, which the first one makes.
func (w *Writer) Span(s results.Span) error {
	return w.optional(&w.spans, TraceFile, spanColumns).add(spanRow(s))
}

// optional returns a table of which the file is made when it is needed.
func (w *Writer) optional(t **table, name string, columns []string) *table {
	if *t == nil {
		var err error
		if *t, err = createTable(filepath.Join(w.dir, name), columns); err != nil {
			*t = &table{err: err}
		}
	}
	return *t
}

// Manifest puts manifest.json in place of the one before, whole or not at all,
// and the lines so far on disk.
func (w *Writer) Manifest(m results.Manifest) error {
	return errors.Join(w.flush(), atomicfile.Write(filepath.Join(w.dir, ManifestFile), m.Write))
}

// Summary puts summary.json in place of the one before, whole or not at all, and
// the lines so far on disk. failovers.csv comes with it, if there were any.
func (w *Writer) Summary(s results.Summary) error {
	return errors.Join(w.flush(), writeFailovers(w.dir, s), atomicfile.Write(filepath.Join(w.dir, SummaryFile), s.Write))
}

// flush hands all lines so far to the system.
func (w *Writer) flush() error {
	return errors.Join(w.samples.flush(), w.links.flush(), w.pairs.flush(), w.exchanges.flush(), w.spans.flush())
}

// Close writes what is left and closes the files. What is on disk then is
// complete if and only if there was no error.
func (w *Writer) Close() error {
	return errors.Join(w.samples.close(), w.links.close(), w.pairs.close(), w.exchanges.close(), w.spans.close())
}

// A table is one CSV file that grows. encoding/csv keeps the first error of the
// file beneath, and so does the table, with the name.
type table struct {
	file *os.File
	csv  *csv.Writer
	err  error
}

func createTable(name string, columns []string) (*table, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
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

// flush and close have nothing to do for a file that nobody made.
func (t *table) flush() error {
	if t == nil {
		return nil
	}
	if t.err == nil {
		t.csv.Flush()
		t.err = t.csv.Error()
	}
	return t.err
}

// close also syncs: a full disk may show only then.
func (t *table) close() error {
	err := t.flush()
	if t == nil || t.file == nil {
		return err
	}
	if err == nil {
		err = t.file.Sync()
	}
	return errors.Join(err, t.file.Close())
}

// Read reads the directory of a run back. A run that was killed has no summary;
// the error says so. Every error names the file, and the line where there is one.
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
	if err := readOptional(dir, run); err != nil {
		return nil, err
	}
	if err := checkFailovers(dir, run.Summary); err != nil {
		return nil, err
	}
	return run, nil
}

// readOptional reads the files that not every run has.
func readOptional(dir string, run *results.Run) error {
	err := readFile(dir, PairsFile, func(r io.Reader) (err error) { run.Pairs, err = ReadPairs(r); return err })
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = readFile(dir, ExchangesFile, func(r io.Reader) (err error) { run.Exchanges, err = ReadExchanges(r); return err })
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ReadTrace hands on the spans of a run; without any the error is fs.ErrNotExist.
func ReadTrace(dir string, take func(results.Span)) error {
	return readFile(dir, TraceFile, func(r io.Reader) error { return ReadSpans(r, take) })
}

// maxFile bounds what is read of a file: a run of a day has less.
const maxFile = 4 << 30

func readFile(dir, name string, read func(io.Reader) error) error {
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return missing(dir, name)
	} else if err != nil {
		return err
	}
	defer f.Close()
	if err := read(atomicfile.Bound(f, maxFile)); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

// missing says what a directory is that lacks one of the files.
func missing(dir, name string) error {
	_, err := os.Stat(filepath.Join(dir, ManifestFile))
	switch {
	case err != nil:
		return fmt.Errorf("%s holds no %s: it is no directory of results: %w", dir, name, fs.ErrNotExist)
	case name == SummaryFile:
		return fmt.Errorf("%s holds no %s, but a %s: the run is not complete, it was killed or is still going: %w", dir, name, ManifestFile, fs.ErrNotExist)
	}
	return fmt.Errorf("%s holds no %s, but a %s: it is not complete: %w", dir, name, ManifestFile, fs.ErrNotExist)
}

// PlansDir is where the plans of a run are, beside its files: one text for each
// case that has a schedule, named after the case.
const PlansDir = "plans"

// Plan keeps the plan of a case.
func (w *Writer) Plan(name string, text []byte) error {
	dir := filepath.Join(w.dir, PlansDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return atomicfile.Write(planFile(w.dir, name), func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	})
}

func planFile(dir, name string) string {
	return filepath.Join(dir, PlansDir, url.PathEscape(name)+".txt")
}

// Plans reads the plans of a run, by case. A run without any is no error.
func Plans(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(filepath.Join(dir, PlansDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	plans := map[string][]byte{}
	for _, e := range entries {
		file := filepath.Join(dir, PlansDir, e.Name())
		name, err := url.PathUnescape(strings.TrimSuffix(e.Name(), ".txt"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if plans[name], err = atomicfile.Read(file, maxFile); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// ReadKilled reads what a run left that was killed, and has no summary: its
// manifest and its samples, with the summary that results.Salvage makes of
// them. A last line that was being written is left out. Notes say all that.
func ReadKilled(dir string) (run *results.Run, notes []string, err error) {
	run = &results.Run{}
	err = readFile(dir, ManifestFile, func(r io.Reader) (err error) { run.Manifest, err = results.ReadManifest(r); return err })
	if err != nil {
		return nil, nil, err
	}
	name := filepath.Join(dir, SamplesFile)
	text, err := atomicfile.Read(name, maxFile)
	if err != nil {
		return nil, nil, err
	}
	notes = append(notes, fmt.Sprintf("%s holds no %s: the run was killed. What follows is read from its samples and marked incomplete.", dir, SummaryFile))
	if end := bytes.LastIndexByte(text, '\n') + 1; end < len(text) {
		notes = append(notes, fmt.Sprintf("%s: its last line is cut off and left out.", name))
		text = text[:end]
	}
	if run.Samples, err = ReadSamples(bytes.NewReader(text)); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	run.Summary = results.Salvage(run.Manifest, run.Samples)
	return run, notes, nil
}
