package scenario_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"evbench/testing/expect"
)

// compiled is the schema, which must itself be one of draft 2020-12.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text := expect.Value(shapes.Schema())(t)
	doc := expect.Value(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	c := jsonschema.NewCompiler()
	expect.Must(t, c.AddResource("scenario.json", doc))
	s := expect.Value(c.Compile("scenario.json"))(t)
	return s
}

// valid holds a document against the schema, as an editor does.
func valid(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var v any
	expect.Must(t, yaml.Unmarshal([]byte(text), &v))
	return s.Validate(v)
}

// exampleFiles are the scenarios of users, by name.
func exampleFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../scenarios/*.yaml")
	expect.MustTrue(t, err == nil && len(files) != 0, "%v %v", files, err)
	out := map[string]string{}
	for _, name := range files {
		text := expect.Value(os.ReadFile(name))(t)
		out[name] = string(text)
	}
	return out
}

func TestSchemaTakesExamples(t *testing.T) {
	s := compiled(t)
	for name, text := range exampleFiles(t) {
		expect.OK(t, valid(t, s, text), "%s", name)
	}
}

// What the schema refuses, the reader refuses: each value of documents with all fields is
// replaced by each of these.
func TestSchemaIsNotStricter(t *testing.T) {
	s, refused := compiled(t), 0
	for i, text := range everyField {
		if _, err := shapes.Read("test.yaml", strings.NewReader(text)); err != nil || valid(t, s, text) != nil {
			t.Fatalf("document %d: %v, %v", i, err, valid(t, s, text))
		}
		for _, value := range []string{
			"5", "0", "2.5", "off", "auto", "300ms", "1KiB", "100Mbit/s", "fors", "hosts", "sync", "[]", "[1]", "[leaf0-spine0]", "{kind: lab}", "{policy: none}", "~",
		}[:expect.Samples(17, 5)] {
			for _, changed := range replaced(t, text, value) {
				wrong := valid(t, s, changed)
				if wrong == nil {
					continue
				}
				refused++
				expect.True(t, expect.Err(shapes.Read("test.yaml", strings.NewReader(changed))) != nil,
					"document %d with %s: the reader takes it, the schema does not: %v\n%s", i, value, wrong, changed)
			}
		}
	}
	expect.True(t, refused >= expect.Samples(500, 100), "only %d documents were refused", refused)
}

// everyField has documents that have all fields together.
var everyField = []string{`
name: one
topology: FT(2;4,4)
fill: [4, 4, 4, 4]
spines: 4
fabric: {kind: lab, rate: 100Mbit/s, mtu: 9000, workers: threads, lossless: {packet: 4096B, buffer: 64KiB, lanes: 1, queues: per-output, reads: 3, delay: 130ns, cable: 50ns, order: turns}}
event: {phase: 25ms, sizes: {distribution: log-normal, sigma: 1.5, by: source-event, fanout: 3}}
duration: 10s
interval: 1s
warmup: 1
rounds: 2
control: on
seed: 1
timeout: 10s
deliver: buffer
check: header
transport: tcp
io: auto
sim: {round: 25us, overhead: 50us, jitter: 0s}
failover: {policy: fors+hold, hold: 1s, debounce: 1ms, on_disconnect: wait}
answer: {cases: [a, b]}
cases:
  - {name: a, mode: synchronised, barrier: tournament, schedule: fors, routing: pinned, failures: [leaf0-spine0, {link: leaf1-spine1, at: 3s, for: 4s}]}
  - {name: b, schedule: fors, failures: [{random: {count: 1, seed: 7}}, {link: leaf2-spine1, at: 1s, for: 100ms, every: 1s, times: 3}], failure_seed: 3, duration: 11s}
  - {name: c, mode: unsynchronised, routing: spread, sources: 3, credits: 2, assign: balanced, failover: none}
`, `
topology: FT(2;2,2)
fabric: hosts
event: {fragment: 600KiB, sizes: {spread: 0.5}}
rounds: auto
limit: 20s
preset: thesis
launch: {kind: ssh, hosts: "n[1-4]", user: a, port: 22, config: c, remote_dir: d, control: "tcp:h:1", interface: ib0, data_port: 7000, placement: p, cpus: 0-3, preflight: on}
inject: {kind: ssh, down: d, up: u, probe: p, host: h, timeout: 3s, journal: j}
matrix: {mode: [sync, unsync], routing: [ftree, spread]}
`, `
topology: FT(2;2,2)
fabric: {kind: hosts}
event: {sizes: exponential}
launch: {kind: started, network: 10.1.0.0/16}
inject: {kind: ibportstate, fabric: f}
matrix: {schedule: [linear-shift], failures: [[], [leaf0-spine0]], failure_seed: [1, 2]}
`, `
topology: FT(2;2,2)
fabric: {kind: hosts}
inject: {kind: lab, lab: l}
cases: [{}]
`, `
topology: FT(2;2,2)
fabric: {kind: lab, lossless: on}
matrix: {failover: [none, {policy: minhop}], sizes: [exponential, {spread: 0.5}]}
`}

// replaced returns the document with each of its values in turn replaced by another.
func replaced(t *testing.T, text, value string) (out []string) {
	t.Helper()
	var doc, other yaml.Node
	expect.Must(t, yaml.Unmarshal([]byte(value), &other))
	expect.Must(t, yaml.Unmarshal([]byte(text), &doc))
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				continue
			}
			walk(child)
			n.Content[i] = other.Content[0]
			b, err := yaml.Marshal(&doc)
			if n.Content[i] = child; err != nil {
				t.Fatal(err)
			}
			out = append(out, string(b))
		}
	}
	walk(doc.Content[0])
	return out
}

// The schema has the fields that the reader takes, and no others.
func TestSchemaHasFields(t *testing.T) {
	root := compiled(t)
	prop := func(s *jsonschema.Schema, name string) *jsonschema.Schema { return s.Properties[name] }
	item := func(s *jsonschema.Schema) *jsonschema.Schema { return s.Items2020 }
	fields := func(s *jsonschema.Schema) *jsonschema.Schema { return s.AnyOf[1] }
	oneCase := item(prop(root, "cases"))
	failure := item(prop(oneCase, "failures"))
	for in, at := range map[string]*jsonschema.Schema{
		"none: 1":                                    root,
		"fabric: {none: 1}":                          fields(prop(root, "fabric")),
		"fabric: {lossless: {none: 1}}":              fields(prop(fields(prop(root, "fabric")), "lossless")),
		"event: {none: 1}":                           prop(root, "event"),
		"launch: {none: 1}":                          prop(root, "launch"),
		"sim: {none: 1}":                             prop(root, "sim"),
		"answer: {none: 1}":                          prop(root, "answer"),
		"failover: {none: 1}":                        fields(prop(root, "failover")),
		"inject: {none: 1}":                          prop(root, "inject"),
		"matrix: {none: 1}":                          prop(root, "matrix"),
		"cases: [{none: 1}]":                         oneCase,
		"cases: [{failover: {none: 1}}]":             fields(prop(oneCase, "failover")),
		"matrix: {failover: [{none: 1}]}":            fields(item(prop(prop(root, "matrix"), "failover"))),
		"cases: [{failures: [{none: 1}]}]":           {Properties: both(failure.AnyOf[1].Properties, failure.AnyOf[2].Properties)},
		"matrix: {failures: [[{none: 1}]]}":          {Properties: both(failure.AnyOf[1].Properties, failure.AnyOf[2].Properties)},
		"cases: [{failures: [{random: {none: 1}}]}]": prop(failure.AnyOf[1], "random"),
	} {
		want, got := knownFields(t, in), slices.Sorted(maps.Keys(at.Properties))
		expect.True(t, slices.Equal(got, want), "%s: the schema has %v, the reader %v", in, got, want)
	}
}

func both(a, b map[string]*jsonschema.Schema) map[string]*jsonschema.Schema {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// Slips of the pen that the schema finds.
func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	const good = "topology: FT(2;4,4)\ncases: [{schedule: fors}]\n"
	expect.Must(t, valid(t, s, good))
	for _, text := range []string{
		"cases: [{schedule: fors}]", "topology: FT(2;4,4)", "topology: FT(2;4,4)\ncases: []",
		good + "none: 1", good + "fabric: {none: 1}", good + "fabric: emulated", good + "event: {none: 1}", good + "event: {phase: 5}",
		good + "event: {fragment: 600}", good + "event: {fragment: 600KIB}", good + "fabric: {rate: 100}", good + "fabric: {lossless: {lanes: 16}}",
		good + "launch: {none: 1}", good + "launch: {hosts: a}", good + "sim: {jitter: 5}", good + "answer: {}", good + "failover: forse",
		good + "failover: {hold: 1s}", good + "inject: {kind: none}", good + "matrix: {name: [a]}", good + "matrix: {mode: sync}",
		good + "rounds: 0", good + "control: maybe", good + "warmup: -1", good + "spines: ", good + "name: a/b", good + "interval: 5 s",
		"topology: FT(2;4,4)\ncases: [{schedule: forse}]", "topology: FT(2;4,4)\ncases: [{failures: [{link: leaf0-spine0}]}]",
		"topology: FT(2;4,4)\ncases: [{failures: [{random: {}}]}]", "topology: FT(2;4,4)\ncases: [{failures: [{random: {count: 1}, at: 1s}]}]",
	} {
		expect.True(t, valid(t, s, text) != nil, "the schema takes\n%s", text)
		expect.True(t, expect.Err(shapes.Read("test.yaml", strings.NewReader(text))) != nil, "the reader takes\n%s", text)
	}
}

var unknownField = regexp.MustCompile(`none: unknown field; (?:did you mean \w+\? )?there are ([\w, ]+)`)

// knownFields returns the fields that could stand where a text has "none".
func knownFields(t *testing.T, text string) []string {
	t.Helper()
	_, err := shapes.Read("test.yaml", strings.NewReader("topology: FT(2;2,2)\n"+text))
	expect.MustTrue(t, err != nil, "%s: no error", text)
	m := unknownField.FindStringSubmatch(err.Error())
	expect.MustTrue(t, m != nil, "%s: %v", text, err)
	return strings.Split(m[1], ", ")
}
