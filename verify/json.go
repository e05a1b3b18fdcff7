package verify

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The JSON form is one object. Its messages, nearly all of the file, are read
// number by number; the other values are small and go through encoding/json.

// jsonKeys are the fields of the JSON form, in the order of a written file.
var jsonKeys = []string{"schema", "topology", "fill", "spines", "down", "schedule", "routing", "phases", "bound",
	"gap", "duration", "predicted_efficiency", "unsynchronised_efficiency_at_most", "hash", "messages"}

const schema = "evbench/plan/1"

// An input counts the lines it has read.
type input struct {
	*bufio.Reader
	line int
}

// peek skips white space and returns the next byte without taking it.
func (in *input) peek() (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		switch c {
		case '\n':
			in.line++
		case ' ', '\t', '\r':
		default:
			return c, in.UnreadByte()
		}
	}
}

// next is peek that takes the byte.
func (in *input) next() (byte, error) {
	c, err := in.peek()
	if err != nil {
		return 0, in.ended(err)
	}
	in.Discard(1)
	return c, nil
}

func (in *input) ended(err error) error {
	if errors.Is(err, io.EOF) {
		return in.wrong("the document ends in the middle")
	}
	return fmt.Errorf("read plan: line %d: %w", in.line, err)
}

func (in *input) wrong(format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{in.line}, args...)...)
}

// expect takes the given byte.
func (in *input) expect(want byte) error {
	c, err := in.next()
	if err == nil && c != want {
		err = in.wrong("%q where %q should be", c, want)
	}
	return err
}

// more takes the byte after an element: true for a comma, false for the end.
func (in *input) more(end byte) (bool, error) {
	c, err := in.next()
	if err == nil && c != ',' && c != end {
		err = in.wrong("%q where ',' or %q should be", c, end)
	}
	return c == ',', err
}

// empty takes the end of an object or array that has no element.
func (in *input) empty(end byte) (bool, error) {
	c, err := in.peek()
	if err != nil {
		return false, in.ended(err)
	}
	if c == end {
		in.Discard(1)
	}
	return c == end, nil
}

// value takes one JSON value as it stands. It only finds the end; encoding/json
// finds what is wrong inside.
func (in *input) value() ([]byte, error) {
	if _, err := in.peek(); err != nil {
		return nil, in.ended(err)
	}
	var out []byte
	depth, quoted, escaped := 0, false, false
	for {
		c, err := in.ReadByte()
		if err != nil {
			return nil, in.ended(err)
		}
		if depth == 0 && !quoted && strings.IndexByte(",:]} \t\r\n", c) >= 0 {
			return out, in.UnreadByte()
		}
		out = append(out, c)
		switch {
		case len(out) > maxHeader:
			return nil, in.wrong("a value longer than %d bytes", maxHeader)
		case c == '\n':
			in.line++
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
}

// decode reads one JSON value into v.
func (in *input) decode(key string, v any) error {
	line := in.line
	raw, err := in.value()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("line %d: %s: %w", line, key, err)
	}
	return nil
}

// A jsonReader reads the JSON form.
type jsonReader struct {
	*input
	file   File
	schema string
	h      header
	seen   map[string]int // line of each field
}

func readJSON(in *input) (*File, error) {
	r := &jsonReader{input: in, seen: map[string]int{}}
	r.h.where = func(key string) string { return fmt.Sprintf("line %d: %s", r.seen[key], key) }
	if err := r.object(); err != nil {
		return nil, err
	}
	if c, err := in.peek(); err == nil {
		return nil, in.wrong("%q after the end of the document", c)
	} else if !errors.Is(err, io.EOF) {
		return nil, in.ended(err)
	}
	if r.schema != schema {
		return nil, fmt.Errorf("schema %q; %q is read", r.schema, schema)
	}
	if err := r.h.apply(&r.file); err != nil {
		return nil, err
	}
	if b := &r.file.Bound; b.Kind == LP && b.Weights == nil {
		b.Weights = []Weight{} // this form could have carried them
	}
	if s := r.file.Tree.Servers(); len(r.file.Messages) > most(s) {
		return nil, r.h.wrong("messages", "more than %d; all pairs of %d servers are %d", most(s), s, pairs(s))
	}
	return &r.file, nil
}

func (r *jsonReader) object() error {
	if err := r.expect('{'); err != nil {
		return err
	}
	if end, err := r.empty('}'); end || err != nil {
		return err
	}
	for {
		var key string
		if err := r.decode("a field's name", &key); err != nil {
			return err
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		if err := r.field(key); err != nil {
			return err
		}
		if more, err := r.more('}'); !more || err != nil {
			return err
		}
	}
}

func (r *jsonReader) field(key string) error {
	if first, ok := r.seen[key]; ok {
		return r.wrong("field %q a second time, after line %d", shorten([]byte(key)), first)
	}
	r.seen[key] = r.line
	if strings.HasPrefix(key, "x-") {
		return r.decode(key, new(any))
	}
	if key == "messages" {
		return r.messages()
	}
	if !slices.Contains(jsonKeys, key) {
		return r.wrong("unknown field %q; there are %s, and x-… for your own", shorten([]byte(key)), strings.Join(jsonKeys, ", "))
	}
	return r.decode(key, r.target(key))
}

// target returns where a field goes.
func (r *jsonReader) target(key string) any {
	h, p := &r.h, &r.file.Predictions
	return map[string]any{
		"schema": &r.schema, "topology": &h.topology, "fill": &h.fill, "spines": &h.spines, "down": &h.down,
		"schedule": &h.schedule, "routing": &h.routing, "phases": &h.phases, "bound": &h.bound, "hash": &h.hash,
		"gap": &p.Gap, "duration": &p.Duration, "predicted_efficiency": &p.Efficiency,
		"unsynchronised_efficiency_at_most": &p.Unsynchronised,
	}[key]
}

// messages reads [[phase,src,dst,spine],…].
func (r *jsonReader) messages() error {
	if err := r.expect('['); err != nil {
		return err
	}
	if end, err := r.empty(']'); end || err != nil {
		return err
	}
	for {
		m, err := r.message()
		if err != nil {
			return fmt.Errorf("messages[%d]: %w", len(r.file.Messages), err)
		}
		if len(r.file.Messages) == most(MaxServers) {
			return r.wrong("more than %d messages", most(MaxServers))
		}
		r.file.add(m)
		if more, err := r.more(']'); !more || err != nil {
			return err
		}
	}
}

func (r *jsonReader) message() (Message, error) {
	if err := r.expect('['); err != nil {
		return Message{}, err
	}
	var v [4]int32
	for c := range v {
		n, err := r.integer(columns[c], c == 3)
		if err != nil {
			return Message{}, err
		}
		v[c] = n
		after := byte(',')
		if c == 3 {
			after = ']'
		}
		if err := r.expect(after); err != nil {
			return Message{}, err
		}
	}
	return Message{v[0], v[1], v[2], v[3]}, nil
}

// integer reads digits; with none, also -1 for "no spine".
func (r *jsonReader) integer(column string, none bool) (int32, error) {
	c, err := r.next()
	if err != nil {
		return 0, err
	}
	sign := int32(1)
	if none && c == '-' {
		if c, err = r.ReadByte(); err != nil {
			return 0, r.ended(err)
		}
		if sign = NoSpine; c != '1' {
			return 0, r.wrong("%s is neither a number nor -1", column)
		}
	}
	var n int32
	for digits := 0; ; digits++ {
		if c-'0' >= 10 {
			if digits == 0 {
				return 0, r.wrong("%s is not a whole number", column)
			}
			break
		}
		if n = n*10 + int32(c-'0'); n > maxNumber {
			return 0, r.wrong("%s is larger than %d", column, maxNumber)
		}
		if c, err = r.ReadByte(); err != nil {
			return 0, r.ended(err)
		}
	}
	if sign < 0 && n != 1 {
		return 0, r.wrong("%s is neither a number nor -1", column)
	}
	return sign * n, r.UnreadByte()
}
