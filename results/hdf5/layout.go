//go:build hdf5

package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"gonum.org/v1/hdf5"

	"evbench/results"
)

// A member is a column in the bytes of a row. Numbers are little-endian on every
// machine, texts end with a zero byte.
type member struct {
	results.Column
	kind         reflect.Kind // of its value
	offset, size int
}

// A layout is how a row lies in memory and in the file, without gaps.
type layout struct {
	members []member
	size    int
}

// Texts have at least textRoom bytes, and their room is a multiple of textStep, so that numbers
// behind them are aligned.
const (
	textRoom = 32
	textStep = 8
)

// layoutOf returns the layout of the rows of a table, with room for all texts, and how many they are.
func layoutOf(t *results.Table, rows results.Rows) (l layout, n int, err error) {
	longest := make([]int, len(t.Columns))
	err = rows(func(row reflect.Value) error {
		n++
		for i := range t.Columns {
			if text, ok := t.Columns[i].Value(row).(string); ok {
				longest[i] = max(longest[i], len(text))
			}
		}
		return nil
	})
	for i, c := range t.Columns {
		m := member{Column: c, kind: reflect.TypeOf(c.Value(t.New())).Kind(), offset: l.size, size: 8}
		switch m.kind {
		case reflect.String:
			m.size = (max(textRoom, longest[i]+1) + textStep - 1) / textStep * textStep
		case reflect.Bool:
			m.size = 1
		}
		l.members = append(l.members, m)
		l.size += m.size
	}
	return l, n, err
}

// datatype returns the compound of a layout. The caller closes it.
func (l layout) datatype() (*hdf5.CompoundType, error) {
	t, err := hdf5.NewCompoundType(l.size)
	if err != nil {
		return nil, because("row type", err)
	}
	for _, m := range l.members {
		if err := m.insert(t); err != nil {
			return nil, errors.Join(because("column "+m.Name, err), t.Close())
		}
	}
	return t, nil
}

func (m member) insert(t *hdf5.CompoundType) (err error) {
	if m.kind != reflect.String {
		return t.Insert(m.Name, m.offset, numberTypes[m.kind])
	}
	text, err := stringType(m.size)
	if err != nil {
		return err
	}
	defer closing(text, &err)
	return t.Insert(m.Name, m.offset, text)
}

// numberTypes are how numbers are kept, the same on every machine.
var numberTypes = map[reflect.Kind]*hdf5.Datatype{
	reflect.Int: hdf5.T_STD_I64LE, reflect.Uint64: hdf5.T_STD_U64LE, reflect.Float64: hdf5.T_IEEE_F64LE, reflect.Bool: hdf5.T_STD_U8LE,
}

// encode appends the bytes of a row.
func (l layout) encode(rows []byte, record reflect.Value) ([]byte, error) {
	all := append(rows, make([]byte, l.size)...)
	row := all[len(rows):]
	for _, m := range l.members {
		to := row[m.offset:][:m.size]
		switch x := m.Value(record).(type) {
		case string:
			if strings.Contains(x, "\x00") {
				return rows, fmt.Errorf("%s: %q holds a zero byte", m.Name, x)
			}
			copy(to, x)
		case int:
			binary.LittleEndian.PutUint64(to, uint64(x))
		case uint64:
			binary.LittleEndian.PutUint64(to, x)
		case float64:
			binary.LittleEndian.PutUint64(to, math.Float64bits(x))
		case bool:
			if x {
				to[0] = 1
			}
		}
	}
	if blank(row) {
		return rows, fmt.Errorf("%s: empty", l.members[0].Name)
	}
	return all, nil
}

// decode fills a record from the bytes of a row.
func (l layout) decode(row []byte, record reflect.Value) error {
	for _, m := range l.members {
		from := row[m.offset:][:m.size]
		var x any
		switch m.kind {
		case reflect.String:
			text, _, _ := bytes.Cut(from, []byte{0})
			x = string(text)
		case reflect.Float64:
			x = math.Float64frombits(binary.LittleEndian.Uint64(from))
		case reflect.Bool:
			if x = from[0] == 1; from[0] > 1 {
				return fmt.Errorf("%s: neither 0 nor 1", m.Name)
			}
		default:
			x = binary.LittleEndian.Uint64(from)
		}
		if err := m.Set(record, x); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// blank reports whether a row is as HDF5 shows one that was never written.
func blank(row []byte) bool { return len(bytes.Trim(row, "\x00")) == 0 }
