package hdf5

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"

	"evbench/builder"
)

// ReadSizes reads the sizes of fragments in the dataset MatrixName: rows of bytes by source, of so
// many servers.
func ReadSizes(name string, servers int) ([]uint32, error) {
	numbers, columns, err := ReadMatrix(name, MatrixName, builder.MaxTable)
	if err != nil {
		return nil, err // names the file
	}
	out, err := sizesOf(numbers, columns, servers)
	if err != nil {
		return nil, fmt.Errorf("%s: /%s: %w", name, MatrixName, err)
	}
	return out, nil
}

// ReadTrace reads the dataset TraceName: a row of time, source by position, and bytes for each fragment, as the text that
// builder.ReadTrace takes, in which row n is line n+1.
func ReadTrace(name string) (io.Reader, error) {
	numbers, columns, err := ReadMatrix(name, TraceName, 3*builder.MaxTable)
	if err != nil {
		return nil, err // names the file
	}
	if columns != 3 {
		return nil, fmt.Errorf("%s: /%s: %d columns; there are time,source,bytes", name, TraceName, columns)
	}
	text := []byte("time,source,bytes")
	for i, x := range numbers {
		text = strconv.AppendFloat(append(text, "\n,,"[i%3]), x, 'f', -1, 64)
	}
	return bytes.NewReader(text), nil
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
