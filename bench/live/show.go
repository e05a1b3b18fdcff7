package live

import (
	"fmt"
	"strings"
	"time"

	"evbench/bench"
	"evbench/internal/printable"
	"evbench/report"
)

// A Show shows a run on a terminal: where there is a screen as a table that is drawn anew
// with each event, else as plain lines, one when a case begins to count in the first round,
// one when a round ends.
type Show struct {
	Terminal *Terminal
	Options  func() report.Options // of the table
	Verbose  bool                  // a line for every stage

	state State
	stage string // that was told last
}

// Update takes the next event of the run.
func (s *Show) Update(e bench.Progress) {
	s.state.Take(e)
	if !s.Terminal.Live() || s.Verbose {
		s.tell(e)
	}
	if e.Stage == bench.Ended {
		s.Terminal.End()
	} else if s.Terminal.Live() {
		s.Terminal.Pass(Table(&s.state, s.Options()))
	}
	switch e.Stage {
	case bench.LinksChanged, bench.Replanned, bench.FailedOver: // in the middle of a stage
	default:
		s.stage = e.Stage
	}
}

func (s *Show) tell(b bench.Progress) {
	head := fmt.Sprintf("%s[%d/%d] %s: ", roundText(b), b.Index+1, b.Count, b.Case)
	switch b.Stage {
	case bench.Done:
		if b.Rounds == 1 || s.Verbose {
			s.Terminal.Line(head + outcome(b))
		}
	case bench.RoundDone:
		if b.Rounds != 1 {
			s.Terminal.Line(round(b))
		}
	case bench.Installing, bench.WarmingUp, bench.Measuring: // the first round shows what there is
		if b.Stage != s.stage && (s.Verbose || b.Stage == bench.Measuring && b.Round == 1) {
			s.Terminal.Line(fmt.Sprintf("%s%s (%s)", head, b.Stage, Seconds(b.Duration)))
		}
	}
}

// roundText says which round it is, unless there is but one.
func roundText(b bench.Progress) string {
	switch b.Rounds {
	case 0:
		return fmt.Sprintf("round %d ", b.Round)
	case 1:
		return ""
	}
	return fmt.Sprintf("round %d of %d ", b.Round, b.Rounds)
}

// round says what has come out so far, in the order of the scenario.
func round(b bench.Progress) string {
	var parts []string
	for _, c := range b.Summary.Cases {
		if e := c.Estimate; e != nil && !c.Control {
			parts = append(parts, c.Name+" "+report.Estimate(e))
		}
	}
	return fmt.Sprintf("round %d, %s: %s", b.Round, b.Elapsed.Round(time.Second), strings.Join(parts, ", "))
}

// outcome is one slice in a few words; the verdict comes when all are measured.
func outcome(b bench.Progress) string {
	r := b.Slice
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
	b := s.Last
	if s.Ended || b.Case == "" {
		return ""
	}
	text := fmt.Sprintf("%s[%d/%d] %s: %s", roundText(b), b.Index+1, b.Count, b.Case, b.Stage)
	switch b.Stage {
	case bench.Measuring:
		text += fmt.Sprintf(" %s of %s", Seconds(b.Elapsed), Seconds(b.Duration))
		if b.Elapsed > 0 {
			text += fmt.Sprintf(", %s events/s of a server", report.Rate(b.EventsPerSec))
		}
	case bench.Done:
		text += ", " + outcome(b)
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
