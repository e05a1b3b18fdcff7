package html_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/report/figure"
	"evbench/report/html"
	"evbench/results"
	"evbench/results/compare"
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
	for _, c := range compare.Runs(base.Run, next.Run, compare.Options{}).Cases {
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
