package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"evbench/bench"
)

// progress shows where a run stands: on a terminal one line that is rewritten,
// elsewhere plain lines, one when a case begins to count and one when it ends.
type progress struct {
	w       io.Writer
	live    bool
	quiet   bool
	verbose bool   // plain lines for every stage
	dirty   bool   // the cursor stands behind an unfinished line
	stage   string // that was shown last
}

func newProgress(w io.Writer, quiet, verbose bool) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, quiet: quiet, verbose: verbose, live: ok && term.IsTerminal(int(f.Fd()))}
}

func (p *progress) update(b bench.Progress) {
	if p.quiet {
		return
	}
	head := fmt.Sprintf("[%d/%d] %s: ", b.Index+1, b.Count, b.Case)
	next := b.Stage != p.stage
	p.stage = b.Stage
	switch {
	case b.Stage == bench.Done:
		p.line(head + outcome(b))
	case p.live && b.Stage == bench.Measuring:
		left := max(0, b.Duration-b.Elapsed)
		p.rewrite(fmt.Sprintf("%s%s, about %s left, %.1f events/s", head, seconds(b.Elapsed), seconds(left), b.EventsPerSec))
	case p.live:
		p.rewrite(head + b.Stage)
	case next && (p.verbose || b.Stage == bench.Measuring):
		p.line(fmt.Sprintf("%s%s (%s)", head, b.Stage, seconds(b.Duration)))
	}
}

// outcome is one case in a few words; the verdict comes when all are measured.
func outcome(b bench.Progress) string {
	r := b.Result
	text := fmt.Sprintf("%.2f events/s per server over %s", r.EventsPerSec.Mean, seconds(time.Duration(r.MeasuredSec*float64(time.Second))))
	if r.MeasuredEfficiency > 0 {
		text += fmt.Sprintf(", efficiency %.3f, predicted %.3f", r.MeasuredEfficiency, r.PredictedEfficiency)
	}
	return text
}

func seconds(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// rewrite shows a passing state.
func (p *progress) rewrite(text string) {
	fmt.Fprintf(p.w, "\r\x1b[K%s", text)
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
		fmt.Fprint(p.w, "\r\x1b[K")
		p.dirty = false
	}
}

// terminalWidth returns the columns of a terminal, and 120 elsewhere.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 120
}
