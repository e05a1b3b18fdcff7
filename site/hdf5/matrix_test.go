//go:build hdf5

package hdf5

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/hdf5"

	"evbench/builder"
	"evbench/testing/expect"
)

// dataset writes a file with one dataset.
func dataset[T any](t *testing.T, name string, values []T, dims ...uint) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.h5")
	must := func(err error) {
		expect.Must(t, err)
	}
	must(call(path, func() error {
		file, err := hdf5.CreateFile(path, hdf5.F_ACC_TRUNC)
		must(err)
		space, err := hdf5.CreateSimpleDataspace(dims, nil)
		must(err)
		kind, err := hdf5.NewDatatypeFromValue(values[0])
		must(err)
		set, err := file.CreateDataset(name, kind, space)
		must(err)
		must(set.Write(&values))
		must(set.Close())
		must(space.Close())
		return file.Close()
	}))
	return path
}

func TestReadMatrix(t *testing.T) {
	want := []float64{1, 2, 3, 40_000, 5, 6}
	for _, path := range []string{
		dataset(t, MatrixName, []uint16{1, 2, 3, 40_000, 5, 6}, 2, 3),
		dataset(t, MatrixName, []int64{1, 2, 3, 40_000, 5, 6}, 2, 3),
		dataset(t, MatrixName, []float32{1, 2, 3, 40_000, 5, 6}, 2, 3),
	} {
		got, columns, err := ReadMatrix(path, MatrixName, 6)
		expect.True(t, err == nil && columns == 3 && slices.Equal(got, want), "%v in %d columns, %v", got, columns, err)
	}
	for _, tt := range []struct{ path, want string }{
		{"none.h5", "no such file"},
		{dataset(t, "other", []int64{1}, 1, 1), "no dataset /sizes"},
		{dataset(t, MatrixName, []int64{1, 2}, 2), "dimensions [2], must be rows and columns"},
		{dataset(t, MatrixName, []int64{1, 2, 3, 4, 5, 6, 7}, 7, 1), "7 rows of 1 numbers, at most 6 numbers in all"},
		{dataset(t, MatrixName, []string{"1"}, 1, 1), "holds no numbers"},
	} {
		expect.Error(t, expect.Err2(ReadMatrix(tt.path, MatrixName, 6)), tt.want)
	}
}

func TestReadTrace(t *testing.T) {
	servers := func(source string) int { return slices.Index([]string{"0", "1"}, source) }
	text := expect.Value(ReadTrace(dataset(t, TraceName, []float64{1.5e9, 0, 2e6, 1.5e9, 1, 7, 1.5e9 + .25, 1, 9}, 3, 3)))(t)
	got := expect.Value(builder.ReadTrace(text, 2, builder.MaxTable, servers))(t)
	expect.Equal(t, got.Times, []time.Duration{0, 250 * time.Millisecond}, "times")
	expect.Equal(t, got.Table, []uint32{2e6, 7, 0, 9}, "bytes")
	expect.Error(t, expect.Err(ReadTrace(dataset(t, TraceName, []int64{1, 2}, 1, 2))), "/trace: 2 columns; there are time,source,bytes")
	expect.Error(t, expect.Err(ReadTrace(dataset(t, MatrixName, []int64{1}, 1, 1))), "no dataset /trace")
}
