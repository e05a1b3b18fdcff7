package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
)

// Read is Format.Read for directories alone.
func Read(name string) (*results.Run, error) { return Format{}.ReadRun(name) }

// ReadRun reads a completed run, a directory or a file of the format. Every error names the file, and the line if any.
func (x Format) ReadRun(name string) (*results.Run, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return readDir(name)
	case x.Read != nil && filepath.Ext(name) == filepath.Ext(x.File):
		return x.Read(name)
	}
	return nil, fmt.Errorf("%s is neither a directory of results nor an .h5 file", name)
}

func readDir(dir string) (*results.Run, error) {
	run, err := readDocuments(dir)
	for _, t := range results.Tables {
		if err == nil {
			err = readRows(dir, t, run)
		}
	}
	if err != nil {
		return nil, err
	}
	return run, nil
}

func readDocuments(dir string) (*results.Run, error) {
	run := &results.Run{}
	err := readManifest(dir, run)
	if err == nil {
		err = readFile(dir, SummaryFile, func(r io.Reader) (err error) { run.Summary, err = results.ReadSummary(r); return err })
	}
	for _, t := range results.Derived {
		if err == nil {
			err = checkDerived(dir, t, run)
		}
	}
	if err == nil {
		run.Plans, err = readPlans(dir)
	}
	return run, err
}

// readRows reads the rows of a table. Rows of pairs and exchanges are optional.
func readRows(dir string, t *results.Table, run *results.Run) error {
	if optional := t == results.Pairs || t == results.Exchanges || t == results.Servers; optional && !has(dir, fileOf(t)) {
		return nil
	}
	return readFile(dir, fileOf(t), func(r io.Reader) error { return readInto(r, t, run) })
}

// readInto reads the rows of a table into a run.
func readInto(r io.Reader, t *results.Table, run *results.Run) (err error) {
	rows, form := t.Field(run), results.Form{}
	form.Table, err = readTable(r, t, func(row results.Row) error {
		rows.Set(reflect.Append(rows, row.Record))
		form.Add(row)
		return nil
	})
	run.SetForm(t, form)
	return err
}

func readManifest(dir string, run *results.Run) error {
	return readFile(dir, ManifestFile, func(r io.Reader) (err error) { run.Manifest, err = results.ReadManifest(r); return err })
}

// ReadTrace passes the spans of a run to take; without spans the error is fs.ErrNotExist.
func ReadTrace(dir string, take func(results.Span)) error {
	return readFile(dir, fileOf(results.Spans), func(r io.Reader) error {
		_, err := readTable(r, results.Spans, func(row results.Row) error { take(row.Record.Interface().(results.Span)); return nil })
		return err
	})
}

// maxFile bounds the bytes read of a file: a run of a day has less.
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

// missing describes a directory that lacks one of the files.
func missing(dir, name string) error {
	what := "it is not complete"
	if !has(dir, ManifestFile) {
		return fmt.Errorf("%s holds no %s: it is not a directory of results: %w", dir, name, fs.ErrNotExist)
	} else if name == SummaryFile {
		what = "the run is not complete, it was killed or is still going"
	}
	return fmt.Errorf("%s holds no %s, but a %s: %s: %w", dir, name, ManifestFile, what, fs.ErrNotExist)
}

func has(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return !errors.Is(err, fs.ErrNotExist)
}

// checkDerived compares the file of a table, if any, with the summary. It keeps columns that this version does not know.
func checkDerived(dir string, of *results.Table, run *results.Run) error {
	if !has(dir, fileOf(of)) {
		return nil
	}
	return readFile(dir, fileOf(of), func(r io.Reader) (err error) {
		form, want, n := results.Form{}, run.Summary.Rows(of), 0
		differs := func() error { return fmt.Errorf("row %d is not what %s says", n+1, SummaryFile) }
		form.Table, err = lines(r, of, func(t *results.Table, line []string) error {
			if n == want.Len() {
				return differs()
			}
			row := results.Row{Record: want.Index(n)}
			if !t.Same(&row, line) {
				return differs()
			}
			form.Add(row)
			n++
			return nil
		})
		if err == nil && n < want.Len() {
			err = differs()
		}
		run.SetForm(of, form)
		return err
	})
}

// readPlans reads the plans of a run, by case. A run without any is no error.
func readPlans(dir string) (map[string][]byte, error) {
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

// ReadAny reads a run, also a killed one without a summary: manifest, plans and samples, with the
// summary of results.Salvage. It leaves out an incomplete last line. The notes say so.
func (x Format) ReadAny(name string) (run *results.Run, notes []string, err error) {
	if !has(name, ManifestFile) || has(name, SummaryFile) {
		run, err = x.ReadRun(name)
		return run, nil, err
	}
	run = &results.Run{}
	if err := readManifest(name, run); err != nil {
		return nil, nil, err
	}
	file := filepath.Join(name, fileOf(results.Samples))
	text, err := atomicfile.Read(file, maxFile)
	if err != nil {
		return nil, nil, err
	}
	notes = append(notes, fmt.Sprintf("%s holds no %s: the run was killed. What follows is read from its samples and marked incomplete.", name, SummaryFile))
	if end := bytes.LastIndexByte(text, '\n') + 1; end < len(text) {
		notes = append(notes, fmt.Sprintf("%s: its last line is cut off and left out.", file))
		text = text[:end]
	}
	if err := readInto(bytes.NewReader(text), results.Samples, run); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	run.Summary = results.Salvage(run.Manifest, run.Samples)
	run.Plans, err = readPlans(name)
	return run, notes, err
}

// Loaded is a run for display.
type Loaded struct {
	Run   *results.Run
	Plans map[string]*plan.Plan // by case
	Notes []string              // what reading it has to say
}

// Load reads the results of a run, a directory or an HDF5 file, for display. It refuses
// contradictions, and accepts a killed run as incomplete.
func (x Format) Load(name string) (Loaded, error) {
	run, notes, err := x.ReadAny(name)
	if err != nil {
		return Loaded{}, err
	}
	if err := checkSamples(run); err != nil {
		return Loaded{}, fmt.Errorf("%s: %w", name, err)
	}
	plans, err := parsePlans(run, x.Engines)
	if err != nil {
		return Loaded{}, fmt.Errorf("%s: %w", filepath.Join(name, PlansDir), err)
	}
	for _, t := range results.Tables {
		if lacks := run.Forms.Of(t).Lacks(); lacks != nil {
			notes = append(notes, fmt.Sprintf("%s: /%s has no column %s, which counts as 0.", name, t.Name, strings.Join(lacks, ", ")))
		}
	}
	return Loaded{run.Merge(), plans, notes}, nil
}

// checkSamples compares the samples with the summary: every completed case has some, and other
// cases have none.
func checkSamples(run *results.Run) error {
	missing := map[results.SliceID]bool{} // by case; false: it has samples, or needs none
	measured, file := run.Summary.Measured(), fileOf(results.Samples)
	for _, c := range measured {
		missing[results.SliceID{Case: c.Name, Repeat: c.Repeat}] = c.Complete && c.Exchanges > 0
	}
	for i, s := range run.Samples {
		k := results.SliceID{Case: s.Case, Repeat: s.Repeat}
		if _, ok := missing[k]; !ok {
			return fmt.Errorf("%s: line %d: case %q, repeat %d, is not in %s", file, i+2, s.Case, s.Repeat, SummaryFile)
		}
		missing[k] = false
	}
	for _, c := range measured {
		if missing[results.SliceID{Case: c.Name, Repeat: c.Repeat}] {
			return fmt.Errorf("%s: no line of case %q, repeat %d, which %s marks as complete: lines are missing", file, c.Name, c.Repeat, SummaryFile)
		}
	}
	return nil
}

func parsePlans(run *results.Run, x routing.Engines) (map[string]*plan.Plan, error) {
	plans := map[string]*plan.Plan{}
	for _, name := range slices.Sorted(maps.Keys(run.Plans)) {
		p, err := plan.Read(bytes.NewReader(run.Plans[name]), x)
		if errors.Is(err, plan.ErrOther) {
			continue // one has no phases, and paths of one exchange only; the other is of no tree
		}
		if err != nil {
			return nil, fmt.Errorf("plan of case %q: %w", name, err)
		}
		for _, c := range run.Summary.Cases {
			if c.Name == name && c.PlanHash != "" && c.PlanHash != p.Hash() {
				return nil, fmt.Errorf("plan of case %q: its hash is %s; %s has %s", name, p.Hash(), SummaryFile, c.PlanHash)
			}
		}
		plans[name] = p
	}
	return plans, nil
}
