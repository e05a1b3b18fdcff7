package progress_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"evbench/bench"
	"evbench/bench/progress"
	"evbench/report"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

const twoCases = `
topology: FT(2;2,2)
control: off
duration: 10s
rounds: 2
cases:
  - {name: healthy, schedule: linear-shift}
  - {name: one dead, schedule: fors, failures: [leaf0-spine0]}
`

// A story is the events of a run, told one after the other.
type story struct {
	tell     func(bench.Progress)
	at       time.Time
	rounds   int
	cases    []bench.Planned
	summary  results.Summary
	measured map[string]results.Case
}

func newStory(t *testing.T, text string, tell func(bench.Progress)) *story {
	t.Helper()
	s, err := scenario.Read("x.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	planned, err := bench.Prepare(s)
	if err != nil {
		t.Fatal(err)
	}
	x := &story{tell: tell, rounds: s.Rounds.Count, cases: planned, at: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC), measured: map[string]results.Case{}}
	x.say(bench.Progress{Stage: bench.Begun, Manifest: &results.Manifest{Name: "x"}, Cases: planned, Limit: s.Rounds.Limit})
	return x
}

func (x *story) say(p bench.Progress) {
	p.At, p.Rounds = x.at, x.rounds
	x.tell(p)
}

// slice tells a slice of a case of which each server builds so many events per second. It
// takes two seconds beside its measured part.
func (x *story) slice(round, index int, rate float64, beside ...bench.Progress) {
	c := x.cases[index]
	p := bench.Progress{Stage: bench.Installing, Case: c.Name, Index: index, Count: len(x.cases), Round: round, Duration: c.Duration}
	x.say(p)
	x.at = x.at.Add(2 * time.Second)
	p.Stage = bench.WarmingUp
	x.say(p)
	p.Stage = bench.Measuring
	x.say(p)
	for i := range 2 {
		x.at = x.at.Add(c.Duration / 2)
		p.Elapsed, p.EventsPerSec = time.Duration(i+1)*c.Duration/2, rate
		x.say(p)
		for _, e := range beside {
			e.Case = c.Name
			x.say(e)
		}
	}
	one := results.Case{Name: c.Name, Schedule: c.Schedule, Routing: "pinned", Control: c.Control, MeasuredSec: c.Duration.Seconds(),
		EventsPerSec: results.NewStat([]float64{rate}), MeasuredEfficiency: 0.9, PredictedEfficiency: 1, Complete: true, Valid: true}
	for _, e := range beside {
		if e.Failover != nil {
			one.Failovers = append(one.Failovers, *e.Failover)
		}
	}
	x.measured[c.Name] = one
	x.summary.Slices = append(x.summary.Slices, results.Slice{Case: c.Name, Round: round - 1, EventsPerSec: rate, Complete: true})
	p.Stage, p.Slice, p.Summary = bench.Done, &one, x.standing()
	p.Links = []results.LinkCount{{Case: c.Name, Link: "leaf0-spine1", Direction: "up", Bytes: 1000}}
	x.say(p)
}

func (x *story) standing() *results.Summary {
	sum := x.summary
	for _, c := range x.cases {
		if one, ok := x.measured[c.Name]; ok {
			sum.Cases = append(sum.Cases, one)
		}
	}
	return &sum
}

func (x *story) roundDone(round int) {
	x.say(bench.Progress{Stage: bench.RoundDone, Round: round, Elapsed: time.Duration(round) * 24 * time.Second, Summary: x.standing()})
}

// What is left counts down over rounds, and counts what slices take beside their
// measured parts once that is known.
func TestLeft(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string
	}{
		{twoCases, "about 40s|about 38s|about 38s|about 33s|about 30s|about 36s|about 36s|about 34s|about 34s|about 29s|about 24s|about 24s|about 24s|about 24s|about 22s|about 22s|about 17s|about 12s|about 12s"},
		{strings.Replace(twoCases, "rounds: 2", "rounds: auto\nlimit: 60s", 1), "at most 1m0s|at most 58s|at most 58s|at most 53s|at most 48s|at most 48s"},
	} {
		var s progress.State
		var got []string
		x := newStory(t, tt.text, func(e bench.Progress) {
			s.Take(e)
			got = append(got, strings.TrimSuffix(progress.LeftText(&s), " left"))
		})
		got = nil
		x.slice(1, 0, 5)
		if x.rounds > 0 {
			x.slice(1, 1, 3)
			x.roundDone(1)
			x.slice(2, 0, 5)
		}
		if text := strings.Join(got, "|"); text != tt.want {
			t.Errorf("got  %s\nwant %s", text, tt.want)
		}
		x.say(bench.Progress{Stage: bench.Ended, Summary: x.standing()})
		if progress.LeftText(&s) != "" || progress.Where(&s) != "" {
			t.Error("something is left of a run that has ended")
		}
	}
}

// Links that die are dead while the case goes on, and not in the next; what others do to
// links is known from fail-overs.
func TestStateLinks(t *testing.T) {
	var s progress.State
	link := topology.Link{Leaf: 1, Spine: 1}
	var dead []string
	x := newStory(t, twoCases, func(e bench.Progress) {
		s.Take(e)
		if c := s.Case(s.Last.Case); c != nil {
			_, links := s.Plan(c)
			dead = append(dead, strings.Join(topology.LinkNames(links), " "))
		}
	})
	x.slice(1, 1, 3, bench.Progress{Stage: bench.LinksChanged, Down: []topology.Link{link}},
		bench.Progress{Stage: bench.FailedOver, Failover: &results.Failover{Case: x.cases[1].Name, ID: 1, Up: []string{"leaf1-spine1"}, Reason: results.FromOutside}})
	both, one := "leaf0-spine0 leaf1-spine1", "leaf0-spine0"
	if got, want := strings.Join(dead, "|"), strings.Join([]string{one, one, one, one, both, one, one, both, one, one}, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(s.Failovers) != 1 || s.Links[x.cases[1].Name][0].Bytes != 1000 || len(s.Rates) != 2 || s.Rates[1].EventsPerSec != 3 {
		t.Errorf("%d fail-overs, links %v, rates %v", len(s.Failovers), s.Links, s.Rates)
	}
	before := s
	x.slice(1, 0, 5)
	x.slice(2, 1, 4)
	if n := s.Links[x.cases[1].Name][0].Bytes; n != 2000 || before.Links[x.cases[1].Name][0].Bytes != 1000 {
		t.Errorf("carried %d, and %d in the copy", n, before.Links[x.cases[1].Name][0].Bytes)
	}
}

// Without a terminal there are lines that stay.
func TestPlainLines(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		var b bytes.Buffer
		show := &progress.Show{Terminal: &progress.Terminal{To: &b}, Verbose: verbose}
		x := newStory(t, twoCases, show.Update)
		x.slice(1, 0, 5, bench.Progress{Stage: bench.LinksChanged})
		if !verbose {
			x.slice(1, 1, 3)
		}
		x.roundDone(1)
		want := "round 1 of 2 [1/2] healthy: measure (10s)\nround 1 of 2 [2/2] one dead: measure (10s)\nround 1, 24s: \n"
		if verbose {
			want = "round 1 of 2 [1/2] healthy: install (10s)\nround 1 of 2 [1/2] healthy: warm up (10s)\nround 1 of 2 [1/2] healthy: measure (10s)\n" +
				"round 1 of 2 [1/2] healthy: 5.00 events/s per server over 10s, efficiency 0.900, predicted 1.000\nround 1, 24s: \n"
		}
		if b.String() != want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), want)
		}
	}
}

// A screen shows what a terminal of some size would after what was written to it.
type screen struct {
	t    *testing.T
	rows []string
	at   int
}

func (s *screen) Write(b []byte) (int, error) {
	for text := string(b); text != ""; {
		var n int
		switch {
		case strings.HasPrefix(text, "\r\x1b[J"):
			s.rows, text = append(s.rows[:s.at], ""), text[4:]
		case strings.HasPrefix(text, "\r\x1b["):
			if _, err := fmt.Sscanf(text, "\r\x1b[%dA\x1b[J", &n); err != nil || n > s.at {
				s.t.Fatalf("%q with %d lines above", text, s.at)
			}
			s.at -= n
			s.rows, text = append(s.rows[:s.at], ""), text[strings.Index(text, "J")+1:]
		case strings.HasPrefix(text, "\r\n"):
			text = text[2:]
			s.rows, s.at = append(s.rows, ""), s.at+1
		case text[0] == '\n':
			text = text[1:]
			s.rows, s.at = append(s.rows, ""), s.at+1
		default:
			if len(s.rows) == 0 {
				s.rows = []string{""}
			}
			s.rows[s.at] += text[:1]
			text = text[1:]
		}
	}
	return len(b), nil
}

func (s *screen) String() string { return strings.Join(s.rows, "\n") }

// On a terminal there is a table that is drawn anew, with the rate of one server, and below
// what a log says.
func TestTable(t *testing.T) {
	on := &screen{t: t}
	columns, rows := 80, 24
	term := &progress.Terminal{To: on, Screen: on, Size: func() (int, int) { return columns, rows }}
	show := &progress.Show{Terminal: term, Options: func() report.Options { return report.Options{Width: columns} }}
	var during []string
	x := newStory(t, twoCases, func(e bench.Progress) {
		show.Update(e)
		during = append(during, on.String())
	})
	x.slice(1, 0, 5)
	x.slice(1, 1, 3)
	for _, want := range []string{
		"about 30s left\nround 1 of 2 [1/2] healthy: measure 10s of 10s, 5.000 events/s of a server",
		"about 24s left\nround 1 of 2 [2/2] one dead: done, 3.00 events/s per server over 10s, effi",
	} {
		found := false
		for _, text := range during {
			found = found || strings.HasPrefix(text, want)
		}
		if !found {
			t.Errorf("never %q but\n%s", want, strings.Join(during, "\n---\n"))
		}
	}
	for _, want := range []string{"case ", "healthy", "one dead", "3.000"} {
		if !strings.Contains(on.String(), want) {
			t.Errorf("no %q in\n%s", want, on)
		}
	}
	fmt.Fprintln(term, "level=WARN msg=odd")
	if on.String() != "level=WARN msg=odd\n" {
		t.Errorf("behind the log\n%s", on)
	}
	rows = 3
	x.roundDone(1)
	if n := strings.Count(on.String(), "\n"); n != 2 {
		t.Errorf("%d lines where there is room for a table of two:\n%s", n+1, on)
	}
	x.say(bench.Progress{Stage: bench.Ended, Summary: x.standing()})
	if on.String() != "level=WARN msg=odd\n" {
		t.Errorf("in the end\n%s", on)
	}
	term.Quiet = true
	show.Update(bench.Progress{Stage: bench.Measuring})
	term.Line("a line")
	if on.String() != "level=WARN msg=odd\n" {
		t.Errorf("quiet\n%s", on)
	}
}

// Colours have no width, and end where their text is cut.
func TestCutColours(t *testing.T) {
	var b bytes.Buffer
	term := &progress.Terminal{To: &b, Screen: &b, Size: func() (int, int) { return 6, 0 }}
	term.Pass("ab\x1b[31mcdefgh\x1b[0mij")
	if got, want := b.String(), "\r\x1b[Jab\x1b[31mcde\x1b[0m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
