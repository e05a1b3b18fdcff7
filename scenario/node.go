package scenario

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"evbench/internal/nearest"
	"evbench/internal/unit"
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
		case key.Kind != yaml.ScalarNode || !known.has(key.Value):
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
	if near := nearest.To(name, sorted); near != "" {
		hint = fmt.Sprintf("did you mean %s? ", near)
	}
	d.fail(f, "unknown field; %sthere are %s", hint, strings.Join(sorted, ", "))
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

// scalar sets *to from a single value by parse; a field that is not there leaves
// it alone. It reports whether *to was set.
func scalar[T any](d *document, f field, to *T, parse func(string) (T, error)) bool {
	if !d.kind(f, yaml.ScalarNode) {
		return false
	}
	v, err := parse(f.node.Value)
	if err != nil {
		d.fail(f, "%v", err)
		return false
	}
	*to = v
	return true
}

func parseText(s string) (string, error) { return s, nil }

// between returns a parser of whole numbers low..high.
func between(low, high int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("%q: write a whole number %d..%d", s, low, high)
		}
		return n, nil
	}
}

func parseSeed(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: write a whole number 0..%d", s, uint64(1<<64-1))
	}
	return n, nil
}

// number returns a parser of numbers 0..high.
func number(high float64) func(string) (float64, error) {
	return func(s string) (float64, error) {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(x >= 0 && x <= high) { // NaN fails too
			return 0, fmt.Errorf("%q: write a number 0..%g", s, high)
		}
		return x, nil
	}
}

func parseOnOff(s string) (bool, error) {
	switch s {
	case "on", "true":
		return true, nil
	case "off", "false":
		return false, nil
	}
	return false, fmt.Errorf("%q: write on or off", s)
}

// span returns a parser of durations low..high.
func span(low, high time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		v, err := time.ParseDuration(s)
		if _, bare := strconv.ParseFloat(s, 64); bare == nil && s != "0" {
			return 0, fmt.Errorf("duration %q: no unit; write a number and one of us, ms, s, m, h", s)
		}
		if err != nil {
			return 0, fmt.Errorf("duration %q: write a number and one of us, ms, s, m, h, such as 10s", s)
		}
		if v < low || v > high {
			return 0, fmt.Errorf("%s: must be %s to %s", s, short(low), short(high))
		}
		return v, nil
	}
}

func parseFragment(s string) (unit.Bytes, error) {
	b, err := unit.ParseBytes(s)
	if s == "0" {
		b, err = 0, nil
	}
	if err != nil {
		return 0, err
	}
	if b < minFragment || b > maxFragment {
		return 0, fmt.Errorf("%s: must be %s to %s", s, minFragment, maxFragment)
	}
	return b, nil
}

// oneOf returns a parser of names. alias may give other spellings.
func oneOf(what string, choices []string, alias map[string]string) func(string) (string, error) {
	return func(s string) (string, error) {
		if full, ok := alias[s]; ok {
			s = full
		}
		if slices.Contains(choices, s) {
			return s, nil
		}
		return "", fmt.Errorf("no %s %q; there are %s", what, s, strings.Join(choices, ", "))
	}
}

// short prints a duration without empty units: 1m0s is 1m.
func short(v time.Duration) string {
	s := v.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
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
