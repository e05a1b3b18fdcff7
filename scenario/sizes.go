package scenario

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"evbench/builder"
	"evbench/internal/atomicfile"
	"evbench/internal/unit"
)

const defaultSigma = 1

func (d *document) caseSizes(at field, s *Scenario, c *Case) {
	if !at.Given() {
		return
	}
	var to builder.Distribution
	if !d.sizes(at, s, &to) {
		return
	}
	sizes := builder.Sizes{Mean: int(s.Event.Fragment), Distribution: to}
	if most := unit.Bytes(sizes.Max()); most > maxFragment {
		d.Fail(at, "fragments of %s on average reach %s; the most is %s", s.Event.Fragment, most, maxFragment)
	}
	c.Sizes = &to
}

// sizes reads event.sizes, or the sizes of a case: the name of a distribution, its fields, or, for
// all cases, a file. It reports whether the input is valid.
func (d *document) sizes(at field, s *Scenario, to *builder.Distribution) bool {
	if !at.Given() {
		return true
	}
	fileGiven := at.Has("file")
	x := sizesOf{Distribution: *to, by: builder.Bys(), servers: maxServers}
	if fileGiven {
		x.Distribution, x.by = builder.Distribution{By: builder.ByEvent, Scale: 1}, builder.TableBys()
	}
	if s.Tree != nil {
		x.servers = max(2, builder.RolesOf(s.Tree).MostFanout()+1)
	}
	at = at.InFull("distribution")
	f, good := d.section(at, sizesFields(&x),
		"distribution fanout spread sigma: not with file, which states the sizes",
		"spread: needed with distribution=uniform", "spread: not with distribution="+builder.Exponential+"|"+builder.LogNormal,
		"sigma: only with distribution="+builder.LogNormal)
	if fileGiven {
		return good && d.sizesFile(f.Get("file"), s, &x, to)
	}
	*to = x.Distribution
	if to.Kind == builder.LogNormal && !f.Given("sigma") {
		to.Sigma = defaultSigma
	}
	switch {
	case !good:
	case !f.Given("distribution") && !f.Given("spread") && !f.Given("fanout"):
		d.Fail(at, "has no effect; write a distribution, such as exponential, or fanout, or file")
		return false
	case f.Given("by") && f.Given("fanout") && len(f.Order) == 2:
		d.Fail(f.Get("by"), "has no effect where all fragments have one size")
		return false
	}
	return good
}

func (d *document) sizesFile(at field, s *Scenario, x *sizesOf, to *builder.Distribution) bool {
	switch {
	case to != &s.Event.Sizes:
		d.Fail(at, "the sizes of a file are those of all cases; write event.sizes")
		return false
	case s.Tree == nil:
		return true
	case d.files == nil:
		d.Fail(at, "only a scenario that is a file itself takes sizes from a file")
		return false
	}
	var err error
	if x.Table, err = d.table(x.file, s.Tree.Servers()); err != nil {
		d.Fail(at, "%v", err)
		return false
	}
	*to = x.Distribution
	return true
}

// table reads a file of sizes, CSV or HDF5, and names it in its errors.
func (d *document) table(name string, servers int) ([]uint32, error) {
	if err := atomicfile.Regular(name); err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".h5") && d.files.HDF5 != nil {
		return d.files.HDF5(name, servers) // its errors name the file
	}
	return readList(name, func(r io.Reader) ([]uint32, error) { return builder.ReadTable(r, servers, builder.MaxTable) })
}

// readList reads a file of text, which is a regular one, and names it in errors.
func readList[T any](name string, read func(io.Reader) (T, error)) (out T, err error) {
	f, err := os.Open(name)
	if err != nil {
		return out, err
	}
	defer f.Close()
	return readNamed(name, atomicfile.Bound(atomicfile.Text(f), atomicfile.MaxList), read)
}

// readNamed reads a list, and names its file in errors.
func readNamed[T any](name string, text io.Reader, read func(io.Reader) (T, error)) (out T, err error) {
	out, err = read(text)
	if errors.Is(err, builder.ErrLongTable) {
		err = fmt.Errorf("%w; every worker is sent all of them", err)
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// meanOf is the mean of what servers that send fragments have in a table.
func meanOf(table []uint32, roles builder.Roles) float64 {
	sum, n := 0.0, 0
	for i, x := range table {
		if roles.Reads(i % roles.Servers) {
			sum, n = sum+float64(x), n+1
		}
	}
	return sum / float64(n)
}

// scale fits a table to the fragment size. If neither fragment nor phase is given, the file sets
// that size.
func (e *Event) scale() {
	if e.Sizes.Table == nil {
		return
	}
	mean := meanOf(e.Sizes.Table, e.roles)
	if e.stated {
		e.Fragment, e.Sizes.Scale = max(minFragment, unit.Bytes(mean+0.5)), 1
		return
	}
	e.Sizes.Scale = float64(e.Fragment) / mean
}
