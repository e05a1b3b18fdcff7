//go:build hdf5

package hdf5

import (
	"errors"
	"fmt"
	"strings"

	"gonum.org/v1/hdf5"
)

// errBehindEnd says that a chunk lies behind the end of the file. The library
// notes the end last.
var errBehindEnd = errors.New("behind the end of the file")

// readRows reads a table. Of a run that did not come to its end it leaves out
// what a kill in the middle of a flush leaves behind the rows flushed before: rows
// that were never written, and a chunk behind the end of the file as it was noted.
func readRows[T any](r reader, t table[T], ended bool) (rows []T, err error) {
	set, err := r.file.OpenDataset(t.name)
	if err != nil {
		return nil, because("open", err)
	}
	defer closing(set, &err)
	l, err := readLayout(set, t.columns, t.fields(new(T)))
	if err != nil {
		return nil, err
	}
	if l.size > maxRow {
		return nil, fmt.Errorf("rows of %d bytes, more than %d: it is damaged", l.size, maxRow)
	}
	n, err := extent(set)
	if err != nil {
		return nil, err
	}
	if n < 0 || n > r.most/l.size {
		return nil, fmt.Errorf("%d rows are more than the file can hold: it is damaged", n)
	}
	for from := 0; from < n; from += chunkRows {
		block, err := readBlock(set, from, min(chunkRows, n-from), l.size)
		if errors.Is(err, errBehindEnd) && !ended {
			break
		}
		if err != nil {
			return nil, err
		}
		if rows, err = decodeRows(rows, from, block, t, l); err != nil {
			return nil, err
		}
	}
	if ended && len(rows) < n {
		return nil, fmt.Errorf("row %d was never written: the file is damaged", len(rows))
	}
	return rows, nil
}

// decodeRows appends the rows of a block, whose first is row from of the table,
// up to the first one that was never written; behind that there must be none.
func decodeRows[T any](rows []T, from int, block []byte, t table[T], l layout) ([]T, error) {
	for i := from; len(block) > 0; i++ {
		var row T
		switch {
		case blank(block[:l.size]):
		case len(rows) < i:
			return nil, fmt.Errorf("row %d was never written: the file is damaged", len(rows))
		default:
			if err := l.decode(block[:l.size], t.fields(&row)); err != nil {
				return nil, fmt.Errorf("row %d: %w", i, err)
			}
			rows = append(rows, row)
		}
		block = block[l.size:]
	}
	return rows, nil
}

// readLayout returns how rows lie in a dataset, which is to have these columns.
func readLayout(set *hdf5.Dataset, columns []column, fields []any) (l layout, err error) {
	dt, err := set.Datatype()
	if err != nil {
		return l, because("row type", err)
	}
	defer closing(dt, &err)
	if dt.Class() != hdf5.T_COMPOUND {
		return l, errors.New("not a table of rows with columns")
	}
	rows := &hdf5.CompoundType{Datatype: *dt}
	if n := rows.NMembers(); n != len(columns) {
		return l, fmt.Errorf("%d columns, not %d", n, len(columns))
	}
	l.size = int(dt.Size())
	for i, c := range columns {
		m, err := readMember(rows, i, c, fields[i])
		if err != nil {
			return l, err
		}
		l.members = append(l.members, m)
	}
	return l, nil
}

func readMember(rows *hdf5.CompoundType, i int, want column, field any) (m member, err error) {
	if name := rows.MemberName(i); name != want.name {
		return m, fmt.Errorf("column %d is %q, not %q", i+1, name, want.name)
	}
	dt, err := rows.MemberType(i)
	if err != nil {
		return m, because(want.name, err)
	}
	defer closing(dt, &err)
	ok := false
	if _, text := field.(*string); text {
		ok = fixedText(dt)
	} else {
		ok = dt.Equal(numberType(field))
	}
	if !ok {
		return m, fmt.Errorf("column %s has another type than evbench writes", want.name)
	}
	return member{want, rows.MemberOffset(i), int(dt.Size())}, nil
}

// readBlock reads rows as they lie in the file.
func readBlock(set *hdf5.Dataset, from, count, size int) (block []byte, err error) {
	file := set.Space()
	if file == nil {
		return nil, because("dimensions", errRefused)
	}
	defer closing(file, &err)
	if err := file.SelectHyperslab([]uint{uint(from)}, nil, []uint{uint(count)}, nil); err != nil {
		return nil, because(fmt.Sprintf("rows from %d on", from), err)
	}
	memory, err := hdf5.CreateSimpleDataspace([]uint{uint(count)}, nil)
	if err != nil {
		return nil, because("memory", err)
	}
	defer closing(memory, &err)
	block = make([]byte, count*size)
	if err := set.ReadSubset(&block, memory, file); err != nil {
		err = because(fmt.Sprintf("rows from %d on", from), err)
		if strings.Contains(err.Error(), "addr overflow") {
			err = fmt.Errorf("%w: %w", errBehindEnd, err)
		}
		return nil, err
	}
	return block, nil
}
