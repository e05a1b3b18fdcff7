package html_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"evbench/internal/browsertest"
	"evbench/internal/expect"
	"evbench/report/figure"
	"evbench/report/html"
	"evbench/results"
)

// document has all that a part can have; names need escapes.
func document(t *testing.T) string {
	t.Helper()
	c := &html.Cables{
		Words: "words", Unit: "routes", Most: 9,
		Levels: [][]html.Switch{{{Name: "leaf<0>", Hosts: 40}, {Name: "leaf1", Hosts: 2}}, {{Name: "a switch with a name too long for its box in a drawing"}, {Name: "spine1"}}},
		Cables: []html.Cable{
			{High: html.Place{Level: 1}, Title: "leaf<0>-spine0: dead", Dead: true},
			{High: html.Place{Level: 1, Index: 1}, Title: "leaf<0>-spine1: 9 routes up", Up: 9, Down: 3, Deciding: true},
			{Low: html.Place{Index: 1}, High: html.Place{Level: 1}, Title: "leaf1-spine0: slow", Up: 1, Down: 1, Slow: true},
			{Low: html.Place{Index: 1}, High: html.Place{Level: 1, Index: 1}, Title: "leaf1-spine1: 2", Up: 2, Down: 2},
			{Low: html.Place{Index: 1}, High: html.Place{Level: 1, Index: 1}, Title: "leaf1-spine1: twin", Up: 2, Down: 2},
		},
	}
	var b strings.Builder
	err := html.WriteDocument(&b, html.Document{
		Title: "A <title>", Answer: "65.7 % of it", Lead: "lead", Notes: []string{"a note"},
		Parts: []html.Part{
			{ID: "facts", Title: "Facts", Facts: [][]string{{"at most", "93.8 %"}, {"", strings.Repeat("a long line ", 30)}}},
			{ID: "net", Title: "The network", Cables: c},
			{ID: "table", Title: "Table", Table: html.Table{Head: []string{"order", "link"}, Numbers: []bool{true}, Rows: [][]string{{"1", "leaf<0>-spine0"}}}},
		},
	})
	expect.Must(t, err)
	return b.String()
}

// A document needs no other file, and what names say is text.
func TestDocument(t *testing.T) {
	page := document(t)
	for _, want := range []string{"<title>A &lt;title&gt;</title>", "leaf&lt;0&gt;-spine0", `class="sign deciding"`, `class="sign slow"`, "slow: below the usual speed", "65.7\u00a0% of it"} {
		expect.True(t, strings.Contains(page, want), "no %q on the page", want)
	}
	for _, bad := range []string{"leaf<0>", "http://", "https://", "<link rel=\"stylesheet\"", " src="} {
		expect.True(t, !strings.Contains(page, bad), "%q on the page", bad)
	}
}

// A document is read on a phone, in the dark, with the pointer and the keyboard.
func TestBrowserDocument(t *testing.T) {
	b := open(t, document(t))
	browsertest.Call(t, b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	b.Is(t, "dark", `String(parseInt(getComputedStyle(document.body).backgroundColor.slice(4)) < 64)`, "true")
	b.Is(t, "pointing", `[...document.querySelectorAll(".k")][2].dispatchEvent(new PointerEvent("pointerenter")), document.querySelector(".readout").textContent`, "leaf1-spine0: slow")
	b.Is(t, "drawn", `[...document.querySelectorAll(".switch text")].map(e => e.textContent).join()`, "leaf<0>,leaf1,a switch with a name too long for its box in a drawing,spine1")
	browsertest.Call(t, b.Ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 420, Height: 900, DeviceScaleFactor: 1})
	b.Is(t, "too wide", `String(Math.max(0, document.documentElement.scrollWidth - 420))`, "0")
	b.Is(t, "sticking out", `[...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > 421 && !e.closest(".scroll, .across, .drawing, nav")).map(e => e.outerHTML.slice(0, 80)).join()`, "")
	b.Is(t, "texts too small", `[...document.querySelectorAll("svg text")].filter(e => parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) < 8).map(e => e.textContent).join()`, "")
	b.Quiet(t)
}

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
