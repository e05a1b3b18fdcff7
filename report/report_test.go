package report_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"evbench/builder/modes"
	"evbench/internal/show"
	"evbench/report"
	"evbench/results"
	"evbench/testing/expect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func stat(x float64) results.Stat {
	return results.Stat{Min: x * 0.998, Mean: x, Median: x * 1.001, Max: x * 1.002}
}

// measured is a case of the quick start with an efficiency.
func measured(name string, mode modes.Mode, schedule, routing string, phases int, predicted, got float64, dead ...string) results.Case {
	return results.Case{
		Name: name, Mode: mode, Schedule: schedule, Routing: routing, Failures: dead, Rates: results.Rates{Phases: phases, EventsPerSec: stat(got * 1.3333), GoodputBitPerSec: stat(got * 93.06e6),
			PredictedEfficiency: predicted, PredictedRatio: predicted, MeasuredEfficiency: got},
		Deliver:  "buffer",
		Complete: true, Valid: true,
	}
}

func quickstart() results.Summary {
	const sync, unsync = "synchronised", "unsynchronised"
	s := results.Summary{Name: "quickstart", Complete: true, Cases: []results.Case{
		measured("healthy", sync, "linear-shift", "ftree", 15, 1, 0.991),
		measured("healthy unsync", unsync, "", "ftree", 0, 1, 0.967),
		measured("linear shift", sync, "linear-shift", "minhop", 15, 0.577, 0.571, "leaf0-spine0"),
		measured("unsync minhop", unsync, "", "minhop", 0, 0.625, 0.607, "leaf0-spine0"),
		measured("unsync spread", unsync, "", "spread", 0, 0.938, 0.884, "leaf0-spine0"),
		measured("FORS", sync, "fors", "pinned", 16, 0.9375, 0.931, "leaf0-spine0"),
	}}
	s.Cases[0].Control, s.Cases[5].Bound = true, 16
	assess(&s, 8, 0.01)
	return s
}

// assess gives a run so many rounds, in which cases differ by a share of noise.
func assess(s *results.Summary, rounds int, noise float64) {
	s.Rounds = rounds
	for round := range rounds {
		for i, c := range s.Cases {
			off := 1 + noise*float64((round+i)%4-2)/2
			if c.Control {
				off = 1
			}
			s.Slices = append(s.Slices, results.Slice{
				Case: c.Name, Repeat: round, Round: round, Control: c.Control, Efficiency: c.MeasuredEfficiency * off,
				GoodputBitPerSec: c.GoodputBitPerSec.Mean * off, Exchanges: 2, MeasuredSec: 1.5, Complete: true,
			})
		}
	}
	compared := results.Compare(s.Cases, nil)
	results.Assess(s.Cases, s.Slices, compared)
	s.Answer = results.NewAnswer(results.Setting{Cables: 16}, s.Cases, s.Slices, compared)
}

// noisy is a run that noise decides: wide intervals, and slices that do not count.
func noisy() results.Summary {
	s := quickstart()
	s.Slices = nil
	assess(&s, 8, 0.8)
	for i := range s.Slices[:6] {
		s.Slices[i].Rejected = "servers waited for a processor for more than 10 % of the time, and 1.5 times what was usual in this run"
	}
	compared := results.Compare(s.Cases, nil)
	results.Assess(s.Cases, s.Slices, compared)
	s.Answer = results.NewAnswer(results.Setting{Cables: 16}, s.Cases, s.Slices, compared)
	return s
}

// wrong is a run with everything that is told in words.
func wrong() results.Summary {
	s := quickstart()
	s.Cases = s.Cases[:5]
	s.Complete = false
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Valid = false
		c.Reasons = []string{"not complete: the case ended before its time"}
	}
	s.Cases[3].Reasons = append(s.Cases[3].Reasons, "link leaf0-spine1 up carried 106.00 MB, the plan puts 100.00 MB there (+6.0 %)")
	s.Cases[3].Warnings, s.Cases[4].Warnings = []string{"17 fragments late"}, []string{"17 fragments late"}
	s.Cases[4].Complete, s.Cases[4].EventsLost, s.Cases[4].EventsDuplicate = false, 12, 3
	return s
}

func emulated() results.Summary {
	s := quickstart()
	for i := range s.Cases {
		s.Cases[i].Model = true
		s.Cases[i].Deliver = "discard"
	}
	return s
}

// hosts has no link rate, so no efficiency, and fast servers; each case is
// measured twice.
func hosts() results.Summary {
	c := measured("plain hosts", "free-running", "linear-shift", "ecmp", 15, 0, 0)
	c.EventsPerSec, c.GoodputBitPerSec = stat(12345.6), stat(97.4e9)
	again := c
	again.Repeat = 1
	return results.Summary{Complete: true, Cases: []results.Case{c, again}}
}

func timed() results.Summary {
	c := measured("synchronised", "synchronised", "linear-shift", "minhop", 15, 1, 0.83, "leaf0-spine0 at 3s for 4s")
	c.LinkEvents = []results.LinkEvent{
		{Link: "leaf0-spine0", TSec: 3.0004, SeenSec: 0.00031, RoutesSec: 0.0011, Routes: 18},
		{Link: "leaf0-spine0", Up: true, TSec: 7.0002, SeenSec: 0.00028, RoutesSec: 0.0009},
		{Link: "leaf0-spine1", TSec: 8},
	}
	for range 7 {
		c.LinkEvents = append(c.LinkEvents, results.LinkEvent{Link: "leaf1-spine1", TSec: 9, SeenSec: 1e-4, RoutesSec: 1e-3, Routes: 1})
	}
	return results.Summary{Complete: true, Cases: []results.Case{c}}
}

// failedOver is a run of four policies and a flapping link.
func failedOver() results.Summary {
	dies := "leaf0-spine0 at 5s for 6s"
	none := measured("link dies none", "synchronised", "linear-shift", "ftree", 15, 1, 0.6, dies)
	none.Failover, none.Failovers = "none", []results.Failover{
		{ID: 1, Down: []string{"leaf0-spine0"}, FailoverTimes: results.FailoverTimes{SetSec: sec(5), SeenSec: sec(5.00031)}, BeforeEventsPerSec: sec(53.2), AfterEventsPerSec: sec(0)},
		{ID: 2, Up: []string{"leaf0-spine0"}, FailoverTimes: results.FailoverTimes{SetSec: sec(11), SeenSec: sec(11.00028), CleanedSec: sec(11.002)}, BeforeEventsPerSec: sec(0), AfterEventsPerSec: sec(53)},
	}
	none.LinkEvents = []results.LinkEvent{{Link: "leaf0-spine0", TSec: 5}}
	minhop := measured("link dies minhop", "synchronised", "linear-shift", "minhop", 15, 1, 0.8, dies)
	minhop.Failover, minhop.Failovers = "minhop", []results.Failover{
		{ID: 1, Down: []string{"leaf0-spine0"}, FailoverTimes: results.FailoverTimes{SetSec: sec(5), SeenSec: sec(5.0003), AidedSec: sec(5.0015)}, BeforeEventsPerSec: sec(53.2), AfterEventsPerSec: sec(31)},
	}
	fors := measured("link dies fors", "synchronised", "fors", "pinned", 16, 1, 0.95, dies)
	fors.FragmentsLate = 3
	fors.Failover, fors.Failovers = "fors", []results.Failover{
		failover(1, 5, "computed"),
		{ID: 2, Down: []string{"leaf1-spine0", "leaf2-spine0"}, Held: []string{"leaf0-spine0"}, FailoverTimes: results.FailoverTimes{SeenSec: sec(9)}, Superseded: true, Reason: "no plan: leaf1 and leaf2 have no spine in common"},
		failover(3, 11, "store"),
	}
	flapping := measured("flapping fors+hold", "synchronised", "fors", "pinned", 16, 1, 0.95, "leaf0-spine0 at 3s for 300ms every 1.5s, 20 times")
	for i := range 20 {
		flapping.Failovers = append(flapping.Failovers, failover(i+1, 3+1.5*float64(i), "computed"))
	}
	flapping.Failovers[7].FirstNewSec, flapping.Failovers[7].Superseded = nil, true
	flapping.Failover = "fors+hold"
	return results.Summary{Complete: true, Cases: []results.Case{none, minhop, fors, flapping}}
}

func sec(x float64) *float64 { return &x }

// failover is a fail-over that went through. Later ones took longer.
func failover(id int, at float64, source string) results.Failover {
	after := func(ms float64) *float64 { return sec(at + ms*(1+float64(id)/50)/1e3) }
	return results.Failover{
		ID: id, Down: []string{"leaf0-spine0"}, FailoverTimes: results.FailoverTimes{SetSec: sec(at), SeenSec: after(0.31), AidedSec: after(1.5), PlannedSec: after(3), VerifiedSec: after(3.4),
			InstalledSec: after(8), UpdatedSec: after(12), LastOldSec: after(200), FirstNewSec: after(530), CleanedSec: after(540)}, Source: source,
		BeforeEventsPerSec: sec(53.2), DuringEventsPerSec: sec(28), AfterEventsPerSec: sec(50 - float64(id)/10),
	}
}

func TestTable(t *testing.T) {
	for _, tt := range []struct {
		name  string
		s     results.Summary
		width int
	}{
		{"quickstart", quickstart(), 0},
		{"wide", quickstart(), 140},
		{"noisy", noisy(), 0},
		{"wrong", wrong(), 120},
		{"emulated", emulated(), 120},
		{"narrow", wrong(), 60},
		{"hosts", hosts(), 0},
		{"timed", timed(), 120},
		{"failover", failedOver(), 120},
		{"empty", results.Summary{}, 120},
	} {
		var b strings.Builder
		expect.Must(t, report.Table(&b, tt.s, report.Options{Width: tt.width}))
		golden := filepath.Join("testdata", tt.name+".txt")
		if *update {
			expect.Must(t, os.WriteFile(golden, []byte(b.String()), 0o644))
		}
		want := expect.Value(os.ReadFile(golden))(t)
		expect.True(t, b.String() == string(want), "%s: wrote\n%s\nwant\n%s", tt.name, b.String(), want)
	}
}

func TestWarnings(t *testing.T) {
	for _, tt := range []struct {
		warnings []string
		width    int
		want     string
	}{
		{nil, 0, ""},
		{[]string{"MTU differs between hosts: 9000 on most, 1500 on node2", "no answer"}, 0,
			"warning: MTU differs between hosts: 9000 on most, 1500 on node2\nwarning: no answer\n"},
		{[]string{"MTU differs between hosts: 9000 on most, 1500 on node2"}, 42,
			"warning: MTU differs between hosts: 9000\n  on most, 1500 on node2\n"},
	} {
		var b strings.Builder
		if err := report.Warnings(&b, tt.warnings, report.Options{Width: tt.width}); err != nil || b.String() != tt.want {
			t.Errorf("width %d: wrote\n%s(%v), want\n%s", tt.width, b.String(), err, tt.want)
		}
	}
	broken := errors.New("pipe closed")
	expect.Is(t, report.Warnings(brokenWriter{broken}, nil, report.Options{}), broken)
}

// The quick start fits the usual terminal, whatever happens to it.
func TestTableFits(t *testing.T) {
	for _, s := range []results.Summary{quickstart(), noisy(), wrong(), hosts(), timed()} {
		var b strings.Builder
		expect.Must(t, report.Table(&b, s, report.Options{}))
		for line := range strings.Lines(b.String()) {
			n := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
			expect.True(t, n <= report.DefaultWidth, "%d columns: %s", n, line)
		}
	}
}

// Every label and every reason is there, whatever the width.
func TestTableSaysAll(t *testing.T) {
	s := wrong()
	s.Cases[0].Model, s.Cases[1].Deliver = true, "discard"
	for _, width := range []int{1, 40, 80, 120, 1000} {
		var b strings.Builder
		expect.Must(t, report.Table(&b, s, report.Options{Width: width}))
		text := strings.Join(strings.Fields(b.String()), " ")
		for _, want := range []string{"WRONG,", " model ", " discard ", "INCOMPLETE", "12/3"} {
			expect.True(t, strings.Contains(text, want), "width %d: %q is missing", width, want)
		}
		expect.False(t, width >= 40 && strings.Count(text, "not complete: the case ended before its time") != 1,
			"width %d: the reason of every case is not told once:\n%s", width, b.String())
	}
}

type brokenWriter struct{ error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.error }

func TestTableReportsErrors(t *testing.T) {
	broken := errors.New("pipe closed")
	expect.Is(t, report.Table(brokenWriter{broken}, quickstart(), report.Options{}), broken)
}

// No golden file is left over from a test that is gone.
func TestGoldenFilesAreUsed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	want := []string{"empty", "emulated", "failover", "hosts", "narrow", "noisy", "quickstart", "timed", "wide", "wrong"}
	var got []string
	for _, f := range files {
		got = append(got, strings.TrimSuffix(filepath.Base(f), ".txt"))
	}
	if slices.Sort(got); err != nil || !slices.Equal(got, want) {
		t.Errorf("golden files %v, %v; want %v", got, err, want)
	}
}

// A simulated case is not taken for a measured one.
func TestSimulated(t *testing.T) {
	s := quickstart()
	s.Cases[1].Simulated, s.Cases[2].Simulated = "phase", "fluid"
	s.Cases[3].Simulated, s.Cases[3].Mode = "phase", "ordered"
	s.Cases[1].Verdict, s.Cases[2].Verdict = "", ""
	var b strings.Builder
	expect.Must(t, report.Table(&b, s, report.Options{}))
	for _, want := range []string{"valid, phase\n", "valid, fluid\n", "\nphase: simulated, not measured;", "\nphase, ordered cases: simulated, not measured;", "\nfluid: simulated, not measured;"} {
		expect.Contains(t, b.String(), want)
	}
}

// Colours are around words, never inside of them, and a file has none.
func TestColour(t *testing.T) {
	var plain, coloured strings.Builder
	expect.Must(t, errors.Join(report.Table(&plain, quickstart(), report.Options{}), report.Table(&show.Writer{To: &coloured}, quickstart(), report.Options{Colour: true})))
	expect.True(t, !strings.Contains(plain.String(), "\x1b") && strings.Contains(coloured.String(), "\x1b[32mresolved\x1b[0m"),
		"colours:\n%q", coloured.String())
	got := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(coloured.String(), "")
	expect.True(t, got == plain.String(), "without its colours it is\n%s\nwant\n%s", got, plain.String())
}

// FuzzTable: whatever summary is read, its table is there, rows stay on their line and
// nothing in it is obeyed by a terminal.
func FuzzTable(f *testing.F) {
	s := quickstart()
	s.Cases[1].Failovers = []results.Failover{{ID: 1, Down: []string{"leaf0-spine0"}, Source: "kept", Reason: "a\nb"}}
	s.Cases[1].LinkEvents = []results.LinkEvent{{Link: "leaf0-spine0", RoutesSec: 1}}
	s.Slices = s.Slices[:2]
	var b strings.Builder
	expect.Must(f, s.Write(&b))
	f.Add(b.String(), 80)
	f.Add(`{"schema":"evbench/summary/1","cases":[{"name":"a\nb\u001b[2J","schedule":"c\nd"}]}`, 3)
	f.Fuzz(func(t *testing.T, text string, width int) {
		s, err := results.ReadSummary(strings.NewReader(text))
		if err != nil {
			return
		}
		var b strings.Builder
		expect.Must(t, report.Table(&b, s, report.Options{Width: width % 500}))
		out := b.String()
		expect.MustTrue(t, !strings.ContainsAny(out, "\x1b\r\x07\u009b") && strings.HasSuffix(out, "\n"), "%q became %q", text, out)
		n := len(b.String())
		expect.MustTrue(t, n <= 1000*(len(text)+1000), "%d bytes became %d", len(text), n)
	})
}
