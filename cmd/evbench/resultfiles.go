package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"evbench/bench"
	"evbench/results"
	"evbench/results/csv"
	"evbench/results/hdf5"
)

// resultFiles are the files of a run.
type resultFiles interface {
	bench.Sink
	bench.PairSink
	Exchange(results.ExchangeTime) error
	Close() error
}

// createResults makes the directory of a run, with results.h5 beside the other
// files where HDF5 is built in, and has results/latest lead to it. It returns nil files
// on error; that the link could not be made is said, and is none.
func createResults(dir string, said io.Writer) (resultFiles, error) {
	files, err := createFiles(dir)
	if err != nil {
		return nil, err
	}
	if err := pointLatest(dir); err != nil {
		fmt.Fprintln(said, "evbench: warning:", err)
	}
	return files, nil
}

func createFiles(dir string) (resultFiles, error) {
	files, err := csv.Create(dir)
	if err != nil {
		return nil, err
	}
	if !hdf5.Built {
		return files, nil
	}
	more, err := hdf5.Create(filepath.Join(dir, hdf5.File))
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return &twoForms{files, more}, nil
}

// twoForms writes a run in two forms. What goes wrong with one does not keep
// anything from the other.
type twoForms struct {
	csv *csv.Writer
	h5  *hdf5.Writer
}

func (t *twoForms) Manifest(m results.Manifest) error {
	return errors.Join(t.csv.Manifest(m), t.h5.Manifest(m))
}

func (t *twoForms) Sample(s results.Sample) error {
	return errors.Join(t.csv.Sample(s), t.h5.Sample(s))
}

func (t *twoForms) Link(l results.LinkCount) error { return errors.Join(t.csv.Link(l), t.h5.Link(l)) }

func (t *twoForms) Pair(p results.PairCount) error { return errors.Join(t.csv.Pair(p), t.h5.Pair(p)) }

func (t *twoForms) Exchange(e results.ExchangeTime) error {
	return errors.Join(t.csv.Exchange(e), t.h5.Exchange(e))
}

func (t *twoForms) Summary(s results.Summary) error {
	return errors.Join(t.csv.Summary(s), t.h5.Summary(s))
}

func (t *twoForms) Plan(name string, text []byte) error {
	return errors.Join(t.csv.Plan(name, text), t.h5.Plan(name, text))
}

func (t *twoForms) Close() error { return errors.Join(t.csv.Close(), t.h5.Close()) }
