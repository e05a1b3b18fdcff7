package hdf5

import (
	"fmt"
	"math"

	"evbench/builder"
)

// ReadSizes reads the sizes of fragments in the dataset MatrixName: rows of bytes by source, of so
// many servers.
func ReadSizes(name string, servers int) ([]uint32, error) {
	numbers, columns, err := ReadMatrix(name, builder.MaxTable)
	if err != nil {
		return nil, err // names the file
	}
	out, err := sizesOf(numbers, columns, servers)
	if err != nil {
		return nil, fmt.Errorf("%s: /%s: %w", name, MatrixName, err)
	}
	return out, nil
}

func sizesOf(numbers []float64, columns, servers int) ([]uint32, error) {
	if columns != servers {
		return nil, fmt.Errorf("%d columns for %d servers", columns, servers)
	}
	out := make([]uint32, len(numbers))
	for i, x := range numbers {
		if !(x >= 0 && x <= builder.MaxFragment) || x != math.Trunc(x) {
			return nil, fmt.Errorf("row %d, source %d: %v: must be bytes, a whole number 0..%d", i/columns, i%columns, x, builder.MaxFragment)
		}
		out[i] = uint32(x)
	}
	return out, builder.CheckTable(out)
}
