package live

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"evbench/bench"
	"evbench/internal/show"
	"evbench/report"
	"evbench/results"
)

// A Terminal takes permanent lines and, on a screen, a status text below them, which is redrawn at
// every change. Several goroutines may use it.
type Terminal struct {
	To     io.Writer                  // for permanent lines
	Screen io.Writer                  // the terminal itself; nil: none
	Size   func() (columns, rows int) // of the screen; 0: not known
	Quiet  bool                       // show only the output of Write

	mu    sync.Mutex
	lines int // lines of the status text; the cursor is after the last
}

// Live reports whether a status text is shown.
func (t *Terminal) Live() bool { return t.Screen != nil && !t.Quiet }

// Pass shows a status text in place of the last one. Its lines are cut to the width of the screen;
// lines without room are left out. A colour must end on the line on which it begins.
func (t *Terminal) Pass(text string) {
	if !t.Live() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	columns, rows := 0, 0
	if t.Size != nil {
		columns, rows = t.Size()
	}
	if most := rows - 1; rows > 1 && len(lines) > most {
		lines = lines[:most]
	}
	var b strings.Builder
	b.WriteString(t.clearing())
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if columns > 1 {
			line = show.Cut(line, columns-1)
		}
		b.WriteString(show.Screen(line))
	}
	fmt.Fprint(t.Screen, b.String())
	t.lines = len(lines)
}

// Line shows a permanent line.
func (t *Terminal) Line(text string) {
	if !t.Quiet {
		fmt.Fprintln(t, text)
	}
}

// Write writes permanent text, even if Quiet is set: the output of a log.
func (t *Terminal) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	return t.To.Write(text)
}

// End removes the status text.
func (t *Terminal) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
}

func (t *Terminal) end() {
	if t.lines > 0 {
		fmt.Fprint(t.Screen, t.clearing())
		t.lines = 0
	}
}

// clearing returns the text that removes the status text and puts the cursor at its start.
func (t *Terminal) clearing() string {
	if t.lines > 1 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", t.lines-1)
	}
	return "\r\x1b[J"
}

// Passing shows a status text of one line, made printable.
func (t *Terminal) Passing(format string, args ...any) {
	t.Pass(show.Line(fmt.Sprintf(format, args...)))
}

// A Show shows a run on a terminal: on a screen as a table that is redrawn with each event,
// otherwise as plain lines, one when a case begins to count in the first round, one when a round
// ends.
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
	case bench.Measuring: // the first round has no results yet
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

// round returns the results so far, in the order of the scenario.
func round(n int, e bench.RoundDone) string {
	var parts []string
	for _, c := range e.Summary.Cases {
		if c.Estimate != nil && !c.Control {
			parts = append(parts, c.Name+" "+report.Estimate(c.Estimate))
		}
	}
	return fmt.Sprintf("round %d, %s: %s", n, e.Elapsed.Round(time.Second), strings.Join(parts, ", "))
}

// outcome summarises one slice; the verdict follows when all are measured.
func outcome(r results.Case) string {
	text := fmt.Sprintf("%.2f events/s per server over %s", r.EventsPerSec.Mean, Seconds(time.Duration(r.MeasuredSec*float64(time.Second))))
	if r.MeasuredEfficiency > 0 {
		text += fmt.Sprintf(", efficiency %.3f, predicted %.3f", r.MeasuredEfficiency, r.PredictedEfficiency)
	}
	return text
}

// Seconds writes a duration in tenths of a second.
func Seconds(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// Where describes the current slice and its result so far in a line.
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
		if b := e.Buffers; b != nil {
			text += fmt.Sprintf("; buffers: %d waiting, %d sending, %d free; dead time %.2g %%, latency %.3g ms",
				b.Waiting, b.Sending, b.Free, 100*b.Dead(), 1e3*b.LatencySec)
		}
	case bench.Done:
		text += ", " + outcome(e.Slice)
	}
	return show.Line(text)
}

// LeftText says how long the run still takes, "" if it is over or has not begun.
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

// Table is the state of a run on a terminal: the time left, the current slice, and the results so
// far as a table.
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

// Hosts shows the progress of a step over all hosts.
func (t *Terminal) Hosts(step string, done, all int) {
	switch {
	case t.Live() && done < all:
		t.Passing("%s: %d of %d hosts", step, done, all)
	case t.Live():
		t.End()
	case done == 0 && all == 1:
		t.Line(step + ": 1 host")
	case done == 0:
		t.Line(fmt.Sprintf("%s: %d hosts", step, all))
	}
}
