package html_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/report/figure"
	"evbench/report/html"
	"evbench/results"
)

// write returns the page of runs. With EVBENCH_PAGES set it is kept there for
// people to look at.
func write(t testing.TB, runs ...html.Input) string {
	t.Helper()
	var b bytes.Buffer
	expect.Must(t, html.Write(&b, runs))
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
		"<h1>Event building: made up</h1>", `<p class="answer">NOT KNOWN: The intervals are too wide to compare linear shift, FORS (one dead`, `<p class="because">because noise is as large`, " · 8 rounds · ", "<h2>Verdict</h2>",
		"Of 5 cases: 1 control, 2 unresolved, 2 wrong. Why is said below the table.", ">ratio to control</th>", ">slowest server</th>", ">lost /\u00a0twice</th>",
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
	inOrder(t, page, "No case was measured.", "There are no samples.", "There is no pairs.csv", "No plan of two levels says", "Warnings (0)")
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
	inOrder(t, page, `data-title="one dead" data-phases="5"`, "1 of 6 links are dead: leaf0-spine0.", `<g class="k dead"><title>leaf0-spine0: dead</title>`,
		`<title>leaf0-spine1: up 8, down 8 messages in an exchange; carried 8.08 MB up, 8.08 MB down (planned 8 MB and 8 MB)</title>`)
	inOrder(t, page, `data-title="unsync"`, "1 die while events are built.", `<g class="k timed"><title>leaf1-spine0:`, "dies at 0.7s")
	page = write(t, input(Parallel(t)))
	inOrder(t, page, "1 of 16 links are dead: leaf0-spine1/0.", "<title>leaf0-spine0/0: up ", "messages in an exchange; carried",
		`<g class="k dead"><title>leaf0-spine1/0: dead</title>`, `<title>leaf0-spine1/1: up`)
	pairs, tree := build(t, "pairs", Parallel(t)), build(t, "tree", Parallel(t))
	expect.True(t, len(pairs.Data.Rows) > 0 && len(tree.Panels) == 2, "%d pairs, %d trees", len(pairs.Data.Rows), len(tree.Panels))
}

// brokenWriter takes nothing.
type brokenWriter struct{}

var errFull = errors.New("full")

func (brokenWriter) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	expect.Is(t, html.Write(brokenWriter{}, []html.Input{input(Small(t))}), errFull)
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
		expect.Must(b, html.Write(&page, []html.Input{in}))
	}
	b.ReportMetric(float64(page.Len()), "bytes")
}

// The page of a run with fail-overs begins with them: a table with its columns in words, then the drawings.
func TestFailovers(t *testing.T) {
	const head = "<h2>Fail-over</h2>"
	inOrder(t, write(t, input(FailedOver(t))), `<header>`, `<a href="#failover">`, `<a href="#verdict">`, head, `<th scope="col">aid</th>`, "aid: repaired tables in place",
		"ms after it was seen", "link dies fors+hold · down at 5.00 s", `<section id="verdict">`, "<h2>Throughput over time</h2>", "<h2>Spread over servers</h2>")
	expect.True(t, !strings.Contains(write(t, input(Small(t))), head), "a page tells of fail-overs of a run that has none")
}
