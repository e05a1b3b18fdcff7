package results

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/testing/expect"
)

// told is a run with something in every list.
func told() (Summary, Manifest) {
	sec := 1.5
	c := Case{
		Name: "FORS", Mode: "synchronised", Failures: []string{"leaf0-spine0"}, Assessment: Assessment{Estimate: &Estimate{Of: OfRatio}}, Complete: true, Valid: true,
		LinkEvents: []LinkEvent{{Link: "leaf0-spine0", TSec: 1}}, Reasons: []string{"a\nb"}, Warnings: []string{},
		Failovers: []Failover{{ID: 1, Down: []string{"leaf0-spine0"}, FailoverTimes: FailoverTimes{SeenSec: &sec}}},
	}
	s := Summary{
		Schema: SummarySchema, Name: "run", Complete: true, Answer: &Answer{Answer: answer.Answer{Sentence: "so it is"}}, Cases: []Case{c},
		Slices: []Slice{{Case: "FORS", MeasuredSec: 2, EventsPerSec: 3, Load: []Load{{Host: "a", Cores: 2, CPUSec: &sec}}}},
	}
	m := Manifest{
		Schema: ManifestSchema, Name: "run", Launch: "started", Scenario: "name: run\n", Started: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		Versions: map[string]string{"evbench": "1"}, Plans: map[string]string{"FORS": "sha256:0"}, Hosts: []Host{{Host: "a"}},
		Predictions: []Prediction{{Case: "FORS"}}, Warnings: []string{"odd"},
	}
	return s, m
}

func document(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	expect.Must(t, write(&b))
	return b.String()
}

// Texts that are read are such as can be shown, wherever they stand.
func TestTextsAreCleaned(t *testing.T) {
	s, m := told()
	s.Cases[0].Name, s.Slices[0].Load[0].Host, s.Answer.Sentence, s.Cases[0].Failovers[0].Down[0] = "\x1b", "\x1b", "\x1b", "\x1b"
	s.Cases[0].Reasons[0] = strings.Repeat("x", 10<<20)
	m.Scenario, m.Versions["\x1b"], m.Hosts[0].CPU = "\x1b\n"+strings.Repeat("y", show.Most), "\x1b", "\x1b"
	s, err := ReadSummary(strings.NewReader(document(t, s.Write)))
	if err != nil || s.Cases[0].Name != `\x1b` || s.Slices[0].Load[0].Host != `\x1b` || s.Answer.Sentence != `\x1b` || s.Cases[0].Failovers[0].Down[0] != `\x1b` {
		t.Errorf("%v: %.2000s", err, document(t, s.Write))
	}
	if got := s.Cases[0].Reasons[0]; !strings.HasSuffix(got, " more bytes)") || len(got) > show.Most {
		t.Errorf("a text of %d bytes ends with %q", len(got), got[len(got)-20:])
	}
	m, err = ReadManifest(strings.NewReader(document(t, m.Write)))
	if err != nil || !strings.HasPrefix(m.Scenario, "\\x1b\nyy") || len(m.Scenario) < show.Most || m.Versions[`\x1b`] != `\x1b` || m.Hosts[0].CPU != `\x1b` {
		t.Errorf("%v: %.2000s", err, document(t, m.Write))
	}
}

// located is how errors of documents begin.
var located = regexp.MustCompile(`^(line \d+: |schema "|ends too early)`)

// fuzzDocument: what is read can be written and then reads as the same, texts can be shown,
// and errors say where.
func fuzzDocument(t *testing.T, text string, read func(io.Reader) (func(io.Writer) error, error)) {
	write, err := read(strings.NewReader(text))
	if err != nil {
		said := err.Error()
		expect.MustTrue(t, located.MatchString(said) && len(said) <= 4*show.Most, "%q: %.300q", text, said)
		return
	}
	once := document(t, write)
	again, err := read(strings.NewReader(once))
	expect.Must(t, err, "%q was written as %q, and does not read", text, once)
	twice := document(t, again)
	expect.MustTrue(t, twice == once, "%q\nwas written as %q\nand then as %q", text, once, twice)
	expect.MustTrue(t, !strings.Contains(once, `\u001b`) && !strings.Contains(once, "\u009b") && utf8.ValidString(once),
		"%q was written as %q", text, once)
}

func FuzzReadSummary(f *testing.F) {
	s, _ := told()
	f.Add(document(f, s.Write))
	f.Add(`{"schema":"evbench/summary/1","cases":[{"name":"\u001b[2J","reasons":null}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		fuzzDocument(t, text, func(r io.Reader) (func(io.Writer) error, error) {
			s, err := ReadSummary(r)
			return s.Write, err
		})
	})
}

func FuzzReadManifest(f *testing.F) {
	_, m := told()
	f.Add(document(f, m.Write))
	f.Add(`{"schema":"evbench/manifest/1","versions":{"\u001b":"\u009b"},"started":"2026-03-01T00:00:00+01:00"}`)
	f.Fuzz(func(t *testing.T, text string) {
		fuzzDocument(t, text, func(r io.Reader) (func(io.Writer) error, error) {
			m, err := ReadManifest(r)
			return m.Write, err
		})
	})
}

// FuzzMeasured: whatever summary was read, what is made of it stays within it.
func FuzzMeasured(f *testing.F) {
	s, _ := told()
	f.Add(document(f, s.Write))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadSummary(strings.NewReader(text))
		if err != nil {
			return
		}
		if n := len(s.Measured()); n > max(len(s.Slices), len(s.Cases)) {
			t.Fatalf("%d measured of %d slices and %d cases", n, len(s.Slices), len(s.Cases))
		}
		run := &Run{Summary: s, Samples: []Sample{{Case: "FORS", TSec: 1}}}
		m := run.Merge()
		expect.MustTrue(t, len(m.Samples) <= 1, "%d samples of one", len(m.Samples))
		for _, n := range s.Notes() {
			expect.MustTrue(t, n.Head != "", "%+v", n)
		}
		var b bytes.Buffer
		expect.Must(t, s.Write(&b))
	})
}

// A rate has the unit that leaves it three digits, and what differs from it in per cent says so.
func TestRateText(t *testing.T) {
	for bit, want := range map[float64]string{
		0: "0 bit/s", 12: "12 bit/s", 9.82e6: "9.82 Mbit/s", 62.9e6: "62.9 Mbit/s", 999.4e6: "999 Mbit/s", 999.6e6: "1 Gbit/s",
		1e9: "1 Gbit/s", 91.27e9: "91.3 Gbit/s", 2.5e12: "2.5 Tbit/s", 5400: "5.4 kbit/s",
	} {
		expect.Equal(t, rateText(bit), want, "%g", bit)
	}
	lo, hi := 8.45e6, 11.19e6
	slow := Case{Name: "one", Assessment: Assessment{Estimate: &Estimate{Of: OfGoodput, Interval: Interval{Median: 9.82e6, Lo: &lo, Hi: &hi}}}}
	if got, want := new(reading).reaches(slow), "9.82 Mbit/s (±14 %) per server"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestGoodputUnit(t *testing.T) {
	at := func(bit ...float64) (cases []Case) {
		for _, b := range bit {
			cases = append(cases, Case{Rates: Rates{GoodputBitPerSec: Stat{Mean: b}}})
		}
		return cases
	}
	for _, tt := range []struct {
		cases []Case
		want  string
	}{{at(), "Gbit/s"}, {at(0), "Gbit/s"}, {at(9e6, 80e6), "Mbit/s"}, {at(9e6, 2e9), "Gbit/s"}} {
		expect.Equal(t, GoodputUnit(tt.cases).Name, tt.want, "%+v", tt.cases)
	}
}

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
			expect.Must(t, expect.Err(b.ReadFrom(archive)))
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
