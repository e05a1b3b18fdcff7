//go:build hdf5

package hdf5

import (
	"errors"
	"fmt"

	"gonum.org/v1/hdf5"
)

// chunkRows is how many rows of a table that grows lie together, and by how many
// the file grows.
const chunkRows = 512

// noFilter keeps the rows as they are: a chunk that is flushed before it is full
// stays where it is.
const noFilter = -1

// An attributed object takes attributes: a group or a dataset.
type attributed interface {
	CreateAttribute(name string, t *hdf5.Datatype, s *hdf5.Dataspace) (*hdf5.Attribute, error)
}

// setAttribute writes values, which are packed rows of the type, as one
// attribute: a scalar, or a list when there are several.
func setAttribute(to attributed, name string, t *hdf5.Datatype, values []byte, count int) (err error) {
	space, err := hdf5.CreateDataspace(hdf5.S_SCALAR)
	if count != 1 {
		space, err = hdf5.CreateSimpleDataspace([]uint{uint(count)}, nil)
	}
	if err != nil {
		return because("attribute "+name, err)
	}
	defer closing(space, &err)
	a, err := to.CreateAttribute(name, t, space)
	if err != nil {
		return because("attribute "+name, err)
	}
	defer closing(a, &err)
	first := &values[0]
	return because("attribute "+name, a.Write(&first, t))
}

func setText(to attributed, name, text string) (err error) {
	t, err := stringType(len(text) + 1)
	if err != nil {
		return err
	}
	defer closing(t, &err)
	return setAttribute(to, name, t, append([]byte(text), 0), 1)
}

// unitColumns are those of an entry of the attribute units.
var unitColumns = []column{{"column", ""}, {"unit", ""}}

// setUnits writes the pairs of column and unit of a table.
func setUnits(to attributed, columns []column) (err error) {
	rooms := make([]int, 2)
	fields := func(c *column) []any { return []any{&c.name, &c.unit} }
	for _, c := range columns {
		widen(rooms, fields(&c))
	}
	l := newLayout(unitColumns, fields(&column{}), rooms)
	var values []byte
	for _, c := range columns {
		row, err := l.encode(fields(&c))
		if err != nil {
			return err
		}
		values = append(values, row...)
	}
	t, err := l.datatype(fields(&column{}))
	if err != nil {
		return err
	}
	defer closing(t, &err)
	return setAttribute(to, "units", &t.Datatype, values, len(columns))
}

// datatype returns the compound of a layout whose rows have these fields. The
// caller closes it.
func (l layout) datatype(fields []any) (*hdf5.CompoundType, error) {
	t, err := hdf5.NewCompoundType(l.size)
	if err != nil {
		return nil, because("row type", err)
	}
	for i, m := range l.members {
		if err := insert(t, m, fields[i]); err != nil {
			return nil, errors.Join(because("column "+m.name, err), t.Close())
		}
	}
	return t, nil
}

func insert(t *hdf5.CompoundType, m member, field any) (err error) {
	if _, ok := field.(*string); !ok {
		return t.Insert(m.name, m.offset, numberType(field))
	}
	text, err := stringType(m.size)
	if err != nil {
		return err
	}
	defer closing(text, &err)
	return t.Insert(m.name, m.offset, text)
}

// numberType is how a number is kept, the same on every machine.
func numberType(field any) *hdf5.Datatype {
	switch field.(type) {
	case *int:
		return hdf5.T_STD_I64LE
	case *uint64:
		return hdf5.T_STD_U64LE
	case *float64:
		return hdf5.T_IEEE_F64LE
	case *bool:
		return hdf5.T_STD_U8LE
	}
	panic(fmt.Sprintf("no column type for %T", field))
}

// A raw row is already as it is to be in the file.
type raw []byte

// MarshalC returns the row as the packet table takes it.
func (r raw) MarshalC() ([]byte, error) { return r, nil }

// create makes the empty dataset, with its attributes, and returns it to be
// appended to.
func (t table[T]) create(file *hdf5.File, rooms []int, chunk int) (packets *hdf5.Table, l layout, err error) {
	fields := t.fields(new(T))
	l = newLayout(t.columns, fields, rooms)
	dt, err := l.datatype(fields)
	if err != nil {
		return nil, l, err
	}
	defer closing(dt, &err)
	packets, err = file.CreateTable(t.name, &dt.Datatype, chunk, noFilter)
	if err != nil {
		return nil, l, because("create /"+t.name, err)
	}
	if err := t.describe(file); err != nil {
		return nil, l, errors.Join(err, packets.Close())
	}
	return packets, l, nil
}

func (t table[T]) describe(file *hdf5.File) (err error) {
	set, err := file.OpenDataset(t.name)
	if err != nil {
		return because("open /"+t.name, err)
	}
	defer closing(set, &err)
	return errors.Join(setText(set, "title", t.title), setUnits(set, t.columns))
}

// writeText keeps a document as a dataset of one text, compressed.
func writeText(file *hdf5.File, name string, text []byte) (err error) {
	t, err := stringType(len(text) + 1)
	if err != nil {
		return err
	}
	defer closing(t, &err)
	space, err := hdf5.CreateSimpleDataspace([]uint{1}, nil)
	if err != nil {
		return because("create "+name, err)
	}
	defer closing(space, &err)
	how, err := hdf5.NewPropList(hdf5.P_DATASET_CREATE)
	if err != nil {
		return because("create "+name, err)
	}
	defer closing(how, &err)
	if err := errors.Join(how.SetChunk([]uint{1}), how.SetDeflate(hdf5.BestSpeed)); err != nil {
		return because("create "+name, err)
	}
	set, err := file.CreateDatasetWith(name, t, space, how)
	if err != nil {
		return because("create "+name, err)
	}
	defer closing(set, &err)
	value := append(text[:len(text):len(text)], 0)
	return because("write "+name, set.Write(&value))
}

// replaceText puts a document in the place of the one before, if any.
func replaceText(file *hdf5.File, name string, text []byte) error {
	if file.LinkExists(name) {
		if err := remove(file, name); err != nil {
			return err
		}
	}
	return writeText(file, name, text)
}
