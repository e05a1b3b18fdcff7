package live

import (
	"fmt"
	"strings"
	"time"

	"evbench/bench"
	"evbench/internal/printable"
	"evbench/report"
	"evbench/results"
)

// A Show shows a run on a terminal: where there is a screen as a table that is drawn anew
// with each event, else as plain lines, one when a case begins to count in the first round,
// one when a round ends.
type Show struct {
	Terminal *Terminal
	Options  func() report.Options // of the table
	Verbose  bool                  // a line for every stage

	state State
}

// Update takes the next event of the run.
func (s *Show) Update(p bench.Progress) {
	s.state.Take(p)
	if !s.Terminal.Live() || s.Verbose {
		s.tell(p)
	}
	if _, ended := p.Event.(bench.Ended); ended {
		s.Terminal.End()
	} else if s.Terminal.Live() {
		s.Terminal.Pass(Table(&s.state, s.Options()))
	}
}

func (s *Show) tell(p bench.Progress) {
	begins := fmt.Sprintf("%s%s (%s)", headOf(p), p.Stage(), Seconds(p.Duration))
	switch e := p.Event.(type) {
	case bench.Installing, bench.WarmingUp:
		if s.Verbose {
			s.Terminal.Line(begins)
		}
	case bench.Measuring: // the first round shows what there is
		if e.Elapsed == 0 && (s.Verbose || p.Round == 1) {
			s.Terminal.Line(begins)
		}
	case bench.Done:
		if s.Verbose || p.Rounds == 1 {
			s.Terminal.Line(headOf(p) + outcome(e.Slice))
		}
	case bench.RoundDone:
		if p.Rounds != 1 {
			s.Terminal.Line(round(p.Round, e))
		}
	}
}

func headOf(p bench.Progress) string {
	return fmt.Sprintf("%s[%d/%d] %s: ", roundText(p), p.Index+1, p.Count, p.Case)
}

func roundText(p bench.Progress) string {
	switch p.Rounds {
	case 0:
		return fmt.Sprintf("round %d ", p.Round)
	case 1:
		return ""
	}
	return fmt.Sprintf("round %d of %d ", p.Round, p.Rounds)
}

// round says what has come out so far, in the order of the scenario.
func round(n int, e bench.RoundDone) string {
	var parts []string
	for _, c := range e.Summary.Cases {
		if c.Estimate != nil && !c.Control {
			parts = append(parts, c.Name+" "+report.Estimate(c.Estimate))
		}
	}
	return fmt.Sprintf("round %d, %s: %s", n, e.Elapsed.Round(time.Second), strings.Join(parts, ", "))
}

// outcome is one slice in a few words; the verdict comes when all are measured.
func outcome(r results.Case) string {
	text := fmt.Sprintf("%.2f events/s per server over %s", r.EventsPerSec.Mean, Seconds(time.Duration(r.MeasuredSec*float64(time.Second))))
	if r.MeasuredEfficiency > 0 {
		text += fmt.Sprintf(", efficiency %.3f, predicted %.3f", r.MeasuredEfficiency, r.PredictedEfficiency)
	}
	return text
}

// Seconds writes a duration in tenths of a second.
func Seconds(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// Where says in a line which slice is under way and what it comes to so far.
func Where(s *State) string {
	p := s.Last
	if s.Ended || p.Case == "" {
		return ""
	}
	text := headOf(p) + p.Stage()
	switch e := p.Event.(type) {
	case bench.Measuring:
		text += fmt.Sprintf(" %s of %s", Seconds(e.Elapsed), Seconds(p.Duration))
		if e.Elapsed > 0 {
			text += fmt.Sprintf(", %s events/s of a server", report.Rate(e.EventsPerSec))
		}
	case bench.Done:
		text += ", " + outcome(e.Slice)
	}
	return printable.Line(text)
}

// LeftText says how long the run still takes, "" where it is over or has not begun.
func LeftText(s *State) string {
	left, most := s.Left()
	switch {
	case s.Ended || len(s.Cases) == 0:
		return ""
	case most:
		return fmt.Sprintf("at most %s left", left.Round(time.Second))
	}
	return fmt.Sprintf("about %s left", left.Round(time.Second))
}

// Table is the state of a run as a terminal shows it: the time that is left, the slice
// under way, and the table of the result as far as it has formed.
func Table(s *State, o report.Options) string {
	var b strings.Builder
	for _, line := range []string{LeftText(s), Where(s)} {
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	if len(s.Summary.Cases) > 0 {
		report.Standing(&b, s.Summary.Cases, o)
	}
	return b.String()
}
