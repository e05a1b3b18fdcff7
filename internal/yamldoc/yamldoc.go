// Package yamldoc reads the fields of a YAML document and reports its errors. An error names file,
// line and field. Aliases and merge keys are followed.
package yamldoc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"evbench/internal/lists"
	"evbench/internal/show"
)

// An Error is one error in a document.
type Error struct {
	File   string // empty: the caller names it
	Line   int    // from 1; 0: the whole file
	Field  string // path, such as cases[1].failures[0]; empty: the document
	reason string
}

func (e *Error) Error() string {
	text := e.reason
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	switch {
	case e.File == "" && e.Line > 0:
		return fmt.Sprintf("line %d: %s", e.Line, text)
	case e.File == "":
		return text
	case e.Line > 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, text)
	}
	return e.File + ": " + text
}

// maxErrors is how many errors of one document are shown.
const maxErrors = 20

// A Document collects the errors during reading.
type Document struct {
	File string // for errors
	errs []*Error
	seen map[string]bool // a value may be read several times
}

// A Field is a node of the document with its path. The zero Field is a missing one.
type Field struct {
	*yaml.Node
	Path string
}

func (f Field) Given() bool { return f.Node != nil }

// At returns the place in a mapping where a field of that name is missing.
func (f Field) At(name string) Field { return Field{f.Node, join(f.Path, name)} }

func (d *Document) Fail(f Field, format string, args ...any) {
	e := &Error{File: d.File, Field: f.Path, reason: fmt.Sprintf(format, args...)}
	if f.Given() {
		e.Line = f.Line
	}
	if text := e.Error(); !d.seen[text] {
		d.seen[text] = true
		d.errs = append(d.errs, e)
	}
}

// Err joins the errors so far, in the order of the document.
func (d *Document) Err() error {
	var all []error
	for i, e := range d.sorted() {
		if i == maxErrors {
			all = append(all, fmt.Errorf("%s: and %d more", d.File, len(d.errs)-i))
			break
		}
		all = append(all, e)
	}
	return errors.Join(all...)
}

func (d *Document) First() error {
	if len(d.errs) == 0 {
		return nil
	}
	return d.sorted()[0]
}

func (d *Document) sorted() []*Error {
	slices.SortStableFunc(d.errs, func(a, b *Error) int { return a.Line - b.Line })
	return d.errs
}

const maxDepth = 32

// Parse reads the only document of text, with at most nodes nodes after expanding its aliases. root
// is not given if that fails.
func Parse(file string, text []byte, nodes int) (d *Document, root Field) {
	d = &Document{File: file, seen: map[string]bool{}}
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		return d, Field{}
	case err == nil:
		err = dec.Decode(&second)
	}
	budget := nodes
	switch {
	case err == nil:
		d.Fail(Field{Node: &second}, "a second document begins here; a file holds one")
	case !errors.Is(err, io.EOF):
		d.syntax(err)
	case !sound(resolve(doc.Content[0]), maxDepth, &budget):
		d.Fail(Field{}, "more than %d nodes or %d levels once its aliases are followed", nodes, maxDepth)
	default:
		root = Field{Node: resolve(doc.Content[0])}
	}
	return d, root
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax notes an error of the YAML reader, with its line if it has one.
func (d *Document) syntax(err error) {
	at := Field{}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		if n, convErr := strconv.Atoi(m[1]); convErr == nil {
			at.Node = &yaml.Node{Line: n}
		}
	}
	text := yamlLine.ReplaceAllString(err.Error(), "")
	if strings.Contains(text, "cannot start any token") {
		text += "; YAML is indented with blanks, never with tabs"
	}
	d.Fail(at, "not YAML: %s", text)
}

// sound reports whether a tree stays small when its aliases are followed, and is finite: an alias
// inside its own anchor is not.
func sound(n *yaml.Node, depth int, budget *int) bool {
	if *budget--; *budget < 0 || depth < 0 {
		return false
	}
	for _, c := range n.Content {
		if !sound(resolve(c), depth-1, budget) {
			return false
		}
	}
	return true
}

// Fields are the entries of a mapping, by name and in their written order.
type Fields struct {
	at    map[string]Field
	Order []string
}

// One is a mapping of one entry.
func One(name string, f Field) Fields {
	return Fields{map[string]Field{name: f}, []string{name}}
}

func (fs Fields) Get(name string) Field { return fs.at[name] }

func (fs Fields) Given(name string) bool { return fs.at[name].Given() }

// Text returns the written text of a field with a single value.
func (fs Fields) Text(name string) string {
	if f := fs.Get(name); f.Given() {
		return cmp.Or(f.Value, " ")
	}
	return ""
}

// With returns fs and the entries of more, which take precedence.
func (fs Fields) With(more Fields) Fields {
	out := Fields{maps.Clone(fs.at), slices.Clone(fs.Order)}
	if out.at == nil {
		out.at = map[string]Field{}
	}
	for _, name := range more.Order {
		if !out.Given(name) {
			out.Order = append(out.Order, name)
		}
		out.at[name] = more.at[name]
	}
	return out
}

// Mapping reads a mapping whose fields must be among known; nil permits any. It follows merge keys
// (<<); the mapping's own entries take precedence.
func (d *Document) Mapping(f Field, known []string) Fields {
	out := Fields{at: map[string]Field{}}
	if !d.kind(f, yaml.MappingNode) {
		return out
	}
	var merged []Fields
	for i := 0; i+1 < len(f.Content); i += 2 {
		key, value := f.Content[i], resolve(f.Content[i+1])
		at := Field{value, join(f.Path, key.Value)}
		switch {
		case key.Tag == "!!merge":
			merged = append(merged, d.merge(Field{value, f.Path}, known)...)
		case key.Kind != yaml.ScalarNode:
			d.Fail(Field{key, f.Path}, "the name of a field is one word")
		case out.Given(key.Value):
			d.Fail(Field{key, at.Path}, "given twice; first on line %d", out.Get(key.Value).Line)
		case known != nil && !slices.Contains(known, key.Value):
			d.unknown(Field{key, at.Path}, known)
		default:
			out.at[key.Value] = at
			out.Order = append(out.Order, key.Value)
		}
	}
	for _, m := range merged {
		out = m.With(out)
	}
	return out
}

func (d *Document) merge(f Field, known []string) []Fields {
	if f.Kind != yaml.SequenceNode {
		return []Fields{d.Mapping(f, known)}
	}
	return lists.Map(f.Content, func(n *yaml.Node) Fields { return d.Mapping(Field{resolve(n), f.Path}, known) })
}

func (d *Document) unknown(f Field, known []string) {
	sorted := slices.Sorted(slices.Values(known))
	d.Fail(f, "unknown field; %s", show.Choices(f.Value, sorted))
}

// InFull expands a single value to the mapping that it abbreviates.
func (f Field) InFull(name string) Field {
	if !f.Given() || !f.Single() {
		return f
	}
	return Field{&yaml.Node{Kind: yaml.MappingNode, Line: f.Line, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Value: name, Line: f.Line}, f.Node,
	}}, f.Path}
}

// Group reports whether f is a mapping.
func (f Field) Group() bool { return f.Kind == yaml.MappingNode }

func (f Field) Has(name string) bool {
	for i := 0; f.Group() && i+1 < len(f.Content); i += 2 {
		if f.Content[i].Value == name {
			return true
		}
	}
	return false
}

// Elements returns the elements of a list; nil if f is no list.
func (f Field) Elements() []Field {
	if !f.Given() || f.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]Field, len(f.Content))
	for i, n := range f.Content {
		out[i] = Field{resolve(n), f.Path + "[" + strconv.Itoa(i) + "]"}
	}
	return out
}

// List returns the elements of a list, and notes an error if f is none.
func (d *Document) List(f Field) []Field {
	d.kind(f, yaml.SequenceNode)
	return f.Elements()
}

// Scalar sets a single value, and reports whether it did.
func (d *Document) Scalar(f Field, set func(text string) error) bool {
	if !d.kind(f, yaml.ScalarNode) {
		return false
	}
	if err := set(f.Value); err != nil {
		d.Fail(f, "%v", err)
		return false
	}
	return true
}

// kind reports whether f is given and of the wanted kind, and notes a wrong kind.
func (d *Document) kind(f Field, want yaml.Kind) bool {
	if !f.Given() {
		return false
	}
	if f.Kind == want && !f.Null() {
		return true
	}
	d.Fail(f, "is %s; write %s", f.describe(), kinds[want])
	return false
}

var kinds = map[yaml.Kind]string{
	yaml.MappingNode: "fields (name: value)", yaml.SequenceNode: "a list ([…] or lines with -)", yaml.ScalarNode: "a single value",
}

func (f Field) describe() string {
	switch {
	case f.Null():
		return "empty"
	case f.Kind == yaml.ScalarNode:
		return fmt.Sprintf("the single value %q", f.Value)
	case f.Kind == yaml.SequenceNode:
		return "a list"
	}
	return "a group of fields"
}

// Null reports whether the field has no value.
func (f Field) Null() bool { return f.Kind == yaml.ScalarNode && f.Tag == "!!null" }

// Single reports whether f is one value and not null.
func (f Field) Single() bool { return f.Kind == yaml.ScalarNode && !f.Null() }

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
