package plandiff

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// Answer says what the new plan, of that name, costs against the old one, and what is worse of the figures asked for.
func (d Diff) Answer(older, newer string, worse []Regression, lacking []string) answer.Answer {
	var e answer.Evidence
	text := fmt.Sprintf("both take as long as %s messages in a row", float(d.New.Duration))
	place := answer.At
	switch by := d.New.Duration - d.Old.Duration; {
	case d.SameHash && by == 0:
		text = "both are the same plan"
	case d.New.Duration == 0 || d.Old.Duration == 0: // one has no paths
		text = fmt.Sprintf("plan %s has %s, %s %d", newer, show.Plural(d.New.Phases, "phase", "phases"), older, d.Old.Phases)
		if d.New.Phases > d.Old.Phases {
			place = answer.Below
		}
		if d.New.Duration != d.Old.Duration {
			e.Doubts = []answer.Doubt{{Text: "one has no paths, so what its messages share is not known"}}
		}
	case by != 0:
		text = fmt.Sprintf("plan %s takes as long as %s messages in a row, %s as %s", newer, float(d.New.Duration), older, float(d.Old.Duration))
		if by > 0 {
			place = answer.Below
		}
	}
	if d.Messages == nil {
		e.Doubts = []answer.Doubt{{Text: "the plans have different servers"}}
	}
	for i, name := range lacking { // routing none, ecmp, spray or adaptive; the gate's doubt goes before others
		e.Doubts = slices.Insert(e.Doubts, i, answer.Doubt{Text: fmt.Sprintf("--fail-on %s: a plan without paths of its own has no such figure", name)})
	}
	e.Findings = []answer.Finding{{Text: text, Place: place}}
	for _, r := range worse {
		if r.Figure != "duration" || place == answer.At {
			e.Findings = append(e.Findings, answer.Finding{Text: fmt.Sprintf("%s %s in place of %s", r.Figure, float(r.New), float(r.Old)), Place: answer.Below})
		}
	}
	if m := d.Messages; m != nil && !d.SameHash {
		e.Why = []string{fmt.Sprintf("%d of %d messages change their phase or their path", m.Moved, m.Both+m.Old+m.New)}
	}
	return answer.Decide(answer.Worse.About(newer, older), e)
}

// WriteText writes a difference as a table: the figures of each plan and their difference; then the
// messages that have moved.
func (d Diff) WriteText(w io.Writer) error {
	if d.SameHash {
		fmt.Fprintln(w, "the same plan, hash", d.New.Hash)
		if len(d.Lines) == 0 && d.Old == d.New {
			return nil
		}
	}
	if err := show.Align(w, d.table()); err != nil {
		return err
	}
	d.writeMoves(w)
	return nil
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
	if a.PredictedEfficiency+b.PredictedEfficiency > 0 {
		row("predicted efficiency", fmt.Sprintf("%.3f", a.PredictedEfficiency), fmt.Sprintf("%.3f", b.PredictedEfficiency), "")
	}
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
	case p.Port != "":
		return fmt.Sprintf("phase %d port %s", p.Phase, p.Port)
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
