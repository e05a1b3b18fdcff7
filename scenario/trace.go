package scenario

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/internal/atomicfile"
)

// A trace is the one that the cases of a scenario take.
type trace struct {
	name string
	of   *builder.Trace // nil: it cannot be read
	err  error
}

// trace reads the trace that cases name, before these are read: its bytes are event.sizes.
func (d *document) trace(root, sizes field, s *Scenario) {
	name := traceOf(root, "")
	if name == "" || s.Tree == nil {
		return
	}
	x := &trace{name: name}
	d.traceRead = x
	switch {
	case sizes.Given():
		x.err = errors.New("states the sizes of all cases; leave event.sizes out")
	case d.files == nil:
		x.err = errors.New("only a scenario that is a file itself takes a trace")
	default:
		x.of, x.err = d.traceFile(name, func(r io.Reader) (*builder.Trace, error) {
			return builder.ReadTrace(r, s.Tree.Servers(), builder.MaxTable, s.source)
		})
		if x.err == nil {
			first := s.Warmup * uint64(builder.RolesOf(s.Tree).Events())
			s.Event.Sizes = builder.Distribution{By: builder.ByEvent, Scale: 1, Table: x.of.From(first)}
		}
	}
}

// traceFile reads a trace, CSV or HDF5, and names it in errors.
func (d *document) traceFile(name string, read func(io.Reader) (*builder.Trace, error)) (*builder.Trace, error) {
	if err := atomicfile.Regular(name); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, ".h5") || d.files.HDF5Trace == nil {
		return readList(name, read)
	}
	text, err := d.files.HDF5Trace(name) // its errors name the file
	if err != nil {
		return nil, err
	}
	return readNamed(name, text, read)
}

// traceOf is the first name of a trace in a load; "": there is none.
func traceOf(f field, key string) string {
	for i, x := range f.Content {
		if x.Alias != nil {
			x = x.Alias
		}
		is := key
		if f.Group() {
			is = f.Content[i&^1].Value
		}
		if key == "load" && is == "trace" && i%2 == 1 {
			return x.Value
		}
		if name := traceOf(field{Node: x}, is); name != "" {
			return name
		}
	}
	return ""
}

// source is the rank of a server that sends fragments, by name or position; -1: there is none.
func (s *Scenario) source(text string) int {
	rank := rankOf(s.Tree.Shape, text)
	if position, err := strconv.Atoi(text); err == nil {
		rank = slices.Index(s.Tree.Positions(), position)
	}
	if rank >= 0 && !s.Tree.Reads(rank) {
		return -1
	}
	return rank
}

// traced has a clock follow a trace, and reports whether it can.
func (d *document) traced(at field, s *Scenario, c *Case, l *load.Load, name string) bool {
	switch x := d.traceRead; {
	case s.Tree == nil:
		return false
	case x == nil || x.name != name:
		d.Fail(at, "%q: the sizes of a trace are those of all cases; write one trace", name)
	case x.err != nil:
		d.Fail(at, "%v", x.err)
	case c.Sizes != nil:
		d.Fail(at, "states the sizes; leave those of the case out")
	default:
		l.Rate, l.Arrival, l.Times = x.of.Rate(), load.Traced, x.of.Times
		return true
	}
	return false
}
