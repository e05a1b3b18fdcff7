package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"evbench/internal/jsondoc"
	"evbench/internal/kept"
	"evbench/internal/show"
)

// The forms of summary.json and manifest.json that this package writes and
// reads.
const (
	SummarySchema  = "evbench/summary/1"
	ManifestSchema = "evbench/manifest/1"
)

const maxJSON = 256 << 20

// Write writes the summary as indented JSON, with members that this version does not know if it was
// read.
func (s Summary) Write(w io.Writer) error {
	s.Schema = SummarySchema
	return write(w, s, s.rest)
}

// Write writes the manifest as Summary.Write does.
func (m Manifest) Write(w io.Writer) error {
	m.Schema = ManifestSchema
	return write(w, m, m.rest)
}

// Known returns the summary without members that this version does not know.
func (s Summary) Known() Summary { s.rest = nil; return s }

// Known returns the manifest without members that this version does not know.
func (m Manifest) Known() Manifest { m.rest = nil; return m }

func write(w io.Writer, v any, rest *kept.Rest) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if rest == nil {
		return enc.Encode(v)
	}
	text, err := kept.Marshal(v, rest)
	if err != nil {
		return err
	}
	return enc.Encode(json.RawMessage(text))
}

// ReadSummary reads the output of Summary.Write. Texts are in the form of Text.
func ReadSummary(r io.Reader) (s Summary, err error) {
	s.rest, err = read(r, &s, SummarySchema)
	clean(&s)
	return s, err
}

// ReadManifest reads the output of Manifest.Write. Texts are in the form of Text; only the
// scenario, a whole document, may be longer.
func ReadManifest(r io.Reader) (m Manifest, err error) {
	m.rest, err = read(r, &m, ManifestSchema)
	scenario := m.Scenario
	clean(&m)
	m.Scenario = show.Text(scenario, maxJSON)
	return m, err
}

// read decodes one document into v. It checks first that the schema is want, as another version may
// have other types. It returns members that this version does not know. Errors name the line.
func read(r io.Reader, v any, want string) (*kept.Rest, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxJSON {
		return nil, fmt.Errorf("longer than %d bytes", maxJSON)
	}
	var head struct{ Schema string }
	if err := jsondoc.Unmarshal(data, &head); err != nil {
		return nil, atLine(data, err)
	}
	if head.Schema != want {
		return nil, fmt.Errorf("schema %q; this evbench reads %q", Text(head.Schema), want)
	}
	rest, err := kept.Unmarshal(data, v)
	return rest, atLine(data, err)
}

// atLine explains an error of encoding/json, with its line.
func atLine(data []byte, err error) error {
	if err == nil {
		return nil
	}
	at := int64(0)
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		if strings.Contains(err.Error(), "unexpected end") {
			return errors.New("ends too early: writing it was interrupted")
		}
		if at = bad.Offset; strings.Contains(err.Error(), "after top-level value") {
			err = errors.New("something follows the document")
		}
	} else if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = bad.Offset
	} else if at = wrongTime(data); at == 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(int(at), len(data))], []byte("\n")), err)
}

// wrongTime returns the end of the first value that should be a time and is not, 0 if there is no
// such value. Errors of times do not give the place.
func wrongTime(data []byte) int64 {
	in := json.NewDecoder(bytes.NewReader(data))
	for isTime := false; ; {
		token, err := in.Token()
		if err != nil {
			return 0
		}
		text, isText := token.(string)
		if isTime && token != nil && (!isText || new(time.Time).UnmarshalText([]byte(text)) != nil) {
			return in.InputOffset()
		}
		isTime = isText && slices.ContainsFunc([]string{"started", "ended", "made"}, func(name string) bool { return strings.EqualFold(name, text) })
	}
}

// A Run is the complete record of a run.
type Run struct {
	Manifest Manifest
	Summary  Summary
	Samples  []Sample
	Links    []LinkCount
	Pairs    []PairCount   // nil without counts by pair
	Servers  []ServerCount // nil in results of older versions
	// Exchanges are the times of exchanges; nil where they were not kept.
	Exchanges []ExchangeTime
	Plans     map[string][]byte // in their text form, by case
	Forms     Forms             // in which tables were read
}

// Schema returns the JSON Schema (draft 2020-12) of summary.json in this version. It allows fields
// that it does not name: a later version may add some.
func Schema() ([]byte, error) {
	s := shapeOf(reflect.TypeFor[Summary]())
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", "evbench summary.json"
	s["properties"].(map[string]any)["schema"] = map[string]any{"const": SummarySchema}
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// shapeOf returns the schema of a type in encoding/json's form.
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
	for f := range t.Fields() {
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

// killed is the reason for each case of a run without a summary.
const killed = "the run was killed before it could judge its cases; what is shown are its samples alone"

// Salvage makes the summary of a run without one: the cases that have samples, in the order of
// measurement, each incomplete and not valid. It holds only what the samples and the predictions
// say.
func Salvage(m Manifest, samples []Sample) Summary {
	var order []SliceID
	of := map[SliceID][]Sample{}
	for _, s := range samples {
		k := SliceID{s.Case, s.Repeat}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], s)
	}
	sum := Summary{Schema: SummarySchema, Name: m.Name, Cases: []Case{}}
	for _, k := range order {
		c := Case{Name: k.Case, Repeat: k.Repeat, Model: m.Fabric.Model, Failures: []string{}, Reasons: []string{killed}, Warnings: []string{}}
		if i := slices.IndexFunc(m.Predictions, func(p Prediction) bool { return p.Case == k.Case }); i >= 0 {
			p := m.Predictions[i]
			c.Schedule, c.Routing, c.PlanHash, c.Phases, c.Bound = p.Schedule, p.Routing, p.PlanHash, p.Phases, p.Bound
			c.PredictedEfficiency = p.Efficiency
		}
		c.EventsPerSec, c.GoodputBitPerSec = rates(of[k])
		sum.Cases = append(sum.Cases, c)
	}
	return sum
}

// rates returns what each server built and received per second while it was
// sampled.
func rates(list []Sample) (events, goodput Stat) {
	sec, built, received := map[int]float64{}, map[int]float64{}, map[int]float64{}
	for _, s := range list {
		sec[s.Server] += s.IntervalSec
		built[s.Server] += float64(s.Events)
		received[s.Server] += float64(s.PayloadBytes) * 8
	}
	var e, g []float64
	for server, t := range sec {
		if t > 0 {
			e, g = append(e, built[server]/t), append(g, received[server]/t)
		}
	}
	slices.Sort(e) // the mean of a map's values must not depend on its order
	slices.Sort(g)
	return NewStat(e), NewStat(g)
}

// Text is the printable form of a text from results that were read. The text may come from an
// unknown source, and may include output of workers and other tools.
func Text(s string) string { return show.Text(s, show.Most) }

// clean makes all texts that v points to printable, including those of new fields.
func clean(v any) { cleanValue(reflect.ValueOf(v)) }

func cleanValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(Text(v.String()))
		}
	case reflect.Pointer:
		cleanValue(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				cleanValue(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			cleanValue(v.Index(i))
		}
	case reflect.Map:
		cleanMap(v)
	}
}

// cleanMap cleans texts by text.
func cleanMap(v reflect.Value) {
	old, ok := v.Interface().(map[string]string)
	if !ok || old == nil {
		return
	}
	out := make(map[string]string, len(old))
	for name, text := range old {
		out[Text(name)] = Text(text)
	}
	v.Set(reflect.ValueOf(out))
}
