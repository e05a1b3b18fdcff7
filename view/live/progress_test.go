package live_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"evbench/bench"
	"evbench/internal/show"
	"evbench/report"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/topology"
	"evbench/view/live"
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
		var s live.State
		var got []string
		x := live.NewScript(t, tt.text, func(e bench.Progress) {
			s.Take(e)
			got = append(got, strings.TrimSuffix(live.LeftText(&s), " left"))
		})
		got = nil
		x.Slice(1, 0, 5)
		if x.Rounds > 0 {
			x.Slice(1, 1, 3)
			x.RoundDone(1)
			x.Slice(2, 0, 5)
		}
		expect.Equal(t, strings.Join(got, "|"), tt.want, "got")
		x.Ended()
		expect.True(t, live.LeftText(&s) == "" && live.Where(&s) == "", "something is left of a run that has ended")
	}
}

// A round that has one of two cases leaves the time of that one.
func TestLeftOfSomeCases(t *testing.T) {
	var s live.State
	var got []string
	x := live.NewScript(t, strings.Replace(twoCases, "rounds: 2", "rounds: auto\nlimit: 1s", 1), func(e bench.Progress) {
		if e.Count > 0 && e.Round == 2 {
			e.Index, e.Count = 0, 1
		}
		s.Take(e)
		got = append(got, strings.TrimSuffix(live.LeftText(&s), " left"))
	})
	x.Slice(1, 0, 5)
	x.Slice(1, 1, 5)
	got = nil
	x.Slice(2, 1, 5)
	expect.Equal(t, strings.Join(got, "|"), "at most 10s|at most 8s|at most 8s|at most 3s|at most 0s|at most 0s", "got")
}

// Links that die are dead while the case goes on, and not in the next; what others do to
// links is known from fail-overs.
func TestStateLinks(t *testing.T) {
	var s live.State
	link := topology.Link{Leaf: 1, Spine: 1}
	var dead []string
	x := live.NewScript(t, twoCases, func(e bench.Progress) {
		s.Take(e)
		if c := s.Case(s.Last.Case); c != nil {
			_, links := s.Plan(c)
			dead = append(dead, strings.Join(topology.LinkNames(links), " "))
		}
	})
	x.Slice(1, 1, 3, bench.LinksChanged{Down: []topology.Link{link}},
		bench.FailedOver{Failover: results.Failover{Case: x.Cases[1].Name, ID: 1, Up: []string{"leaf1-spine1"}, Reason: results.FromOutside}})
	both, one := "leaf0-spine0 leaf1-spine1", "leaf0-spine0"
	expect.Equal(t, strings.Join(dead, "|"), strings.Join([]string{one, one, one, one, both, one, one, both, one, one}, "|"), "got")
	expect.True(t, len(s.Failovers) == 1 && s.Links[x.Cases[1].Name][0].Bytes == 1000 && len(s.Rates) == 2 && s.Rates[1].EventsPerSec == 3,
		"%d fail-overs, links %v, rates %v", len(s.Failovers), s.Links, s.Rates)
	before := s
	x.Slice(1, 0, 5)
	x.Slice(2, 1, 4)
	n := s.Links[x.Cases[1].Name][0].Bytes
	expect.True(t, n == 2000 && before.Links[x.Cases[1].Name][0].Bytes == 1000,
		"carried %d, and %d in the copy", n, before.Links[x.Cases[1].Name][0].Bytes)
}

// Without a terminal there are lines that stay.
func TestPlainLines(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		var b bytes.Buffer
		show := &live.Show{Terminal: &live.Terminal{To: &b}, Verbose: verbose}
		x := live.NewScript(t, twoCases, show.Update)
		x.Slice(1, 0, 5, bench.LinksChanged{})
		if !verbose {
			x.Slice(1, 1, 3)
		}
		x.RoundDone(1)
		want := "round 1 of 2 [1/2] healthy: measure (10s)\nround 1 of 2 [2/2] one dead: measure (10s)\nround 1, 24s: \n"
		if verbose {
			want = "round 1 of 2 [1/2] healthy: install (10s)\nround 1 of 2 [1/2] healthy: warm up (10s)\nround 1 of 2 [1/2] healthy: measure (10s)\n" +
				"round 1 of 2 [1/2] healthy: 5.00 events/s per server over 10s, efficiency 0.900, predicted 1.000\nround 1, 24s: \n"
		}
		expect.True(t, b.String() == want, "got\n%s\nwant\n%s", b.String(), want)
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
			expect.MustTrue(s.t, expect.Err(fmt.Sscanf(text, "\r\x1b[%dA\x1b[J", &n)) == nil && n <= s.at, "%q with %d lines above", text, s.at)
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

// On a terminal there is a table that is drawn anew, with the rate of one server, and below what a log says.
func TestTable(t *testing.T) {
	on := &screen{t: t}
	columns, rows := 80, 24
	term := &live.Terminal{To: on, Screen: on, Size: func() (int, int) { return columns, rows }}
	show := &live.Show{Terminal: term, Options: func() report.Options { return report.Options{Width: columns} }}
	var during []string
	x := live.NewScript(t, twoCases, func(e bench.Progress) {
		show.Update(e)
		during = append(during, on.String())
	})
	x.Slice(1, 0, 5)
	x.Slice(1, 1, 3)
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
		expect.True(t, strings.Contains(on.String(), want), "no %q in\n%s", want, on)
	}
	fmt.Fprintln(term, "level=WARN msg=odd")
	expect.True(t, on.String() == "level=WARN msg=odd\n", "behind the log\n%s", on)
	rows = 3
	x.RoundDone(1)
	n := strings.Count(on.String(), "\n")
	expect.True(t, n == 2, "%d lines where there is room for a table of two:\n%s", n+1, on)
	x.Ended()
	expect.True(t, on.String() == "level=WARN msg=odd\n", "in the end\n%s", on)
	term.Quiet = true
	show.Update(bench.Progress{Event: bench.Measuring{}})
	term.Line("a line")
	expect.True(t, on.String() == "level=WARN msg=odd\n", "quiet\n%s", on)
}

// Colours have no width, and end where their text is cut.
func TestCutColours(t *testing.T) {
	var b bytes.Buffer
	term := &live.Terminal{To: &b, Screen: &b, Size: func() (int, int) { return 6, 0 }}
	term.Pass("ab" + show.Paint(show.Red, "cdefgh") + "ij")
	expect.Equal(t, b.String(), "\r\x1b[Jab\x1b[31mcde\x1b[0m", "got")
}
