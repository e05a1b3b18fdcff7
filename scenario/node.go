package scenario

import (
	"slices"

	"evbench/internal/rules"
	"evbench/internal/yamldoc"
)

type (
	// An Error is one thing wrong with a document.
	Error = yamldoc.Error

	field  = yamldoc.Field
	fields = yamldoc.Fields
)

// A document collects errors while it is read.
type document struct {
	*yamldoc.Document
	files *Files // that the document names; nil: none is opened

	traceRead *trace    // that cases take; nil: none
	failover  *Failover // of cases that do not say
	from      field     // where it stands
}

// section reads a mapping, sets its fields that have a single value, and checks it against rules.
// It reports whether all was right.
func (d *document) section(at field, g group, lines ...string) (f fields, good bool) {
	f = d.Mapping(at, g.names())
	good = d.set(f, g)
	if !at.Given() || !at.Group() {
		return f, good && !at.Given()
	}
	for _, line := range lines {
		b := rules.Parse(line).Broken(f.Given, f.Text)
		switch {
		case b == nil:
			continue
		case b.Missing:
			d.Fail(at, "%s %s", b.Name, b.Reason)
		default:
			d.Fail(f.Get(b.Name), "%s", b.Reason)
		}
		return f, false
	}
	return f, good
}

// set sets the given fields of g: all that have a single value, or those of these names. It reports
// whether all are right.
func (d *document) set(f fields, g group, names ...string) bool {
	good := true
	for _, r := range g {
		if r.value.set != nil && f.Given(r.name) && (names == nil || slices.Contains(names, r.name)) {
			good = d.scalar(f.Get(r.name), r.value) && good
		}
	}
	return good
}

func (d *document) scalar(f field, v value) bool { return d.Scalar(f, v.set) }
