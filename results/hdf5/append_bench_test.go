//go:build hdf5

package hdf5

import (
	"errors"
	"path/filepath"
	"testing"

	"evbench/results"
)

// BenchmarkSamples is what a run of 100,000 samples costs the writer, flushed
// every 1,000 of them.
func BenchmarkSamples(b *testing.B) {
	for b.Loop() {
		w, err := create(filepath.Join(b.TempDir(), File), nil)
		if err != nil {
			b.Fatal(err)
		}
		err = w.Manifest(results.Manifest{Predictions: []results.Prediction{{Case: "a"}}})
		for i := 0; i < 100_000 && err == nil; i++ {
			if err = w.Sample(numbered(i)); i%1000 == 999 {
				err = errors.Join(err, w.Flush())
			}
		}
		if err := errors.Join(err, w.Close()); err != nil {
			b.Fatal(err)
		}
	}
}
