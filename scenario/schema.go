package scenario

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// A shape is a JSON Schema of a value. It may let pass what the reader refuses, such as
// fields that do not go together; what it refuses, the reader refuses, too, but for numbers
// in quotes.
type shape map[string]any

// A known field is one that the reader takes.
type known struct {
	name string
	is   shape
	says string // what it is, for editors; empty: as elsewhere
}

// A group is the fields that a mapping may have. Reader and schema take them from here.
type group []known

func (g group) names() []string {
	out := make([]string, len(g))
	for i, k := range g {
		out[i] = k.name
	}
	return out
}

func (g group) has(name string) bool {
	return slices.ContainsFunc(g, func(k known) bool { return k.name == name })
}

// Schema returns the JSON Schema (draft 2020-12) of scenarios, for editors.
func Schema() ([]byte, error) {
	s := object(topFields, "topology")
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "evbench scenario"
	s["anyOf"] = []shape{{"required": []string{"cases"}}, {"required": []string{"matrix"}}}
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// object is a mapping with the fields of g and no others.
func object(g group, required ...string) shape {
	fields := shape{}
	for _, k := range g {
		is := shape(maps.Clone(k.is))
		if k.says != "" {
			is["description"] = k.says
		}
		fields[k.name] = is
	}
	s := shape{"type": "object", "additionalProperties": false, "properties": fields}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// lists gives each field of g a list of what it may be.
func (g group) lists() group {
	out := slices.Clone(g)
	for i := range out {
		out[i].is = atLeastOne(out[i].is)
	}
	return out
}

func list(of shape) shape { return shape{"type": "array", "items": of} }

func atLeastOne(of shape) shape {
	s := list(of)
	s["minItems"] = 1
	return s
}

func either(of ...shape) shape { return shape{"anyOf": of} }

func choice(names ...string) shape { return shape{"enum": names} }

// word is a text, which YAML may take for a number.
func word() shape { return shape{"type": []string{"string", "number", "boolean"}} }

func matching(pattern string) shape {
	s := word()
	s["pattern"] = pattern
	return s
}

func whole(low, high uint64) shape {
	return shape{"type": "integer", "minimum": low, "maximum": high}
}

func upTo(high float64) shape { return shape{"type": "number", "minimum": 0, "maximum": high} }

func onOff() shape { return shape{"enum": []any{"on", "off", true, false, "true", "false"}} }

// lasts is a duration of at least low.
func lasts(low time.Duration) shape {
	s := shape{"type": "string", "pattern": `^[-+]?0$|^[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}
	if low == 0 {
		s["type"], s["minimum"], s["maximum"] = []string{"string", "integer"}, 0, 0
	}
	return s
}

// withUnit is a number with one of the units.
func withUnit(units ...string) shape {
	return shape{"type": "string", "pattern": `^\s*[-+]?[0-9.][-+0-9.eE]*\s*(` + strings.Join(units, "|") + `)\s*$`}
}

func size() shape { return withUnit("GiB", "MiB", "KiB", "GB", "MB", "kB", "B") }

func linkRate() shape {
	return either(choice(Auto), withUnit("Tbit/s", "Gbit/s", "Mbit/s", "kbit/s", "bit/s"))
}
