package verify

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The JSON form is one object. Its messages, nearly all of the file, are read
// number by number; the other values are small and go through encoding/json.

// jsonKeys are the fields of the JSON form, in the order of a written file.
var jsonKeys = []string{"schema", "topology", "fill", "spines", "down", "unreachable", "schedule", "routing", "objective", "phases",
	"bound", "gap", "moved", "duration", "predicted_efficiency", "unsynchronised_efficiency_at_most", "paths", "hash", "messages"}

const schema = "evbench/plan/1"

// A jsonReader reads the JSON form.
type jsonReader struct {
	*input
	file    File
	schema  string
	h       header
	seen    map[string]int // line of each field
	columns int            // numbers of each message; 0 until the first is read
	limit   int            // most messages
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
	if b := &r.file.Bound; b.Kind == lp && b.weights == nil {
		b.weights = []dualWeight{} // this form could have carried them
	}
	if want := columnsOf(&r.file); r.columns != 0 && r.columns != want {
		return nil, r.h.wrong("messages", "%d numbers each; a message on %s is %s", r.columns, fabric{r.file.Tree, r.file.Pods}.notation(), jsonForms[want])
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
	h, p := &r.h, &r.file.predictions
	return map[string]any{
		"schema": &r.schema, "topology": &h.topology, "fill": &h.fill, "spines": &h.spines, "down": &h.down,
		"unreachable": &h.unreachable, "schedule": &h.schedule, "routing": &h.routing, "objective": &h.objective,
		"phases": &h.phases, "bound": &h.bound, "hash": &h.hash,
		"gap": &p.gap, "moved": &p.moved, "duration": &p.duration, "predicted_efficiency": &p.efficiency,
		"unsynchronised_efficiency_at_most": &p.unsynchronised, "paths": &p.paths,
	}[key]
}
