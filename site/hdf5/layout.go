//go:build hdf5

package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gonum.org/v1/hdf5"

	"evbench/results"
)

// A member is a column in the bytes of a row. Numbers are little-endian on every
// machine, texts end with a zero byte.
type member struct {
	results.Column
	offset, size int
}

// A layout is the arrangement of a row in memory and in the file, without gaps.
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

// layoutOf returns the layout of the rows of a table, with room for texts of these lengths by column.
func layoutOf(t *results.Table, longest []int) (l layout) {
	for i, c := range t.Columns {
		m := member{Column: c, offset: l.size, size: 8}
		switch c.Kind {
		case reflect.String:
			m.size = (max(textRoom, longest[i]+1) + textStep - 1) / textStep * textStep
		case reflect.Bool:
			m.size = 1
		}
		l.members = append(l.members, m)
		l.size += m.size
	}
	return l
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
	if m.Kind != reflect.String {
		return t.Insert(m.Name, m.offset, numberTypes[m.Kind])
	}
	text, err := stringType(m.size)
	if err != nil {
		return err
	}
	defer closing(text, &err)
	return t.Insert(m.Name, m.offset, text)
}

var numberTypes = map[reflect.Kind]*hdf5.Datatype{
	reflect.Int: hdf5.T_STD_I64LE, reflect.Uint64: hdf5.T_STD_U64LE, reflect.Float64: hdf5.T_IEEE_F64LE, reflect.Bool: hdf5.T_STD_U8LE,
}

// encode appends the bytes of a row, given its columns and the texts that they name.
func (l layout) encode(to, columns []byte, texts []string) ([]byte, error) {
	all := append(to, make([]byte, l.size)...)
	row := all[len(to):]
	for i := range l.members {
		m, x := &l.members[i], columns[8*i:][:8]
		if m.Kind != reflect.String {
			copy(row[m.offset:][:m.size], x)
			continue
		}
		text := texts[binary.LittleEndian.Uint64(x)]
		if strings.IndexByte(text, 0) >= 0 {
			return to, fmt.Errorf("%s: %q holds a zero byte", m.Name, text)
		}
		copy(row[m.offset:], text)
	}
	if blank(row) {
		return to, fmt.Errorf("%s: empty", l.members[0].Name)
	}
	return all, nil
}

// decode reads the bytes of a row, without a record only what this version does not know.
func (l layout) decode(bytesOf []byte, row results.Row) (err error) {
	for i := range l.members {
		m := &l.members[i]
		if !row.Record.IsValid() && m.Known() {
			continue
		}
		from := bytesOf[m.offset:][:m.size]
		switch m.Kind {
		case reflect.String:
			text, _, _ := bytes.Cut(from, []byte{0})
			err = m.SetText(row, string(text))
		case reflect.Bool:
			err = m.SetBits(row, uint64(from[0]))
		default:
			err = m.SetBits(row, binary.LittleEndian.Uint64(from))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// blank reports whether a row was never written: all its bytes are zero.
func blank(row []byte) bool { return len(bytes.Trim(row, "\x00")) == 0 }
