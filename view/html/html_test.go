package html_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"evbench/results"
	"evbench/results/attribution"
	"evbench/testing/browsertest"
	"evbench/testing/expect"
	"evbench/view/compare"
	"evbench/view/figure"
	"evbench/view/html"
	"evbench/view/parts"
)

// write returns the page of runs. With EVBENCH_PAGES set it is kept there for
// people to look at.
func write(t testing.TB, runs ...html.Input) string {
	t.Helper()
	var b bytes.Buffer
	expect.Must(t, html.Write(&b, runs, compare.Beside))
	if dir := os.Getenv("EVBENCH_PAGES"); dir != "" {
		name := strings.ReplaceAll(t.Name(), "/", "-") + ".html"
		expect.Must(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644))
	}
	return b.String()
}

func input(s figure.Source) html.Input { return html.Input{Name: "results/made-up", Source: s} }

// inOrder checks that a page has some texts one after the other.
func inOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	at := 0
	for _, text := range texts {
		i := strings.Index(page[at:], text)
		if i < 0 {
			t.Errorf("%q is missing, or not behind what it should follow", text)
			continue
		}
		at += i
	}
}

func TestVerdictComesFirst(t *testing.T) {
	s := Small(t)
	s.Run.Summary.Cases[1].Valid = false
	s.Run.Summary.Cases[1].Reasons = []string{"2 events <lost>"}
	page := write(t, input(s))
	inOrder(t, page,
		"<h1>Event building: made up</h1>", "measured</span>",
		"<h2>Verdict</h2>", "Of 3 cases: 2 valid, 1 invalid.",
		`<th scope="row">healthy</th>`, `<span class="mark valid">valid</span>`, `<span class="beside">1.000</span></td>`, ">0.980</td>",
		`<th scope="row">one dead</th>`, `<span class="mark invalid">invalid</span>`, `title="leaf0-spine0">1</td>`,
		`<p class="note bad"><strong>wrong</strong> one dead: 2 events &lt;lost&gt;</p>`,
		"<h2>Predicted and measured efficiency</h2>", "<h2>Throughput per case</h2>", "<h2>Throughput over time</h2>", "<h2>Spread over servers</h2>",
		"<h2>Throughput between pairs of servers</h2>", "<h2>Load of links in the fat tree</h2>", "<h2>Barrier wait against transfer</h2>",
		"Warnings (1)", "the clock of server 3 is off by &lt;1 s&gt;", "topology: FT(2;2,3)",
	)
}

// The answer is the first thing to read; below the table each reason stands once, with the
// cases it is about, what to do where nothing is resolved, and what was left out.
func TestRounds(t *testing.T) {
	s := Noisy(t)
	page := write(t, input(s))
	const reason, disturbed = "3 events lost</p>", "servers waited for a processor for more than 10\u00a0%"
	inOrder(t, page,
		"<h1>Event building: made up</h1>", `<p class="answer">NOT KNOWN: The intervals are too wide to compare “linear shift” and “FORS”`, " · 8 rounds · ", "<h2>Verdict</h2>",
		"Of 5 cases: 1 control, 2 unresolved, 2 wrong. The reasons stand below the table.", ">ratio to control</th>", ">slowest server</th>", ">lost /\u00a0twice</th>",
		`<span class="mark control">control</span>`, `<span class="mark unresolved">unresolved</span>`, `<span class="half">±0.`, `<span class="mark wrong">wrong</span>`, "</table>",
		`<p class="note bad"><strong>wrong</strong> unsync minhop, unsync spread: `+reason, "unsync spread: link leaf0-spine1 up", "6.0\u00a0%)",
		`<p class="note open"><strong>unresolved</strong> linear shift, FORS: `, "(--limit, --duration)", "<strong>rejected</strong> ", " slices: "+disturbed,
		"<h2>Ratio to the control, round by round</h2>",
	)
	for _, once := range []string{reason, disturbed} {
		expect.Equal(t, strings.Count(page, once), 1, "%q is said: times", once)
	}
}

// Columns that say nothing are left out.
func TestColumns(t *testing.T) {
	var page, old string
	t.Run("resolved", func(t *testing.T) { page = write(t, input(Resolved(t))) })
	t.Run("old", func(t *testing.T) { old = write(t, input(Small(t))) })
	inOrder(t, page, "Of 5 cases: 1 control, 4 resolved.</p>", ">predicted ratio</th>", ">measured efficiency</th>")
	inOrder(t, old, "All 3 cases are valid.", ">ratio to control</th>", ">slowest server</th>")
	for _, tt := range []struct{ what, page, not string }{
		{"equal servers", page, "slowest server"},
		{"nothing lost", page, "lost /\u00a0twice"},
		{"results without rounds", old, "predicted ratio"},
		{"results without rounds", old, `class="answer"`},
		{"results without rounds", old, `class="half"`},
		{"results without rounds", old, "round by round"},
	} {
		expect.True(t, !strings.Contains(tt.page, tt.not), "%s: the page has %q", tt.what, tt.not)
	}
}

// A page is one file: nothing in it leads to another.
//
//gate:race
func TestSelfContained(t *testing.T) {
	page := write(t, input(Small(t)))
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "#") && !strings.HasPrefix(m[1], "data:") {
			t.Errorf("the page refers to %.80s", m[1])
		}
	}
	expect.Equal(t, regexp.MustCompile(`url\(|@import|fetch\(|XMLHttp`).FindString(page), "", "the page has")
}

// What was not measured is labelled wherever it stands.
func TestMixedIsLabelled(t *testing.T) {
	lab, sim := Small(t), Small(t)
	sim.Run.Manifest.Fabric.Kind, sim.Run.Manifest.Fabric.Model = "sim", true
	sim.Run.Summary.Name = "foretold"
	page := write(t, html.Input{Name: "lab", Source: lab}, html.Input{Name: "virtual", Source: sim})
	inOrder(t, page, "This page has measured and simulated runs side by side", "<h2>Verdict</h2>",
		`<td><a href="#run1">lab</a> <span class="badge measured">`, `<td><a href="#run2">virtual</a> <span class="badge simulated">`,
		"<h3>virtual <span", "foretold · Simulated: worked out in virtual time, not measured.")
	expect.True(t, !strings.Contains(write(t, html.Input{Name: "lab", Source: lab}), "side by side;"), "one run is called mixed")
}

func TestKilledRun(t *testing.T) {
	s := Small(t)
	s.Run.Summary = results.Salvage(s.Run.Manifest, s.Run.Samples)
	page := write(t, html.Input{Name: "r", Source: s, Notes: []string{"the last line is cut off"}})
	inOrder(t, page, "<strong>Incomplete.</strong>", "the last line is cut off", "Of 3 cases: 3 incomplete.", "the run was killed before it could judge")
}

// A run without plans, links, rates or samples still makes a page, which says what
// is missing.
func TestNothingToDraw(t *testing.T) {
	run := &results.Run{Summary: results.Summary{Name: "empty"}}
	page := write(t, input(figure.Source{Run: run}))
	inOrder(t, page, "No case was measured.", "There are no samples.", "There is no pairs.csv", "No plan of two levels describes", "Warnings (0)")
	body, _, _ := strings.Cut(page, "<script>")
	expect.True(t, !strings.Contains(body, "NaN") && !strings.Contains(body, "Inf"), "a figure of nothing was printed")
}

// Names come from files and may be anything.
func TestNamesAreText(t *testing.T) {
	s := Small(t)
	const evil = `</script><b onclick="x">`
	s.Run.Summary.Cases[0].Name = evil
	s.Run.Summary.Name = evil
	s.Run.Manifest.Scenario = evil
	s.Run.Manifest.Plans[evil] = evil
	for i := range s.Run.Samples {
		if s.Run.Samples[i].Case == "healthy" {
			s.Run.Samples[i].Case = evil
		}
	}
	expect.True(t, !strings.Contains(write(t, html.Input{Name: evil, Source: s, Notes: []string{evil}}), `<b onclick`), "a name became markup")
}

func TestTree(t *testing.T) {
	page := write(t, input(Small(t)))
	inOrder(t, page, `data-title="one dead" data-phases="5"`, `<g class="k dead"><title>leaf0-spine0: dead</title>`,
		`<title>leaf0-spine1: up 8, down 8 messages in an exchange; carried 8.08 MB up, 8.08 MB down (planned 8 MB and 8 MB)</title>`, "1 of 6 links are dead: leaf0-spine0.")
	inOrder(t, page, `data-title="unsync"`, `<g class="k timed"><title>leaf1-spine0:`, "dies at 0.7s", "1 die while events are built.")
	page = write(t, input(Parallel(t)))
	inOrder(t, page, "<title>leaf0-spine0/0: up ", "messages in an exchange; carried",
		`<g class="k dead"><title>leaf0-spine1/0: dead</title>`, `<title>leaf0-spine1/1: up`)
	pairs, tree := build(t, "pairs", Parallel(t)), build(t, "tree", Parallel(t))
	expect.True(t, len(pairs.Data.Rows) > 0 && len(tree.Panels) == 2, "%d pairs, %d trees", len(pairs.Data.Rows), len(tree.Panels))
}

// brokenWriter takes nothing.
type brokenWriter struct{}

var errFull = errors.New("full")

func (brokenWriter) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	expect.Is(t, html.Write(brokenWriter{}, []html.Input{input(Small(t))}, nil), errFull)
}

// A page of ten cases and 64 servers stays small, and so does the LHCb tree's.
func TestSize(t *testing.T) {
	for _, tt := range []struct {
		name   string
		source func(testing.TB) figure.Source
		most   int
	}{{"ten cases, 64 servers", Ten, 5 << 20}, {"LHCb", Large, 5 << 20}} {
		t.Run(tt.name, func(t *testing.T) {
			page := write(t, input(tt.source(t)))
			expect.True(t, len(page) <= tt.most, "%d bytes, more than %d", len(page), tt.most)
		})
	}
}

func BenchmarkTenCases(b *testing.B) {
	in := input(Ten(b))
	var page bytes.Buffer
	for b.Loop() {
		page.Reset()
		expect.Must(b, html.Write(&page, []html.Input{in}, nil))
	}
	b.ReportMetric(float64(page.Len()), "bytes")
}

// The page of a run with fail-overs begins with them: what each case lost, when, and a table with its columns in words.
func TestFailovers(t *testing.T) {
	const head = "<h2>Fail-over</h2>"
	inOrder(t, write(t, input(FailedOver(t))), `<header>`, `<a href="#failover">`, `<a href="#verdict">`, head, "throughput lost, s", "ms after the change was seen",
		"link dies fors+hold · down at 5.00 s", `<th scope="col">aid</th>`, "aid: repaired tables in place", "ms after it was seen", `<section id="verdict">`, "<h2>Throughput over time</h2>", "<h2>Spread over servers</h2>")
	expect.True(t, !strings.Contains(write(t, input(Small(t))), head), "a page tells of fail-overs of a run that has none")
}

// Who is slow is drawn: a server with its name and its cable, the half of a cable for one direction; of two either is dashed.
func TestSlowIsDrawn(t *testing.T) {
	in := input(Small(t))
	in.Source.Run.Summary.Cases[0].Causes = []attribution.Cause{
		{Name: "server1 or its cable to leaf0", Parts: []string{"server1"}, Share: 0.5},
		{Name: "spine0 to leaf1 or leaf0-spine1", Parts: []string{"spine0 to leaf1", "leaf0-spine1"}, Share: 0.5},
	}
	page := write(t, in)
	for want, n := range map[string]int{
		`<circle class="named2"`: 1, `<path class="named1" d="M`: 4, `>server1</text>`: 1, "one of these is slow": 1, "named as slow": 1,
		"Slow: server1 or its cable to leaf0 carries half its usual rate.": 1,
	} {
		expect.Equal(t, strings.Count(page, want), n, "%s", want)
	}
}

// document has all that a part can have; names need escapes.
func document(t *testing.T) string {
	t.Helper()
	c := &parts.Cables{
		Words: "words", Unit: "routes", Most: 9,
		Levels: [][]parts.Switch{{{Name: "leaf<0>", Hosts: 40}, {Name: "leaf1", Hosts: 2}}, {{Name: "a switch with a name too long for its box in a drawing"}, {Name: "spine1"}}},
		Cables: []parts.Cable{
			{High: parts.Place{Level: 1}, Title: "leaf<0>-spine0: dead", Dead: true},
			{High: parts.Place{Level: 1, Index: 1}, Title: "leaf<0>-spine1: 9 routes up", Up: 9, Down: 3, Deciding: true},
			{Low: parts.Place{Index: 1}, High: parts.Place{Level: 1}, Title: "leaf1-spine0: slow", Up: 1, Down: 1, Slow: true},
			{Low: parts.Place{Index: 1}, High: parts.Place{Level: 1, Index: 1}, Title: "leaf1-spine1: 2", Up: 2, Down: 2},
			{Low: parts.Place{Index: 1}, High: parts.Place{Level: 1, Index: 1}, Title: "leaf1-spine1: twin", Up: 2, Down: 2},
		},
	}
	var b strings.Builder
	err := html.WriteDocument(&b, html.Document{
		Title: "A <title>", Answer: "65.7 % of it", Lead: "lead",
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
	b.Is(t, "texts too small", `[...document.querySelectorAll("svg text")].filter(e => e.getClientRects().length && parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) < 8).map(e => e.textContent).join()`, "")
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
		expect.Must(t, html.Write(&page, []html.Input{{Name: "fuzz", Source: figure.Source{Run: run.Merge()}}}, nil))
		expect.MustTrue(t, !bytes.Contains(page.Bytes(), []byte("<fuzz>")) && !bytes.ContainsRune(page.Bytes(), '\x1b'),
			"%q and %q have become markup", summary, manifest)
	})
}

// simulated is a run as it would be in virtual time.
func simulated(s figure.Source) figure.Source {
	s.Run.Manifest.Fabric.Kind, s.Run.Manifest.Fabric.Model = "sim", true
	s.Run.Summary.Slices = nil
	for i := range s.Run.Summary.Cases {
		c := &s.Run.Summary.Cases[i]
		c.Estimate, c.Control, c.Verdict = nil, false, ""
	}
	return s
}

// Nothing of a simulated run is called measured.
func TestSimulatedIsNotMeasured(t *testing.T) {
	for _, tt := range []struct {
		kind, head string
	}{{"sim", ">simulated efficiency</th>"}, {"emulate", ">emulated efficiency</th>"}} {
		s := simulated(Small(t))
		s.Run.Manifest.Fabric.Kind = tt.kind
		page := write(t, input(s))
		inOrder(t, page, tt.head)
		body, _, _ := strings.Cut(page[strings.Index(page, "<body>"):], "<script>")
		for _, allowed := range []string{"not measured", "A model: measured on emulated links"} {
			body = strings.ReplaceAll(body, allowed, "")
		}
		expect.Equal(t, regexp.MustCompile(`(?i).{0,60}measured.{0,20}`).FindString(body), "", "%s: the page says", tt.kind)
	}
}

// Runs beside each other have one heading for each figure, their differences come first, and
// their maps have one scale.
func TestBeside(t *testing.T) {
	base, next := Resolved(t), Resolved(t)
	slower(next.Run)
	next.Run.Pairs = []results.PairCount{{Case: "healthy", Src: 0, Dst: 1, Bytes: 1e10, Sec: 1}}
	page := write(t, html.Input{Name: "before", Source: base}, html.Input{Name: "after", Source: next})
	inOrder(t, page, `<p class="answer several">after beside before: differs in the ratio to the control: FORS`, "<h2>Verdict</h2>", "<h2>Differences</h2>", "after</a> beside before",
		`<th scope="row">linear shift</th>`, `not shown</span>`, `<th scope="row">FORS</th>`, ">\u22120.100</td>", `<span class="told ranked">differs</span>`, "<h2>Predicted and measured efficiency</h2>", "<h3>before", "<h3>after")
	for _, once := range []string{"<h2>Throughput per case</h2>", "<h2>Load of links in the fat tree</h2>", "<h2>Manifest and warnings</h2>"} {
		expect.Equal(t, strings.Count(page, once), 1, "%s stands there: times", once)
	}
	if n := strings.Count(page, ">80</text>"); n < 5 { // Gbit/s, the end of each scale
		t.Errorf("%d maps reach to 80 Gbit/s", n)
	}
	expect.True(t, !strings.Contains(write(t, html.Input{Name: "before", Source: base}), "Differences"), "one run has differences")
}

// slower takes a tenth off the ratios of FORS, and changes what each slice built, most of all those that
// were rejected.
func slower(run *results.Run) {
	for i := range run.Summary.Slices {
		s := &run.Summary.Slices[i]
		if s.Case == "FORS" {
			s.Ratio -= 0.1
		}
		if s.EventsPerSec *= 0.8 + 0.01*float64(s.Round); s.Rejected != "" {
			s.EventsPerSec /= 10
		}
	}
}

// A page shows of two runs what compare does: slices that were rejected do not count in either.
func TestBesideAsCompared(t *testing.T) {
	base, next := Resolved(t), Resolved(t)
	slower(next.Run)
	page := write(t, html.Input{Name: "before", Source: base}, html.Input{Name: "after", Source: next})
	for _, c := range compare.Runs(base.Run, next.Run, false).Cases {
		for _, f := range c.Figures {
			if want := strings.Replace(fmt.Sprintf(">%+.2f\u00a0%%</td>", *f.Change), "-", "\u2212", 1); f.Name == "events_per_s" {
				inOrder(t, page, "<h2>Differences</h2>", `<th scope="row">`+c.Name+"</th>", want, "</tr>")
			}
		}
		expect.False(t, c.Name == "unsync minhop" && (c.Rejected.Base != 1 || c.Rejected.New != 1), "%s: %+v are rejected", c.Name, c.Rejected)
	}
}

// Runs that were not made alike are compared by their ratios alone, and by their efficiencies
// where one has none.
func TestBesideSimulation(t *testing.T) {
	page := write(t, html.Input{Name: "lab", Source: Resolved(t)}, html.Input{Name: "virtual", Source: simulated(Resolved(t))})
	inOrder(t, page, "virtual beside lab: ", "<h2>Differences</h2>", "Events/s are not compared: the runs were not made alike")
	inOrder(t, page, ">ratio, first</th>")
	other := simulated(Resolved(t))
	for i := range other.Run.Summary.Cases {
		other.Run.Summary.Cases[i].RatioToControl = 0
	}
	inOrder(t, write(t, html.Input{Name: "lab", Source: Resolved(t)}, html.Input{Name: "virtual", Source: other}), ">efficiency, first</th>")
	strange := Small(t)
	for i := range strange.Run.Summary.Cases {
		strange.Run.Summary.Cases[i].Name += "!"
	}
	inOrder(t, write(t, html.Input{Name: "a", Source: Small(t)}, html.Input{Name: "b", Source: strange}),
		"b beside a: nothing to compare.", "Only in a: healthy, one dead, unsync.", "Only in b: healthy!, one dead!, unsync!.")
}
