package yamldoc

import (
	"errors"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// TestErrors reads {a: 1, list: [..]} and expects each error to name file, line and field.
func TestErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no YAML", "a: [\nb: }", "f:1: not YAML: did not find"},
		{"two documents", "a: 1\n---\nb: 2", "f:2: a second document begins here"},
		{"alias into itself", "&a [*a]", "f: more than 100 nodes or 32 levels"},
		{"many nodes", "[" + strings.Repeat("a,", 200) + "]", "f: more than 100 nodes"},
		{"no mapping", "[a]", "f:1: is a list; write fields (name: value)"},
		{"unknown", "a: 1\nlost: 2", "f:2: lost: unknown field; did you mean list? there are a, list"},
		{"twice", "a: 1\na: 2", "f:2: a: given twice; first on line 1"},
		{"complex name", "[a]: 1", "f:1: the name of a field is one word"},
		{"merged", "<<: {b: 1}\na: 1", "f:1: b: unknown field; did you mean a? there are a, list"},
		{"empty", "a:", "f:1: a: is empty; write a single value"},
		{"not single", "a: {b: 1}", "f:1: a: is a group of fields; write a single value"},
		{"refused", "a: bad", "f:1: a: refused"},
		{"no list", "list: 1", `f:1: list: is the single value "1"; write a list`},
		{"element", "list:\n- x\n- bad", "f:3: list[1]: refused"},
		{"in the order of the document", "list: [bad]\na: bad", "f:1: list[0]: refused\nf:2: a: refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, root := Parse("f", []byte(tt.text), 100)
			set := func(s string) error {
				if s == "bad" {
					return errors.New("refused")
				}
				return nil
			}
			f := d.Mapping(root, []string{"a", "list"})
			d.Scalar(f.Get("a"), set)
			for _, e := range d.List(f.Get("list")) {
				d.Scalar(e, set)
				d.Scalar(e, set) // what is read twice is said once
			}
			expect.Error(t, d.Err(), tt.want)
			expect.Error(t, d.First(), strings.SplitN(tt.want, "\n", 2)[0])
		})
	}
}

// TestFollowed reads aliases, merge keys, and a value in place of its mapping.
func TestFollowed(t *testing.T) {
	d, root := Parse("", []byte("base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\nlist: [*b]\nshort: s"), 100)
	f := d.Mapping(root, nil)
	use := d.Mapping(f.Get("use"), []string{"x", "y"})
	short := d.Mapping(f.Get("short").InFull("name"), []string{"name"})
	expect.False(t, use.Text("x") != "1" || use.Text("y") != "3" || !d.List(f.Get("list"))[0].Has("x") || short.Text("name") != "s" || d.First() != nil,
		"%v, %v, %v", use, short, d.First())
	if d, root = Parse("", []byte("# nothing"), 100); root.Given() || d.First() != nil {
		t.Errorf("an empty document: %v, %v", root, d.First())
	}
}
