// Package kept reads JSON documents of later versions: members for which a type has no field are
// kept, and written again.
package kept

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/lists"
)

// A Rest is what a document has beyond the fields of its type; nil: nothing.
type Rest struct {
	members []member
	in      map[string]*Rest // by lower-case name of a field, or number of an element
}

type member struct {
	name  string
	value json.RawMessage
}

// compact returns the member without spaces between its parts, which depend on its place.
func (m member) compact() member {
	var b bytes.Buffer
	if json.Compact(&b, m.value) == nil {
		m.value = b.Bytes()
	}
	return m
}

// Unmarshal is json.Unmarshal, and returns the rest. Types that read themselves have none.
func Unmarshal(data []byte, v any) (*Rest, error) {
	if err := json.Unmarshal(data, v); err != nil {
		return nil, err
	}
	return fields{}.rest(data, reflect.TypeOf(v).Elem()), nil
}

// Marshal is json.Marshal of a value and of the rest of the document from which it was read. Lists
// must have the elements that were read, in their order.
func Marshal(v any, rest *Rest) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return rest.into(text), nil
}

// fields are the types of the fields of structs, by lower-case name: encoding/json ignores case.
type fields map[reflect.Type]map[string]reflect.Type

func (f fields) of(t reflect.Type) map[string]reflect.Type {
	if f[t] == nil {
		f[t] = map[string]reflect.Type{}
		for _, x := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(x.Tag.Get("json"), ",")
			if name == "" && !x.Anonymous {
				name = x.Name
			}
			if x.IsExported() && name != "" {
				f[t][strings.ToLower(name)] = x.Type
			}
		}
	}
	return f[t]
}

var readers = []reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}

func (f fields) rest(data []byte, t reflect.Type) *Rest {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if slices.ContainsFunc(readers, reflect.PointerTo(t).Implements) {
		return nil
	}
	r := &Rest{in: map[string]*Rest{}}
	switch t.Kind() {
	case reflect.Struct:
		for _, m := range membersOf(data) {
			if of, known := f.of(t)[strings.ToLower(m.name)]; !known {
				r.members = append(r.members, m.compact())
			} else if in := f.rest(m.value, of); in != nil {
				r.in[strings.ToLower(m.name)] = in
			}
		}
	case reflect.Slice:
		for i, value := range elementsOf(data, t.Elem()) {
			if in := f.rest(value, t.Elem()); in != nil {
				r.in[strconv.Itoa(i)] = in
			}
		}
	}
	if len(r.members)+len(r.in) == 0 {
		return nil
	}
	return r
}

// into adds the rest to a document without it.
func (r *Rest) into(text []byte) []byte {
	switch {
	case r == nil:
		return text
	case text[0] == '[':
		list := elementsOf(text, reflect.TypeFor[struct{}]())
		for i := range list {
			list[i] = r.in[strconv.Itoa(i)].into(list[i])
		}
		return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
	case text[0] != '{':
		return text
	}
	out := []byte{'{'}
	for i, m := range append(membersOf(text), r.members...) {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(m.name)
		out = append(append(out, name...), ':')
		out = append(out, r.in[strings.ToLower(m.name)].into(m.value)...)
	}
	return append(out, '}')
}

// membersOf returns the members of an object, nil of anything else.
func membersOf(object []byte) (list []member) {
	d := json.NewDecoder(bytes.NewReader(object))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, _ := d.Token()
		m := member{}
		m.name, _ = name.(string)
		if d.Decode(&m.value) != nil {
			return list
		}
		list = append(list, m)
	}
	return list
}

// elementsOf returns the elements of a list of structs or lists, nil of anything else.
func elementsOf(list []byte, t reflect.Type) [][]byte {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var raw []json.RawMessage
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Slice || json.Unmarshal(list, &raw) != nil {
		return nil
	}
	return lists.Map(raw, func(x json.RawMessage) []byte { return x })
}
