//go:build !hdf5

package hdf5

import "evbench/results"

// Built reports whether this binary has HDF5.
const Built = false

// A Writer keeps a run in a file.
type Writer struct{}

// Create makes the file of a new run.
func Create(string) (*Writer, error) { return nil, ErrNotBuilt }

// Manifest replaces /manifest.json.
func (*Writer) Manifest(results.Manifest) error { return ErrNotBuilt }

// Sample appends a row to /samples.
func (*Writer) Sample(results.Sample) error { return ErrNotBuilt }

// Link appends a row to /links.
func (*Writer) Link(results.LinkCount) error { return ErrNotBuilt }

// Pair appends a row to /pairs.
func (*Writer) Pair(results.PairCount) error { return ErrNotBuilt }

// Exchange appends a row to /exchanges.
func (*Writer) Exchange(results.ExchangeTime) error { return ErrNotBuilt }

// Summary replaces /summary and /summary.json.
func (*Writer) Summary(results.Summary) error { return ErrNotBuilt }

// Plan keeps the plan of a case.
func (*Writer) Plan(string, []byte) error { return ErrNotBuilt }

// Close closes the file.
func (*Writer) Close() error { return ErrNotBuilt }

// Save writes a run and its plans, by case, as a new file.
func Save(string, *results.Run, map[string][]byte) error { return ErrNotBuilt }

// Read reads a run.
func Read(string) (*results.Run, error) { return nil, ErrNotBuilt }

// Plans reads the plans of a run, by case.
func Plans(string) (map[string][]byte, error) { return nil, ErrNotBuilt }

// ReadMatrix reads a dataset of two dimensions.
func ReadMatrix(string, int) ([]float64, int, error) { return nil, 0, ErrNotBuilt }
