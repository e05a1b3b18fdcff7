package main

import (
	"io"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"evbench/bench/live"
	"evbench/fabric/open"
	"evbench/internal/printable"
	"evbench/report"
)

// newTerminal is what progress is shown on: w and, where that is a terminal, its screen.
func newTerminal(w io.Writer, quiet bool) *live.Terminal {
	t := &live.Terminal{To: w, Quiet: quiet}
	if f, ok := terminal(w); ok {
		t.Screen, t.Size = f, func() (columns, rows int) {
			columns, rows, _ = term.GetSize(int(f.Fd())) // 0 where it does not know
			return columns, rows
		}
	}
	return t
}

func newShow(c *cli.Context) *live.Show {
	t := newTerminal(c.App.ErrWriter, c.Bool("quiet"))
	return &live.Show{Terminal: t, Verbose: c.Bool("verbose"), Options: func() report.Options { return textOptions(c.App.ErrWriter) }}
}

// terminal returns the terminal that is written to, if it is one. mpirun gives its ranks a
// terminal each, and passes on what they write, to whatever reads that.
func terminal(w io.Writer) (*os.File, bool) {
	if p, ok := w.(*printable.Writer); ok {
		w = p.To
	}
	f, ok := w.(*os.File)
	at, err := open.ReadPlace(os.Getenv)
	return f, ok && err == nil && at.By == "" && term.IsTerminal(int(f.Fd()))
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
