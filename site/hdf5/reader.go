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
			err = r.table(run, t, t.Field(run))
		}
	}
	for _, t := range results.Derived {
		if err == nil && r.file.LinkExists(t.Name) {
			err = r.table(run, t, reflect.Value{}) // the summary says the rest
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

// table reads the rows of a table into a run, if rows is not valid only what this version does not know.
func (r reader) table(run *results.Run, t *results.Table, rows reflect.Value) error {
	form := results.Form{}
	err := r.rows(t, &form, rows)
	if err != nil {
		return fmt.Errorf("/%s: %w", t.Name, err)
	}
	if rows.IsValid() || form.Other == nil || len(form.Other) == run.Summary.Rows(t).Len() {
		run.SetForm(t, form)
	}
	return nil
}

func (r reader) rows(t *results.Table, form *results.Form, rows reflect.Value) (err error) {
	set, err := r.file.OpenDataset(t.Name)
	if err != nil {
		return because("open", err)
	}
	defer closing(set, &err)
	l, err := readLayout(set, t, form)
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
	if rows.IsValid() {
		rows.Grow(n)
		rows.SetLen(n)
	}
	for i := range n {
		bytesOf, row := values[i*l.size:][:l.size], results.Row{}
		if blank(bytesOf) {
			return fmt.Errorf("row %d was never written: the file is damaged", i)
		}
		if rows.IsValid() {
			row.Record = rows.Index(i)
		}
		form.Clear(&row)
		if err := l.decode(bytesOf, row); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		form.Add(row)
	}
	return nil
}

// readLayout returns the layout of the rows of a dataset, and the columns of a table that it has.
func readLayout(set *hdf5.Dataset, t *results.Table, form *results.Form) (l layout, err error) {
	dt, err := set.Datatype()
	if err != nil {
		return l, because("row type", err)
	}
	defer closing(dt, &err)
	if dt.Class() != hdf5.T_COMPOUND {
		return l, errors.New("not a table of rows with columns")
	}
	rows := &hdf5.CompoundType{Datatype: *dt}
	l.size = int(dt.Size())
	var names []string
	var kinds []reflect.Kind
	for i := range rows.NMembers() {
		m, err := readMember(rows, i)
		if err != nil {
			return l, err
		}
		if m.Kind != reflect.Invalid || t.Has(m.Name) {
			l.members, names, kinds = append(l.members, m), append(names, m.Name), append(kinds, m.Kind)
		}
	}
	if form.Table, err = t.With(names, kinds); err != nil {
		return l, err
	}
	for i, kind := range kinds {
		l.members[i].Column = form.Columns[i]
		if form.Columns[i].Kind != kind {
			return l, fmt.Errorf("column %s has another type than evbench writes", names[i])
		}
	}
	return l, nil
}

// readMember returns member i of rows, of kind Invalid if its type is none that evbench writes: without
// a column of that name in this version it is left out.
func readMember(rows *hdf5.CompoundType, i int) (m member, err error) {
	m.Name, m.offset = rows.MemberName(i), rows.MemberOffset(i)
	dt, err := rows.MemberType(i)
	if err != nil {
		return m, because(m.Name, err)
	}
	defer closing(dt, &err)
	m.size = int(dt.Size())
	if fixedText(dt) {
		m.Kind = reflect.String
	}
	for kind, number := range numberTypes {
		if dt.Equal(number) {
			m.Kind = kind
		}
	}
	return m, nil
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
