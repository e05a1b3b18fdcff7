package html_test

import (
	"bytes"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/report/figure"
	"evbench/report/html"
	"evbench/results"
)

// FuzzWrite: whatever results are read, there is a page of them, and no text of theirs is
// markup in it.
func FuzzWrite(f *testing.F) {
	run := Small(f).Run
	var s, m strings.Builder
	expect.Must(f, run.Summary.Write(&s))
	expect.Must(f, run.Manifest.Write(&m))
	f.Add(s.String(), m.String())
	f.Add(`{"schema":"evbench/summary/1","cases":[{"name":"<script>x</script>","reasons":["</style><fuzz>"]}]}`,
		`{"schema":"evbench/manifest/1","scenario":"topology: FT(2;64,64)","name":"<fuzz>"}`)
	f.Fuzz(func(t *testing.T, summary, manifest string) {
		s, err := results.ReadSummary(strings.NewReader(summary))
		if err != nil {
			return
		}
		m, err := results.ReadManifest(strings.NewReader(manifest))
		if err != nil {
			return
		}
		run := &results.Run{Summary: s, Manifest: m, Samples: []results.Sample{{Case: "healthy", TSec: 1, IntervalSec: 1, Events: 1}}}
		var page bytes.Buffer
		expect.Must(t, html.Write(&page, []html.Input{{Name: "fuzz", Source: figure.Source{Run: run.Merge()}}}))
		expect.MustTrue(t, !bytes.Contains(page.Bytes(), []byte("<fuzz>")) && !bytes.ContainsRune(page.Bytes(), '\x1b'),
			"%q and %q have become markup", summary, manifest)
	})
}
