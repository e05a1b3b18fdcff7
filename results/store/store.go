// Package store answers: in which forms is a run kept, and how is it made, opened and
// changed from one into the other? A run is a directory of CSV and JSON files, with an HDF5
// file in it where HDF5 is built in, or an HDF5 file alone. It measures and judges nothing.
package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"evbench/results"
	"evbench/results/csv"
	"evbench/results/hdf5"
)

// A form is one of those in which a run is kept.
type form interface {
	Manifest(results.Manifest) error
	Sample(results.Sample) error
	Link(results.LinkCount) error
	Pair(results.PairCount) error
	Exchange(results.ExchangeTime) error
	Summary(results.Summary) error
	Plan(name string, text []byte) error
	Close() error
}

// Files are the files of a run that is measured. What goes wrong with one form does not
// keep anything from the other.
type Files struct {
	forms []form
	dir   *csv.Writer // of forms, the one that keeps spans
}

// Create makes the directory of a run, with results.h5 beside the other files where HDF5
// is built in.
func Create(dir string) (*Files, error) {
	files, err := csv.Create(dir)
	if err != nil {
		return nil, err
	}
	if !hdf5.Built {
		return &Files{[]form{files}, files}, nil
	}
	more, err := hdf5.Create(filepath.Join(dir, hdf5.File))
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return &Files{[]form{files, more}, files}, nil
}

// each writes to every form.
func (f *Files) each(write func(form) error) error {
	var errs []error
	for _, x := range f.forms {
		errs = append(errs, write(x))
	}
	return errors.Join(errs...)
}

// Manifest replaces the manifest.
func (f *Files) Manifest(m results.Manifest) error {
	return f.each(func(x form) error { return x.Manifest(m) })
}

// Sample appends a sample.
func (f *Files) Sample(s results.Sample) error {
	return f.each(func(x form) error { return x.Sample(s) })
}

// Link appends the counters of a link.
func (f *Files) Link(l results.LinkCount) error {
	return f.each(func(x form) error { return x.Link(l) })
}

// Keeps says that there are files for pairs of servers, plans and spans.
func (f *Files) Keeps() results.Keeps { return results.Keeps{Pairs: true, Plans: true, Spans: true} }

// Span appends what a server did, to the CSV file only.
func (f *Files) Span(s results.Span) error { return f.dir.Span(s) }

// Pair appends what a server received of another.
func (f *Files) Pair(p results.PairCount) error {
	return f.each(func(x form) error { return x.Pair(p) })
}

// Exchange appends the time of an exchange.
func (f *Files) Exchange(e results.ExchangeTime) error {
	return f.each(func(x form) error { return x.Exchange(e) })
}

// Summary replaces the summary.
func (f *Files) Summary(s results.Summary) error {
	return f.each(func(x form) error { return x.Summary(s) })
}

// Plan keeps the plan of a case.
func (f *Files) Plan(name string, text []byte) error {
	return f.each(func(x form) error { return x.Plan(name, text) })
}

// Close closes all files.
func (f *Files) Close() error { return f.each(form.Close) }

// SaveDir makes a directory of results of a run and its plans, by case. On error there is
// none.
func SaveDir(dir string, run *results.Run, plans map[string][]byte) error {
	files, err := csv.Create(dir)
	if err != nil {
		return err
	}
	err = fill(files, run)
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		err = errors.Join(err, files.Plan(name, plans[name]))
	}
	if err = errors.Join(err, files.Close()); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

// fill writes a run to its files. One that was killed has no summary.
func fill(files form, run *results.Run) error {
	for _, s := range run.Samples {
		if err := files.Sample(s); err != nil {
			return err
		}
	}
	for _, l := range run.Links {
		if err := files.Link(l); err != nil {
			return err
		}
	}
	for _, p := range run.Pairs {
		if err := files.Pair(p); err != nil {
			return err
		}
	}
	for _, e := range run.Exchanges {
		if err := files.Exchange(e); err != nil {
			return err
		}
	}
	if run.Summary.Schema != "" {
		if err := files.Summary(run.Summary); err != nil {
			return err
		}
	}
	return files.Manifest(run.Manifest)
}

// latest is the link to the last run.
const latest = "latest"

// PointLatest has the link latest in root lead to dir, which is there. Without a folder
// for results there is no link, and what is there and is no link stays.
func PointLatest(root, dir string) error {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil
	}
	link := filepath.Join(root, latest)
	if info, err := os.Lstat(link); err == nil && info.Mode().Type() != fs.ModeSymlink {
		return fmt.Errorf("%s is no link: it stays as it is, and does not lead to %s", link, dir)
	}
	from, err := realPath(root)
	if err != nil {
		return err
	}
	to, err := realPath(dir)
	if err != nil {
		return err
	}
	if to, err = filepath.Rel(from, to); err != nil {
		return err
	}
	return replaceLink(to, link)
}

// realPath is without links on the way, over which .. would lead elsewhere.
func realPath(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}

// replaceLink makes the link under another name first: whoever follows it meanwhile
// finds the one or the other.
func replaceLink(target, link string) error {
	tmp := filepath.Join(filepath.Dir(link), "."+latest+"-"+rand.Text())
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, link); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}
