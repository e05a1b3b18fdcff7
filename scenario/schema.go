package scenario

import (
	"encoding/json"
	"maps"
)

// A shape is a JSON Schema of a value. It may accept input that the reader refuses, such as fields
// that contradict each other. The reader refuses all that the schema refuses, except numbers in
// quotes.
type shape map[string]any

// Schema returns the JSON Schema (draft 2020-12) of scenarios, for editors, with the names that Networks and Engines have.
func (x Files) Schema() ([]byte, error) {
	s := object(topFields(&top{Scenario: &Scenario{networks: x.Networks, Engines: x.Engines}}), "topology")
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "evbench scenario"
	s["anyOf"] = []shape{{"required": []string{"cases"}}, {"required": []string{"matrix"}}}
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// object is a mapping with the fields of g and no others.
func object(g group, required ...string) shape {
	fields := shape{}
	for _, r := range g {
		is := maps.Clone(r.shape)
		is["description"] = r.says
		fields[r.name] = is
	}
	s := shape{"type": "object", "additionalProperties": false, "properties": fields}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func list(of shape) shape { return shape{"type": "array", "items": of} }

func atLeastOne(of shape) shape { return shape{"type": "array", "items": of, "minItems": 1} }

func either(of ...shape) shape { return shape{"anyOf": of} }

func enum(names ...string) shape { return shape{"enum": names} }

func integer(low, high uint64) shape {
	return shape{"type": "integer", "minimum": low, "maximum": high}
}

// anyWord is a text, which YAML may take for a number.
var anyWord = shape{"type": []string{"string", "number", "boolean"}}
