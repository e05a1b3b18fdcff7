//go:build hdf5

package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"reflect"

	"gonum.org/v1/hdf5"

	"evbench/results"
)

// maxShrink is the largest factor of compression. A file that claims more content is damaged.
const maxShrink = 1100

// Limits on one text, and on one row, for any file.
const (
	maxText = 256 << 20
	maxRow  = 1 << 20
)

// Read reads a run.
func Read(name string) (run *results.Run, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	err = call(name, func() (err error) {
		file, err := hdf5.OpenFile(name, hdf5.F_ACC_RDONLY)
		if err != nil {
			return because("cannot be read", err)
		}
		defer closing(file, &err)
		r := reader{file, int(min(info.Size(), 1<<40)) * maxShrink}
		if err := r.checkSchema(); err != nil {
			return err
		}
		run, err = r.run()
		return err
	})
	if err != nil {
		return nil, err
	}
	return run, nil
}

type reader struct {
	file *hdf5.File
	most int // bytes that a dataset may have
}

func (r reader) checkSchema() (err error) {
	root, err := r.file.OpenGroup("/")
	if err != nil {
		return because("open /", err)
	}
	defer closing(root, &err)
	a, err := root.OpenAttribute("schema")
	if err != nil {
		return errors.New("no attribute schema: these are not results of evbench")
	}
	defer closing(a, &err)
	space := a.Space()
	if space == nil {
		return because("attribute schema", errRefused)
	}
	defer closing(space, &err)
	var text [64]byte
	t, err := stringType(len(text))
	if err != nil {
		return err
	}
	defer closing(t, &err)
	if n := space.SimpleExtentNPoints(); n != 1 {
		return fmt.Errorf("attribute schema has %d values, not one", n)
	}
	if err := a.Read(&text, t); err != nil {
		return because("attribute schema", err)
	}
	if got, _, _ := bytes.Cut(text[:], []byte{0}); string(got) != schema {
		return fmt.Errorf("schema %q; this evbench reads %q", got, schema)
	}
	return nil
}

func (r reader) run() (run *results.Run, err error) {
	run = &results.Run{}
	err = r.document(manifestName, func(from io.Reader) (err error) { run.Manifest, err = results.ReadManifest(from); return err })
	if err == nil {
		err = r.document(summaryName, func(from io.Reader) (err error) { run.Summary, err = results.ReadSummary(from); return err })
	}
	for _, t := range results.Tables {
		if err == nil {
			if err = r.table(t, t.Field(run)); err != nil {
				err = fmt.Errorf("/%s: %w", t.Name, err)
			}
		}
	}
	if err == nil {
		run.Plans, err = r.plans()
	}
	return run, err
}

func (r reader) document(name string, read func(io.Reader) error) error {
	if !r.file.LinkExists(name) {
		return fmt.Errorf("holds no %s", name)
	}
	text, err := r.text(name)
	if err != nil {
		return err
	}
	if err := read(bytes.NewReader(text)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r reader) table(t *results.Table, rows reflect.Value) (err error) {
	set, err := r.file.OpenDataset(t.Name)
	if err != nil {
		return because("open", err)
	}
	defer closing(set, &err)
	l, err := readLayout(set, t)
	if err != nil {
		return err
	}
	if l.size > maxRow {
		return fmt.Errorf("rows of %d bytes, more than %d: it is damaged", l.size, maxRow)
	}
	n, err := extent(set)
	if err != nil {
		return err
	}
	if n < 0 || n > r.most/l.size {
		return fmt.Errorf("%d rows are more than the file can hold: it is damaged", n)
	}
	if n == 0 {
		return nil
	}
	values := make([]byte, n*l.size)
	if err := set.Read(&values); err != nil {
		return because("read", err)
	}
	rows.Grow(n)
	rows.SetLen(n)
	for i := range n {
		row := values[i*l.size:][:l.size]
		if blank(row) {
			return fmt.Errorf("row %d was never written: the file is damaged", i)
		}
		if err := l.decode(row, rows.Index(i)); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// readLayout returns the layout of the rows of a dataset, which must have the columns of a table.
func readLayout(set *hdf5.Dataset, t *results.Table) (l layout, err error) {
	dt, err := set.Datatype()
	if err != nil {
		return l, because("row type", err)
	}
	defer closing(dt, &err)
	if dt.Class() != hdf5.T_COMPOUND {
		return l, errors.New("not a table of rows with columns")
	}
	rows := &hdf5.CompoundType{Datatype: *dt}
	l = layoutOf(t, make([]int, len(t.Columns)))
	if n := rows.NMembers(); n != len(l.members) {
		return l, fmt.Errorf("%d columns, not %d", n, len(l.members))
	}
	l.size = int(dt.Size())
	for i := range l.members {
		if err := l.members[i].read(rows, i); err != nil {
			return l, err
		}
	}
	return l, nil
}

// read reads the offset of a member, which must be number i, from a file.
func (m *member) read(rows *hdf5.CompoundType, i int) (err error) {
	if name := rows.MemberName(i); name != m.Name {
		return fmt.Errorf("column %d is %q, not %q", i+1, name, m.Name)
	}
	dt, err := rows.MemberType(i)
	if err != nil {
		return because(m.Name, err)
	}
	defer closing(dt, &err)
	if text := m.Kind == reflect.String; text && !fixedText(dt) || !text && !dt.Equal(numberTypes[m.Kind]) {
		return fmt.Errorf("column %s has another type than evbench writes", m.Name)
	}
	m.offset, m.size = rows.MemberOffset(i), int(dt.Size())
	return nil
}

func (r reader) plans() (plans map[string][]byte, err error) {
	group, err := r.file.OpenGroup(plansName)
	if err != nil {
		return nil, because("open "+plansName, err)
	}
	defer closing(group, &err)
	n, err := group.NumObjects()
	if err != nil {
		return nil, because(plansName, err)
	}
	plans = map[string][]byte{}
	for i := range n {
		link, err := group.ObjectNameByIndex(i)
		if err != nil {
			return nil, because(plansName, err)
		}
		name, err := url.PathUnescape(link)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", plansName, err)
		}
		if plans[name], err = r.text(plansName + "/" + link); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

func (r reader) text(name string) (text []byte, err error) {
	set, err := r.file.OpenDataset(name)
	if err != nil {
		return nil, because(name, err)
	}
	defer closing(set, &err)
	dt, err := set.Datatype()
	if err != nil {
		return nil, because(name, err)
	}
	defer closing(dt, &err)
	rows, err := extent(set)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if rows != 1 || !fixedText(dt) {
		return nil, fmt.Errorf("%s: not one text of fixed length", name)
	}
	if size := dt.Size(); size > uint(min(r.most, maxText)) {
		return nil, fmt.Errorf("%s: %d bytes are more than the file can hold, or than are read: it is damaged", name, size)
	}
	text = make([]byte, dt.Size())
	if err := set.Read(&text); err != nil {
		return nil, because(name, err)
	}
	text, _, _ = bytes.Cut(text, []byte{0})
	return text, nil
}

func fixedText(t *hdf5.Datatype) bool {
	return t.Class() == hdf5.T_STRING && !(&hdf5.VarLenType{Datatype: *t}).IsVariableStr()
}

func extent(set *hdf5.Dataset) (rows int, err error) {
	space := set.Space()
	if space == nil {
		return 0, because("dimensions", errRefused)
	}
	defer closing(space, &err)
	if n := space.SimpleExtentNDims(); n != 1 {
		return 0, fmt.Errorf("%d dimensions, not one", n)
	}
	dims, _, err := space.SimpleExtentDims()
	if err != nil {
		return 0, because("dimensions", err)
	}
	return int(dims[0]), nil
}
