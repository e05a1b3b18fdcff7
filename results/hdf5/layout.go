//go:build hdf5

package hdf5

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"evbench/results"
)

// A member is a column in the bytes of a row. Numbers are little-endian on every
// machine, texts end with a zero byte.
type member struct {
	column
	offset, size int
}

// A layout is how a row lies in memory and in the file, without gaps.
type layout struct {
	members []member
	size    int
}

// textStep rounds the room of texts up, so that numbers behind them are aligned.
const textStep = 8

// newLayout returns the layout of rows with these fields. rooms has the bytes of
// each text, the zero included, by column.
func newLayout(columns []column, fields []any, rooms []int) layout {
	var l layout
	for i, f := range fields {
		size := 8
		switch f.(type) {
		case *string:
			size = (rooms[i] + textStep - 1) / textStep * textStep
		case *bool:
			size = 1
		}
		l.members = append(l.members, member{columns[i], l.size, size})
		l.size += size
	}
	return l
}

// widen raises rooms to hold the texts of a row.
func widen(rooms []int, fields []any) {
	for i, f := range fields {
		if s, ok := f.(*string); ok {
			rooms[i] = max(rooms[i], len(*s)+1)
		}
	}
}

// encode returns a row as bytes.
func (l layout) encode(fields []any) ([]byte, error) {
	row := make([]byte, l.size)
	for i, m := range l.members {
		to := row[m.offset:][:m.size]
		switch f := fields[i].(type) {
		case *string:
			if len(*f) >= m.size {
				return nil, fmt.Errorf("%s: %q is longer than the %d bytes of its column", m.name, *f, m.size-1)
			}
			if strings.Contains(*f, "\x00") {
				return nil, fmt.Errorf("%s: %q holds a zero byte", m.name, *f)
			}
			copy(to, *f)
		case *int:
			binary.LittleEndian.PutUint64(to, uint64(*f))
		case *uint64:
			binary.LittleEndian.PutUint64(to, *f)
		case *float64:
			binary.LittleEndian.PutUint64(to, math.Float64bits(*f))
		case *bool:
			if *f {
				to[0] = 1
			}
		}
	}
	return row, nil
}

// decode fills fields from the bytes of a row.
func (l layout) decode(row []byte, fields []any) error {
	for i, m := range l.members {
		from := row[m.offset:][:m.size]
		ok := true
		switch f := fields[i].(type) {
		case *string:
			text, _, _ := bytes.Cut(from, []byte{0})
			*f = results.Text(string(text))
		case *int:
			n := binary.LittleEndian.Uint64(from)
			*f, ok = int(n), n <= math.MaxInt32
		case *uint64:
			*f = binary.LittleEndian.Uint64(from)
		case *float64:
			*f = math.Float64frombits(binary.LittleEndian.Uint64(from))
			ok = *f >= 0 && *f <= maxFloat // NaN fails too
		case *bool:
			*f, ok = from[0] == 1, from[0] <= 1
		}
		if !ok {
			return fmt.Errorf("%s: not a number that fits", m.name)
		}
	}
	return nil
}

// maxFloat bounds what is taken for a quantity; nothing measured is near.
const maxFloat = 1e18

// blank reports whether a row is as HDF5 shows one that was never written.
func blank(row []byte) bool { return len(bytes.Trim(row, "\x00")) == 0 }
