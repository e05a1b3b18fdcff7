//go:build !hdf5

package hdf5

import (
	"reflect"

	"evbench/results"
)

// Built reports whether this binary has HDF5.
const Built = false

// Rows hold rows until they are written.
type Rows struct{}

// NewRows returns Rows that keep rows in a directory.
func NewRows(string) *Rows { return nil }

func (*Rows) setForm(*results.Table, results.Form) {}

// Add keeps a row of a table.
func (*Rows) Add(*results.Table, reflect.Value) error { return ErrNotBuilt }

// Save writes a run, whose rows have been added, as a new file.
func (*Rows) Save(string, *results.Run) error { return ErrNotBuilt }

// Close forgets the rows.
func (*Rows) Close() {}

// Read reads a run.
func Read(string) (*results.Run, error) { return nil, ErrNotBuilt }

// ReadMatrix reads a dataset of two dimensions.
func ReadMatrix(string, string, int) ([]float64, int, error) { return nil, 0, ErrNotBuilt }
