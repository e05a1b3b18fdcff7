package netfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A field is a place in the document, such as switches[3].ports; the zero field
// is not there.
type field struct {
	node *yaml.Node
	path string
}

func (f field) given() bool { return f.node != nil }

func (f field) errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if f.path == "" {
		return fmt.Errorf("line %d: %w", f.node.Line, err)
	}
	return fmt.Errorf("line %d: %s: %w", f.node.Line, f.path, err)
}

// mapping reads fields, which must be among known.
func (f field) mapping(known ...string) (map[string]field, error) {
	if f.node.Kind != yaml.MappingNode {
		return nil, f.errorf("is not a group of fields (name: value)")
	}
	out := map[string]field{}
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		key := f.node.Content[i]
		path := key.Value
		if f.path != "" {
			path = f.path + "." + path
		}
		at := field{f.node.Content[i+1], path}
		if !slices.Contains(known, key.Value) {
			return nil, field{key, f.path}.errorf("unknown field %s; there are %s", brief(key.Value), strings.Join(known, ", "))
		}
		if out[key.Value].given() {
			return nil, field{key, path}.errorf("is given twice")
		}
		out[key.Value] = at
	}
	return out, nil
}

func (f field) list() ([]field, error) {
	if !f.given() || f.node.Tag == "!!null" {
		return nil, nil
	}
	if f.node.Kind != yaml.SequenceNode {
		return nil, f.errorf("is not a list ([…] or lines with -)")
	}
	out := make([]field, len(f.node.Content))
	for i, n := range f.node.Content {
		out[i] = field{n, f.path + "[" + strconv.Itoa(i) + "]"}
	}
	return out, nil
}

func (f field) text() (string, error) {
	if f.node.Kind != yaml.ScalarNode || f.node.Tag == "!!null" {
		return "", f.errorf("is not a single value")
	}
	if strings.ContainsFunc(f.node.Value, func(r rune) bool { return r < ' ' }) {
		return "", f.errorf("%s: no control characters", brief(f.node.Value))
	}
	return f.node.Value, nil
}

func (f field) number(none, low, high int) (int, error) {
	if !f.given() {
		return none, nil
	}
	s, err := f.text()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		return 0, f.errorf("%s: write a whole number %d..%d", brief(s), low, high)
	}
	return n, nil
}

func (f field) guid(none uint64) (uint64, error) {
	if !f.given() {
		return none, nil
	}
	s, err := f.text()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil || n == 0 {
		return 0, f.errorf("%s: write a GUID as 0x0002c90300000001", brief(s))
	}
	return n, nil
}
