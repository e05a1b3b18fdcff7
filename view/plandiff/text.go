package plandiff

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"evbench/internal/show"
)

// WriteText writes a difference as a table: the figures of each plan and their difference; then the
// messages that have moved, and what is worse.
func (d Diff) WriteText(w io.Writer, worse []Regression) error {
	if d.SameHash {
		fmt.Fprintln(w, "the same plan, hash", d.New.Hash)
		if len(d.Lines) == 0 && d.Old == d.New {
			return nil
		}
	} else {
		fmt.Fprintln(w, d.sentence())
	}
	if err := show.Align(w, d.table()); err != nil {
		return err
	}
	d.writeMoves(w)
	for _, r := range worse {
		fmt.Fprintf(w, "worse: %s, %s instead of %s\n", r.Figure, float(r.New), float(r.Old))
	}
	return nil
}

// sentence says what the new plan costs against the old one, and how many messages it moves.
func (d Diff) sentence() string {
	text := fmt.Sprintf("The new plan takes as long as the old one, %s messages in a row", float(d.New.Duration))
	switch {
	case d.New.Duration == 0 || d.Old.Duration == 0: // one has no paths
		text = fmt.Sprintf("The new plan has %s, the old one %d", show.Plural(d.New.Phases, "phase", "phases"), d.Old.Phases)
	case d.New.Duration != d.Old.Duration:
		text = fmt.Sprintf("The new plan takes as long as %s messages in a row, the old one as long as %s", float(d.New.Duration), float(d.Old.Duration))
	}
	if m := d.Messages; m != nil {
		return fmt.Sprintf("%s; %d of %d messages change their phase or their path.", text, m.Moved, m.Both+m.Old+m.New)
	}
	return text + "; it is for other servers."
}

func (d Diff) table() [][]string {
	t := [][]string{{"", "old", "new", ""}}
	row := func(name, old, new, change string) { t = append(t, []string{name, old, new, change}) }
	count := func(name string, old, new int) {
		row(name, show.Commas(old), show.Commas(new), change(float64(new-old)))
	}
	for _, l := range d.Lines {
		row(l.Key, brief(l.Old), brief(l.New), "")
	}
	a, b := d.Old, d.New
	count("phases", a.Phases, b.Phases)
	row("bound", a.boundText(), b.boundText(), change(float64(b.Bound-a.Bound)))
	count("gap", a.Gap, b.Gap)
	row("duration", float(a.Duration), float(b.Duration), change(b.Duration-a.Duration))
	row("predicted efficiency", fmt.Sprintf("%.3f", a.PredictedEfficiency), fmt.Sprintf("%.3f", b.PredictedEfficiency), "")
	if a.LIDs+b.LIDs > 0 {
		count("paths", a.Paths, b.Paths)
		count("LMC", a.LMC, b.LMC)
		count("LIDs", a.LIDs, b.LIDs)
		count("LFT entries", a.ForwardingTableLength, b.ForwardingTableLength)
	}
	return t
}

func (d Diff) writeMoves(w io.Writer) {
	m := d.Messages
	if m == nil {
		fmt.Fprintln(w, "different servers: messages are not compared")
		return
	}
	fmt.Fprintf(w, "messages: %s in both, %s in another phase, %s on another path, %s only old, %s only new\n",
		show.Commas(m.Both), show.Commas(m.Phase), show.Commas(m.Path), show.Commas(m.Old), show.Commas(m.New))
	for _, x := range m.First {
		fmt.Fprintf(w, "  %s -> %s: %s -> %s\n", x.Src, x.Dst, x.Old.text(), x.New.text())
	}
	if more := m.Moved - len(m.First); more > 0 {
		fmt.Fprintf(w, "  … and %s more\n", show.Commas(more))
	}
}

func (f Figures) boundText() string {
	if f.Bound == 0 {
		return "none"
	}
	return fmt.Sprintf("%s (%s)", show.Commas(f.Bound), brief(f.Proof))
}

func (p *Place) text() string {
	switch {
	case p == nil:
		return "absent"
	case p.Spine == "-":
		return fmt.Sprintf("phase %d", p.Phase)
	}
	return fmt.Sprintf("phase %d spine %s", p.Phase, p.Spine)
}

func change(by float64) string {
	switch {
	case by == 0:
		return ""
	case by > 0:
		return "+" + float(by)
	}
	return float(by)
}

// float writes a figure that is usually a whole number, else with one decimal.
func float(x float64) string {
	if x == math.Trunc(x) {
		return show.Commas(int(x))
	}
	return fmt.Sprintf("%.1f", x)
}

// brief shortens a list of names to fit into a table.
func brief(s string) string {
	const most = 40
	if len(s) <= most {
		return cmp.Or(s, "none")
	}
	at := strings.LastIndexByte(s[:most], ',')
	if at < 0 {
		at = most
	}
	return fmt.Sprintf("%s… (%d)", s[:at], 1+strings.Count(s, ","))
}
