package results

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"evbench/internal/expect"
)

// closed allows the objects of a schema the fields that it names and no others.
func closed(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if s["properties"] != nil {
			s["additionalProperties"] = false
		}
		for _, v := range s {
			closed(v)
		}
	case []any:
		for _, v := range s {
			closed(v)
		}
	}
}

// packed returns the summary of a run that was measured.
func packed(t *testing.T) []byte {
	t.Helper()
	file := expect.Value(os.Open("../scripts/testdata/run.tar.gz"))(t)
	defer file.Close()
	archive := tar.NewReader(expect.Value(gzip.NewReader(file))(t))
	for {
		head := expect.Value(archive.Next())(t)
		if path.Base(head.Name) == "summary.json" {
			var b bytes.Buffer
			_, err := b.ReadFrom(archive)
			expect.Must(t, err)
			return b.Bytes()
		}
	}
}

// The schema names every field that is written, and refuses values of another type.
func TestSchema(t *testing.T) {
	text := expect.Value(Schema())(t)
	doc := expect.Value(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	closed(doc)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	expect.Must(t, c.AddResource("summary.json", doc))
	schema := expect.Value(c.Compile("summary.json"))(t)

	valid := func(text []byte) error {
		var v any
		expect.Must(t, json.Unmarshal(text, &v))
		return schema.Validate(v)
	}
	s, _ := told()
	written := document(t, s.Write)
	expect.OK(t, valid([]byte(written)), "what Write writes")
	measured := packed(t)
	expect.OK(t, valid(measured), "a run that was measured")
	for _, wrong := range []struct{ from, to, says string }{
		{`"complete": true`, `"complete": 1`, "want boolean"},
		{`"evbench/summary/1"`, `"evbench/summary/2"`, "value must be"},
		{`"measured_s": 2,`, "", "missing property 'measured_s'"},
		{`"cases"`, `"case"`, "missing property 'cases'"},
	} {
		expect.MustTrue(t, strings.Contains(written, wrong.from), "no %s in %s", wrong.from, written)
		expect.Error(t, valid([]byte(strings.Replace(written, wrong.from, wrong.to, 1))), wrong.says)
	}
}
