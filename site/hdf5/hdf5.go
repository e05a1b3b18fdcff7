// Package hdf5 keeps a whole run in one HDF5 file: a dataset for each table of package results, the
// summary as a table and as its document, the manifest, and the plan of every case. Columns have
// their units as an attribute; docs/reference/files.md describes the file group by group. The
// package judges and computes nothing.
//
// It needs cgo, the HDF5 C library and the build tag hdf5. Without them Built is
// false and every function returns ErrNotBuilt.
package hdf5

import (
	"errors"
	"path/filepath"

	"evbench/results"
	"evbench/results/store"
	"evbench/routing"
)

// File is the name of the file in the directory of a run.
const File = "results.h5"

// Format has package store read such files, and write them where this binary can.
func Format(x routing.Engines) store.Format {
	f := store.Format{File: File, Read: Read, Engines: x}
	if Built {
		f.Rows = func(dir string) store.Rows { return NewRows(dir) }
	}
	return f
}

// MatrixName and TraceName are the datasets that ReadSizes and ReadTrace read.
const MatrixName, TraceName = "sizes", "trace"

// Save writes a run as Rows.Save does.
func Save(name string, run *results.Run) (err error) {
	rows := NewRows(filepath.Dir(name))
	defer rows.Close()
	for _, t := range results.Tables {
		rows.setForm(t, run.Forms.Of(t))
		for _, row := range t.Field(run).Seq2() {
			if err := rows.Add(t, row); err != nil {
				return err
			}
		}
	}
	return rows.Save(name, run)
}

// ErrNotBuilt says that this binary has no HDF5, and how to get one that has.
var ErrNotBuilt = errors.New("this evbench was built without HDF5; with the packages libhdf5-dev and gcc installed, make build includes it (go build -tags hdf5)")
