//go:build !hdf5

package hdf5

import "evbench/results"

// Built reports whether this binary has HDF5.
const Built = false

// SaveRows writes a run as a new file.
func SaveRows(string, *results.Run, func(*results.Table) results.Rows) error { return ErrNotBuilt }

// Read reads a run.
func Read(string) (*results.Run, error) { return nil, ErrNotBuilt }

// ReadMatrix reads a dataset of two dimensions.
func ReadMatrix(string, int) ([]float64, int, error) { return nil, 0, ErrNotBuilt }
