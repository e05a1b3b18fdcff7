package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"evbench/bench"
	"evbench/internal/printable"
	"evbench/report"
)

// progress shows where a run stands: on a terminal one line that is rewritten,
// elsewhere plain lines, one when a case begins to count and one when it ends.
type progress struct {
	w       io.Writer
	screen  io.Writer // the terminal itself, of which a line is rewritten
	live    bool
	quiet   bool
	verbose bool   // plain lines for every stage
	dirty   bool   // the cursor stands behind an unfinished line
	stage   string // that was shown last
}

func newProgress(w io.Writer, quiet, verbose bool) *progress {
	f, live := terminal(w)
	return &progress{w: w, screen: f, quiet: quiet, verbose: verbose, live: live}
}

func (p *progress) update(b bench.Progress) {
	if p.quiet {
		return
	}
	next := b.Stage != p.stage
	p.stage = b.Stage
	if b.Stage == bench.RoundDone {
		p.round(b)
		return
	}
	head := fmt.Sprintf("%s[%d/%d] %s: ", roundText(b), b.Index+1, b.Count, b.Case)
	switch {
	case b.Stage == bench.Done:
		if b.Rounds == 1 || p.verbose {
			p.line(head + outcome(b))
		}
	case p.live && b.Stage == bench.Measuring:
		left := max(0, b.Duration-b.Elapsed)
		p.rewrite(fmt.Sprintf("%s%s, about %s left, %.1f events/s", head, seconds(b.Elapsed), seconds(left), b.EventsPerSec))
	case p.live:
		p.rewrite(head + b.Stage)
	case next && (p.verbose || b.Stage == bench.Measuring && b.Round == 1): // the first round shows what there is
		p.line(fmt.Sprintf("%s%s (%s)", head, b.Stage, seconds(b.Duration)))
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
func (p *progress) round(b bench.Progress) {
	if b.Rounds == 1 {
		return
	}
	var parts []string
	for _, c := range b.Cases {
		if e := c.Estimate; e != nil && !c.Control {
			parts = append(parts, c.Name+" "+report.Estimate(e))
		}
	}
	p.line(fmt.Sprintf("round %d, %s: %s", b.Round, b.Elapsed.Round(time.Second), strings.Join(parts, ", ")))
}

// outcome is one slice in a few words; the verdict comes when all are measured.
func outcome(b bench.Progress) string {
	r := b.Cases[0]
	text := fmt.Sprintf("%.2f events/s per server over %s", r.EventsPerSec.Mean, seconds(time.Duration(r.MeasuredSec*float64(time.Second))))
	if r.MeasuredEfficiency > 0 {
		text += fmt.Sprintf(", efficiency %.3f, predicted %.3f", r.MeasuredEfficiency, r.PredictedEfficiency)
	}
	return text
}

func seconds(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// passing shows a passing state, where a line can be rewritten.
func (p *progress) passing(text string) {
	if p.live && !p.quiet {
		p.rewrite(text)
	}
}

// rewrite shows a passing state.
func (p *progress) rewrite(text string) {
	fmt.Fprintf(p.screen, "\r\x1b[K%s", printable.Line(text))
	p.dirty = true
}

// line shows something that stays.
func (p *progress) line(text string) {
	p.end()
	fmt.Fprintln(p.w, text)
}

// end removes a passing state.
func (p *progress) end() {
	if p.dirty {
		fmt.Fprint(p.screen, "\r\x1b[K")
		p.dirty = false
	}
}

// terminal returns the terminal that is written to, if it is one.
func terminal(w io.Writer) (*os.File, bool) {
	if p, ok := w.(*printable.Writer); ok {
		w = p.To
	}
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// textOptions are the columns and colours of what is printed to: those of a terminal, or
// of a file. NO_COLOR (no-color.org) turns colours off.
func textOptions(w io.Writer) report.Options {
	f, ok := terminal(w)
	if !ok {
		return report.Options{}
	}
	o := report.Options{Colour: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		o.Width = width
	}
	return o
}
