package store_test

import (
	"errors"
	"path/filepath"
	"testing"

	"evbench/internal/expect"
	"evbench/results/store"
)

// BenchmarkWrite is what a sample costs in the files of a run, HDF5 included where it is built in.
func BenchmarkWrite(b *testing.B) {
	w, err := store.Create(filepath.Join(b.TempDir(), "run"))
	expect.Must(b, err)
	run := whole()
	expect.Must(b, errors.Join(w.Write(run.Manifest), w.Write(run.Summary)))
	s := run.Samples[0]
	for n := range b.N {
		s.TSec, s.GoodputBitPerSec = float64(n)/64+0.001, s.GoodputBitPerSec+0.25
		err = errors.Join(err, w.Write(s))
	}
	expect.Must(b, errors.Join(err, w.Close()))
}
