package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"evbench/internal/rules"
	"evbench/internal/show"
)

// An Error is one thing wrong with a document.
type Error struct {
	File   string
	Line   int    // from 1; 0: the whole file
	Field  string // path, such as cases[1].failures[0]; empty: the document
	reason string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.reason)
	return b.String()
}

// maxErrors is how many errors of one document are shown.
const maxErrors = 20

// A document collects what is wrong while it is read.
type document struct {
	file string
	open func(name string) (io.ReadCloser, error) // files that the document names; nil: none is opened
	errs []*Error
	seen map[string]bool // a matrix meets the same value many times

	failover *Failover // of cases that do not say
	from     field     // where it stands
}

// A field is a node of the document with the path that leads to it. The zero
// field is one that is not there.
type field struct {
	node *yaml.Node
	path string
}

func (f field) given() bool { return f.node != nil }

// fail notes an error at f.
func (d *document) fail(f field, format string, args ...any) {
	e := &Error{File: d.file, Field: f.path, reason: fmt.Sprintf(format, args...)}
	if f.node != nil {
		e.Line = f.node.Line
	}
	if text := e.Error(); !d.seen[text] {
		d.seen[text] = true
		d.errs = append(d.errs, e)
	}
}

// err joins what was noted, in the order of the document.
func (d *document) err() error {
	slices.SortStableFunc(d.errs, func(a, b *Error) int { return a.Line - b.Line })
	var all []error
	for i, e := range d.errs {
		if i == maxErrors {
			all = append(all, fmt.Errorf("%s: and %d more", d.file, len(d.errs)-i))
			break
		}
		all = append(all, e)
	}
	return errors.Join(all...)
}

// Fields are the entries of a mapping, by name and in the order written.
type fields struct {
	at    map[string]field
	order []string
}

func (fs fields) get(name string) field { return fs.at[name] }

func (fs fields) given(name string) bool { return fs.at[name].given() }

// value returns what is written for a field that has a single value.
func (fs fields) value(name string) string {
	if f := fs.get(name); f.given() {
		return cmp.Or(f.node.Value, " ")
	}
	return ""
}

// with returns fs and the entries of more, which win.
func (fs fields) with(more fields) fields {
	out := fields{at: map[string]field{}, order: slices.Clone(fs.order)}
	for name, f := range fs.at {
		out.at[name] = f
	}
	for _, name := range more.order {
		if !out.given(name) {
			out.order = append(out.order, name)
		}
		out.at[name] = more.at[name]
	}
	return out
}

// mapping reads a mapping whose fields must be among known. Merge keys (<<) are
// followed; what is written beside them wins.
func (d *document) mapping(f field, known group) fields {
	out := fields{at: map[string]field{}}
	if !d.kind(f, yaml.MappingNode) {
		return out
	}
	var merged []fields
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		key, value := f.node.Content[i], resolve(f.node.Content[i+1])
		at := field{value, join(f.path, key.Value)}
		switch {
		case key.Tag == "!!merge":
			merged = append(merged, d.merge(field{value, f.path}, known)...)
		case out.given(key.Value):
			d.fail(field{key, at.path}, "given twice; first on line %d", out.get(key.Value).node.Line)
		case key.Kind != yaml.ScalarNode || !slices.Contains(known.names(), key.Value):
			d.unknown(field{key, at.path}, key.Value, known.names())
		default:
			out.at[key.Value] = at
			out.order = append(out.order, key.Value)
		}
	}
	for _, m := range merged {
		out = m.with(out)
	}
	return out
}

func (d *document) merge(f field, known group) []fields {
	if f.node.Kind != yaml.SequenceNode {
		return []fields{d.mapping(f, known)}
	}
	var out []fields
	for _, n := range f.node.Content {
		out = append(out, d.mapping(field{resolve(n), f.path}, known))
	}
	return out
}

func (d *document) unknown(f field, name string, known []string) {
	sorted := slices.Sorted(slices.Values(known))
	hint := ""
	if near := show.Nearest(name, sorted); near != "" {
		hint = fmt.Sprintf("did you mean %s? ", near)
	}
	d.fail(f, "unknown field; %sthere are %s", hint, strings.Join(sorted, ", "))
}

// section reads a mapping, sets its fields that have a single value, and holds it against
// rules. It reports whether all that was right.
func (d *document) section(at field, g group, lines ...string) (f fields, good bool) {
	f = d.mapping(at, g)
	good = d.set(f, g)
	if !at.given() || at.node.Kind != yaml.MappingNode {
		return f, good && !at.given()
	}
	for _, line := range lines {
		b := rules.Parse(line).Broken(f.given, f.value)
		switch {
		case b == nil:
			continue
		case b.Missing:
			d.fail(at, "%s %s", b.Name, b.Reason)
		default:
			d.fail(f.get(b.Name), "%s", b.Reason)
		}
		return f, false
	}
	return f, good
}

// inFull is a single value written as the mapping that it is short for.
func (f field) inFull(name string) field {
	if !f.given() || f.node.Kind != yaml.ScalarNode || isNull(f.node) {
		return f
	}
	return field{&yaml.Node{Kind: yaml.MappingNode, Line: f.node.Line, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Value: name, Line: f.node.Line}, f.node,
	}}, f.path}
}

// list reads a list and returns its elements; nil if it is none.
func (d *document) list(f field) []field {
	if !d.kind(f, yaml.SequenceNode) {
		return nil
	}
	out := make([]field, len(f.node.Content))
	for i, n := range f.node.Content {
		out[i] = field{resolve(n), fmt.Sprintf("%s[%d]", f.path, i)}
	}
	return out
}

// kind reports whether f is given and of the kind wanted, and notes a wrong kind.
func (d *document) kind(f field, want yaml.Kind) bool {
	if !f.given() {
		return false
	}
	if f.node.Kind == want && !isNull(f.node) {
		return true
	}
	d.fail(f, "is %s; write %s", describe(f.node), kinds[want])
	return false
}

var kinds = map[yaml.Kind]string{
	yaml.MappingNode: "fields (name: value)", yaml.SequenceNode: "a list ([…] or lines with -)", yaml.ScalarNode: "a single value",
}

func describe(n *yaml.Node) string {
	switch {
	case isNull(n):
		return "empty"
	case n.Kind == yaml.ScalarNode:
		return fmt.Sprintf("the single value %q", n.Value)
	case n.Kind == yaml.SequenceNode:
		return "a list"
	}
	return "a group of fields"
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// scalar sets v from a single value, and reports whether it did.
func (d *document) scalar(f field, v value) bool {
	if !d.kind(f, yaml.ScalarNode) {
		return false
	}
	if err := v.set(f.node.Value); err != nil {
		d.fail(f, "%v", err)
		return false
	}
	return true
}

// resolve follows an alias to its anchor.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
