//go:build hdf5

package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"gonum.org/v1/hdf5"

	"evbench/internal/lists"
	"evbench/results"
)

// schema is the version of the file form, an attribute of its root.
const schema = "evbench/results/1"

const (
	manifestName = "/manifest.json"
	summaryName  = "/summary.json"
	plansName    = "/plans"
)

// Save writes a run, whose rows have been added, as a new file; on error it leaves none. It never
// touches an existing file: the error then wraps fs.ErrExist.
func (r *Rows) Save(name string, run *results.Run) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s exists already; results are never overwritten: %w", name, fs.ErrExist)
	}
	made := false
	err := call(name, func() error {
		file, err := hdf5.CreateFile(name, hdf5.F_ACC_EXCL)
		if err != nil {
			return because("create", err)
		}
		made = true
		err = r.save(file, run)
		if closeErr := because("close", file.Close()); err == nil {
			return closeErr
		}
		return err // what the library says then is but an echo of it
	})
	if err == nil {
		err = syncFile(name)
	}
	if err != nil && made {
		return errors.Join(err, os.Remove(name))
	}
	return err
}

// syncFile makes the system write the file: a full disk may show only then.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (r *Rows) save(file *hdf5.File, run *results.Run) error {
	err := beginRoot(file)
	for _, name := range slices.Sorted(maps.Keys(run.Plans)) {
		if err == nil {
			err = writeText(file, plansName+"/"+escape.Replace(name), run.Plans[name])
		}
	}
	for _, t := range results.Tables {
		if err == nil {
			err = writeTable(file, r.rows(t))
		}
	}
	if err == nil {
		err = writeTable(file, rowsOf(results.Form{Table: results.Cases}, run.Summary.Cases))
	}
	for _, t := range results.Derived {
		if rows := run.Summary.Rows(t); err == nil && rows.Len() > 0 {
			err = writeTable(file, rowsOf(run.Forms.Of(t), rows.Interface()))
		}
	}
	if err == nil {
		err = writeDocument(file, summaryName, run.Summary.Write)
	}
	if err == nil {
		err = writeDocument(file, manifestName, run.Manifest.Write)
	}
	if err == nil {
		err = because("flush", file.Flush(hdf5.F_SCOPE_GLOBAL))
	}
	return err
}

// beginRoot writes the parts that do not depend on the run.
func beginRoot(file *hdf5.File) (err error) {
	plans, err := file.CreateGroup(plansName)
	if err != nil {
		return because("create "+plansName, err)
	}
	defer closing(plans, &err)
	root, err := file.OpenGroup("/")
	if err != nil {
		return because("open /", err)
	}
	defer closing(root, &err)
	version, err := hdf5.LibVersion()
	return errors.Join(because("version", err), setText(root, "schema", schema), setText(root, "hdf5_version", version.String()))
}

// escape makes a name valid in the group of plans: a slash would begin another group.
var escape = strings.NewReplacer("%", "%25", "/", "%2F", ".", "%2E")

// writeTable makes the dataset of a table, which other programs may extend.
func writeTable(file *hdf5.File, x *rows) (err error) {
	l := layoutOf(x.of.Table, x.longest)
	kind, err := l.datatype()
	if err != nil {
		return err
	}
	defer closing(kind, &err)
	set, err := create(file, "/"+x.of.Name, &kind.Datatype, x.count, false)
	if err != nil {
		return err
	}
	defer closing(set, &err)
	block, done := make([]byte, 0, chunkRows*l.size), 0
	err = x.each(func(columns []byte) (err error) {
		if block, err = l.encode(block, columns, x.texts); err != nil {
			return err
		}
		n := len(block) / l.size
		if n < chunkRows && done+n < x.count {
			return nil
		}
		err, done, block = writeRows(set, done, n, block), done+n, block[:0]
		return because("write", err)
	})
	if err != nil {
		return err
	}
	return errors.Join(setText(set, "title", x.of.Title), setUnits(set, x.of.Columns))
}

// writeRows writes n rows, the first being number at of the table.
func writeRows(set *hdf5.Dataset, at, n int, rows []byte) (err error) {
	file := set.Space()
	if file == nil {
		return errRefused
	}
	defer closing(file, &err)
	if err := file.SelectHyperslab([]uint{uint(at)}, nil, []uint{uint(n)}, nil); err != nil {
		return err
	}
	memory, err := hdf5.CreateSimpleDataspace([]uint{uint(n)}, nil)
	if err != nil {
		return err
	}
	defer closing(memory, &err)
	return set.WriteSubset(&rows, memory, file)
}

func writeDocument(file *hdf5.File, name string, document func(io.Writer) error) error {
	var text bytes.Buffer
	if err := document(&text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return writeText(file, name, text.Bytes())
}

func writeText(file *hdf5.File, name string, text []byte) (err error) {
	kind, err := stringType(len(text) + 1)
	if err != nil {
		return err
	}
	defer closing(kind, &err)
	set, err := create(file, name, kind, 1, true)
	if err != nil {
		return err
	}
	defer closing(set, &err)
	value := append(text[:len(text):len(text)], 0)
	return because("write "+name, set.Write(&value))
}

// chunkRows is how many rows of a table lie together at most.
const chunkRows = 512

// create makes a dataset of that many rows, either fixed and compressed or extensible.
func create(file *hdf5.File, name string, kind *hdf5.Datatype, rows int, fixed bool) (set *hdf5.Dataset, err error) {
	defer func() { err = because("create "+name, err) }()
	most := []uint{math.MaxUint}
	if fixed {
		most = nil
	}
	space, err := hdf5.CreateSimpleDataspace([]uint{uint(rows)}, most)
	if err != nil {
		return nil, err
	}
	defer closing(space, &err)
	how, err := hdf5.NewPropList(hdf5.P_DATASET_CREATE)
	if err != nil {
		return nil, err
	}
	defer closing(how, &err)
	err = how.SetChunk([]uint{uint(min(max(1, rows), chunkRows))})
	if fixed && err == nil {
		err = how.SetDeflate(hdf5.BestSpeed)
	}
	if err != nil {
		return nil, err
	}
	return file.CreateDatasetWith(name, kind, space, how)
}

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

// A unitOf is an entry of the attribute units.
type unitOf struct {
	Column string `col:"column" unit:""`
	Unit   string `col:"unit" unit:""`
}

var unitTable = results.NewTable[unitOf]("units", "")

func setUnits(to attributed, columns []results.Column) (err error) {
	units := lists.Map(columns, func(c results.Column) unitOf { return unitOf{c.Name, c.Unit} })
	rows, values := rowsOf(results.Form{Table: unitTable}, units), []byte(nil)
	l := layoutOf(unitTable, rows.longest)
	if err := rows.each(func(columns []byte) (err error) { values, err = l.encode(values, columns, rows.texts); return err }); err != nil {
		return err
	}
	t, err := l.datatype()
	if err != nil {
		return err
	}
	defer closing(t, &err)
	return setAttribute(to, "units", &t.Datatype, values, len(units))
}
