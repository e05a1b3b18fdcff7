package html_test

import (
	"regexp"
	"strings"
	"testing"

	"evbench/report/figure"
	"evbench/report/html"
	"evbench/report/reporttest"
	"evbench/results"
)

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
		s := simulated(reporttest.Small(t))
		s.Run.Manifest.Fabric.Kind = tt.kind
		page := write(t, input(s))
		inOrder(t, page, tt.head)
		body, _, _ := strings.Cut(page[strings.Index(page, "<body>"):], "<script>")
		for _, allowed := range []string{"not measured", "A model: measured on emulated links"} {
			body = strings.ReplaceAll(body, allowed, "")
		}
		if m := regexp.MustCompile(`(?i).{0,60}measured.{0,20}`).FindString(body); m != "" {
			t.Errorf("%s: the page says %q", tt.kind, m)
		}
	}
}

// Runs beside each other have one heading for each figure, their differences come first, and
// their maps have one scale.
func TestBeside(t *testing.T) {
	base, next := reporttest.Resolved(t), reporttest.Resolved(t)
	for i := range next.Run.Summary.Cases {
		c := &next.Run.Summary.Cases[i]
		if e := c.Estimate; e != nil && c.Name == "FORS" {
			lo, hi := *e.Lo-0.1, *e.Hi-0.1
			c.Estimate = &results.Estimate{Of: e.Of, Over: e.Over, Interval: results.Interval{Median: e.Median - 0.1, Lo: &lo, Hi: &hi, N: e.N}}
		}
	}
	next.Run.Pairs = []results.PairCount{{Case: "healthy", Src: 0, Dst: 1, Bytes: 1e10, Sec: 1}}
	page := write(t, html.Input{Name: "before", Source: base}, html.Input{Name: "after", Source: next})
	inOrder(t, page, `<p class="answer several">after beside before: differs in the ratio to the control: FORS`, "<h2>Verdict</h2>", "<h2>Differences</h2>", "after</a> beside before",
		`<th scope="row">linear shift</th>`, `not shown</span>`, `<th scope="row">FORS</th>`, "\u22120.100\u00a0(\u2212", `<span class="told ordered">differs</span>`, "<h2>Predicted and measured efficiency</h2>", "<h3>before", "<h3>after")
	for _, once := range []string{"<h2>Throughput per case</h2>", "<h2>Load of links in the fat tree</h2>", "<h2>Manifest and warnings</h2>"} {
		if n := strings.Count(page, once); n != 1 {
			t.Errorf("%s stands there %d times", once, n)
		}
	}
	if n := strings.Count(page, ">80</text>"); n < 5 { // Gbit/s, the end of each scale
		t.Errorf("%d maps reach to 80 Gbit/s", n)
	}
	if one := write(t, html.Input{Name: "before", Source: base}); strings.Contains(one, "Differences") {
		t.Error("one run has differences")
	}
}

// Runs that were not made alike are compared by their ratios alone, and by their efficiencies
// where one has none.
func TestBesideSimulation(t *testing.T) {
	page := write(t, html.Input{Name: "lab", Source: reporttest.Resolved(t)}, html.Input{Name: "virtual", Source: simulated(reporttest.Resolved(t))})
	inOrder(t, page, "virtual beside lab: ", "<h2>Differences</h2>", "Events/s are not compared: the runs were not made alike")
	inOrder(t, page, ">ratio, first</th>")
	other := simulated(reporttest.Resolved(t))
	for i := range other.Run.Summary.Cases {
		other.Run.Summary.Cases[i].RatioToControl = 0
	}
	inOrder(t, write(t, html.Input{Name: "lab", Source: reporttest.Resolved(t)}, html.Input{Name: "virtual", Source: other}), ">efficiency, first</th>")
	strange := reporttest.Small(t)
	for i := range strange.Run.Summary.Cases {
		strange.Run.Summary.Cases[i].Name += "!"
	}
	inOrder(t, write(t, html.Input{Name: "a", Source: reporttest.Small(t)}, html.Input{Name: "b", Source: strange}),
		"b beside a: nothing to compare.", "Only in a: healthy, one dead, unsync.", "Only in b: healthy!, one dead!, unsync!.")
}
