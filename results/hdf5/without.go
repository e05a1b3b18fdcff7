//go:build !hdf5

package hdf5

import "evbench/results"

// Built reports whether this binary has HDF5.
const Built = false

// Save writes a run as a new file.
func Save(string, *results.Run) error { return ErrNotBuilt }

// Read reads a run.
func Read(string) (*results.Run, error) { return nil, ErrNotBuilt }

// ReadMatrix reads a dataset of two dimensions.
func ReadMatrix(string, int) ([]float64, int, error) { return nil, 0, ErrNotBuilt }
