package results

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Schema returns the JSON Schema (draft 2020-12) of summary.json as this version writes it. Fields
// that it does not name are allowed: a later version may add some.
func Schema() ([]byte, error) {
	s := shapeOf(reflect.TypeFor[Summary]())
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", "evbench summary.json"
	s["properties"].(map[string]any)["schema"] = map[string]any{"const": SummarySchema}
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// shapeOf returns the schema of what encoding/json makes of a type.
func shapeOf(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(shapeOf(t.Elem()))
	case reflect.Slice:
		return orNull(map[string]any{"type": "array", "items": shapeOf(t.Elem())})
	case reflect.Map:
		return orNull(map[string]any{"type": "object", "additionalProperties": shapeOf(t.Elem())})
	case reflect.Struct:
		s := map[string]any{"type": "object", "properties": map[string]any{}, "required": []string{}}
		addFields(s, t)
		return s
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "integer"}
}

func orNull(s map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
}

// addFields adds the fields of a struct to a schema, those of embedded structs, too.
func addFields(s map[string]any, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag[0] == "":
			addFields(s, f.Type)
		case f.IsExported() && tag[0] != "-" && tag[0] != "":
			is := shapeOf(f.Type)
			if unit := f.Tag.Get("unit"); unit != "" {
				is["description"] = "in " + unit
			}
			s["properties"].(map[string]any)[tag[0]] = is
			if !slices.Contains(tag, "omitempty") {
				s["required"] = append(s["required"].([]string), tag[0])
			}
		}
	}
}
