//go:build hdf5

package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"

	"gonum.org/v1/hdf5"

	"evbench/results"
)

// maxShrink is how much smaller than its content a file can be: what compression
// comes to at best. What claims more is damaged.
const maxShrink = 1100

// What is read at most of one text, and of one row, whatever a file can hold.
const (
	maxText = 256 << 20
	maxRow  = 1 << 20
)

// Read reads a run. Of one that was killed it returns what had been written: the
// summary then has no schema.
func Read(name string) (run *results.Run, err error) {
	err = open(name, func(r reader) error {
		run, err = r.run()
		return err
	})
	if err != nil {
		return nil, err
	}
	return run, nil
}

// Plans reads the plans of a run, by case.
func Plans(name string) (plans map[string][]byte, err error) {
	err = open(name, func(r reader) error {
		plans, err = r.plans()
		return err
	})
	if err != nil {
		return nil, err
	}
	return plans, nil
}

// A reader reads one file.
type reader struct {
	file *hdf5.File
	most int // bytes that a dataset may have
}

// open has f read a file of this schema.
func open(name string, f func(reader) error) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return call(name, func() (err error) {
		file, err := hdf5.OpenFile(name, hdf5.F_ACC_RDONLY)
		if err != nil {
			return because("cannot be read", err)
		}
		defer closing(file, &err)
		r := reader{file, int(min(info.Size(), 1<<40)) * maxShrink}
		if err := r.checkSchema(); err != nil {
			return err
		}
		return f(r)
	})
}

func (r reader) checkSchema() (err error) {
	root, err := r.file.OpenGroup("/")
	if err != nil {
		return because("open /", err)
	}
	defer closing(root, &err)
	a, err := root.OpenAttribute("schema")
	if err != nil {
		return errors.New("no attribute schema: these are no results of evbench")
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

func (r reader) run() (*results.Run, error) {
	run := &results.Run{}
	if !r.file.LinkExists(manifestName) {
		return nil, fmt.Errorf("holds no %s: the run was killed before it began", manifestName)
	}
	text, err := r.text(manifestName)
	if err != nil {
		return nil, err
	}
	if run.Manifest, err = results.ReadManifest(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	if r.file.LinkExists(summaryName) {
		if text, err = r.text(summaryName); err != nil {
			return nil, err
		}
		if run.Summary, err = results.ReadSummary(bytes.NewReader(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", summaryName, err)
		}
	}
	ended := run.Manifest.Complete
	if run.Samples, err = readRows(r, samples, ended); err != nil {
		return nil, fmt.Errorf("/%s: %w", samples.name, err)
	}
	if run.Links, err = readRows(r, links, ended); err != nil {
		return nil, fmt.Errorf("/%s: %w", links.name, err)
	}
	if run.Pairs, err = readLater(r, pairs, ended); err != nil {
		return nil, err
	}
	if run.Exchanges, err = readLater(r, exchanges, ended); err != nil {
		return nil, err
	}
	return run, nil
}

// readLater reads a table that files of before do not have.
func readLater[T any](r reader, t table[T], ended bool) ([]T, error) {
	if !r.file.LinkExists(t.name) {
		return nil, nil
	}
	rows, err := readRows(r, t, ended)
	if err != nil {
		return nil, fmt.Errorf("/%s: %w", t.name, err)
	}
	return rows, nil
}

// plans reads the group of plans.
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

// text reads a dataset of one text.
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

// extent returns the number of rows of a dataset that has one dimension.
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
