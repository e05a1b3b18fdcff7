package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"evbench/report/figure"
	"evbench/results"
	"evbench/results/compare"
)

// A difference is a run beside the first of a page, case by case.
type difference struct {
	Base, Other, OtherID string
	Text                 string // what is to be said of it in a line
	Shares               string // ratio or efficiency, "": none
	Rates                bool   // some case has events/s
	Rows                 []differenceRow
	Notes                []string
}

// A differenceRow is a case that both runs hold.
type differenceRow struct {
	Case  string
	Share pairOf
	Rate  pairOf
}

// A pairOf is one figure in two runs.
type pairOf struct {
	Base, Other, Change string
	Value               string // of the change, to sort by
	Class, Word         string // whether it is one
}

// The words for a change.
const (
	changed = "differs"
	alike   = "not shown"
	unknown = "not known"
)

// differencesOf compares each run with the first.
func differencesOf(runs []Input) (out []difference) {
	for i := 1; i < len(runs); i++ {
		out = append(out, differenceOf(runs[0], runs[i], runID(i)))
	}
	return out
}

func differenceOf(base, other Input, id string) difference {
	d := difference{Base: base.Name, Other: other.Name, OtherID: id}
	a, b := base.Source.Run, other.Source.Run
	rates := map[string]compare.Figure{}
	refused := slices.DeleteFunc(compare.Differences(a, b), func(x compare.Difference) bool { return x.Noted })
	report := compare.Runs(a, b, compare.Options{Invalid: true})
	if kindOf(a).Word == kindOf(b).Word && len(refused) == 0 {
		for _, c := range report.Cases {
			for _, f := range c.Figures {
				if f.Name == "events_per_s" {
					rates[c.Name] = f
				}
			}
		}
	} else {
		d.Notes = append(d.Notes, notAlike(refused))
	}
	place := func(x compare.Case) int {
		return slices.IndexFunc(a.Summary.Cases, func(c results.Case) bool { return c.Name == x.Name })
	}
	slices.SortStableFunc(report.Cases, func(x, y compare.Case) int { return cmp.Compare(place(x), place(y)) })
	for _, c := range report.Cases {
		row := differenceRow{Case: c.Name}
		if f, ok := rates[c.Name]; ok {
			row.Rate, d.Rates = rateChange(f), true
		}
		d.Rows = append(d.Rows, row)
	}
	d.shares(base, other)
	for _, x := range []struct {
		where string
		names []string
	}{{base.Name, report.Missing}, {other.Name, report.Added}} {
		if len(x.names) > 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("Only in %s: %s.", x.where, strings.Join(x.names, ", ")))
		}
	}
	d.Text = d.text()
	return d
}

// notAlike says why events per second of two runs are not compared.
func notAlike(why []compare.Difference) string {
	const most = 3
	text := "Events/s are not compared: the runs were not made alike"
	for i, x := range why {
		switch {
		case i == 0:
			text += " (" + x.String()
		case i < most:
			text += "; " + x.String()
		case i == most:
			text += fmt.Sprintf("; %d more", len(why)-most)
		}
	}
	if why != nil {
		text += ")"
	}
	return text + "."
}

// text names the cases that differ.
func (d *difference) text() string {
	var differ []string
	open, all := 0, 0
	for _, row := range d.Rows {
		x := row.Share
		if d.Shares == "" {
			x = row.Rate
		}
		switch x.Word {
		case "":
			continue
		case changed:
			differ = append(differ, row.Case+"\u00a0"+x.Change)
		case unknown:
			open++
		}
		all++
	}
	of := map[string]string{"ratio": " in the ratio to the control", "efficiency": " in efficiency", "": " in events/s"}[d.Shares]
	text := fmt.Sprintf("%s beside %s: ", d.Other, d.Base)
	switch {
	case all == 0:
		return text + "nothing to compare."
	case open == all:
		text += "too few observations to say whether a case differs"
	case differ == nil:
		text += fmt.Sprintf("no difference is shown for any of %d cases", all-open)
	default:
		const most = 4
		if n := len(differ); n > most {
			differ = append(differ[:most], fmt.Sprintf("and %d more", n-most))
		}
		text += fmt.Sprintf("differs%s: %s", of, strings.Join(differ, ", "))
	}
	if open > 0 && open < all {
		text += fmt.Sprintf("; not known of %d", open)
	}
	return text + "."
}

// shares adds ratios to the control or, where not both runs have them, efficiencies.
func (d *difference) shares(base, other Input) {
	for _, way := range []struct {
		name string
		of   func(figure.Source, results.Case) span
	}{{"ratio", ratioSpan}, {"efficiency", efficiencySpan}} {
		for i, row := range d.Rows {
			x, y := caseOf(base.Source.Run, row.Case), caseOf(other.Source.Run, row.Case)
			if a, b := way.of(base.Source, x), way.of(other.Source, y); a.at > 0 && b.at > 0 {
				d.Rows[i].Share, d.Shares = shareChange(a, b), way.name
			}
		}
		if d.Shares != "" {
			return
		}
	}
}

func caseOf(run *results.Run, name string) results.Case {
	for _, c := range run.Summary.Cases {
		if c.Name == name {
			return c
		}
	}
	return results.Case{}
}

// A span is a figure with its interval; one that was worked out has no width.
type span struct {
	at, lo, hi float64
	known      bool
}

func ratioSpan(s figure.Source, c results.Case) span {
	if c.Control {
		return span{}
	}
	if e := c.Estimate; e != nil && e.Of == results.OfRatio && e.Known() {
		return span{e.Median, *e.Lo, *e.Hi, true}
	}
	return span{c.RatioToControl, c.RatioToControl, c.RatioToControl, s.How() == "simulated"}
}

func efficiencySpan(s figure.Source, c results.Case) span {
	at, lo, hi, known := s.Efficiency(c)
	return span{at, lo, hi, known}
}

func (s span) String() string {
	if !s.known || s.lo == s.hi {
		return fmt.Sprintf("%.3f", s.at)
	}
	return fmt.Sprintf("%.3f ±%.3f", s.at, max(s.hi-s.at, s.at-s.lo))
}

// minus is the difference of two figures that were found independently. Its interval joins
// theirs, side by side (Zou and Donner, Statistics in Medicine 27, 2008, equation 4).
func (s span) minus(t span) span {
	d := s.at - t.at
	return span{d, d - math.Hypot(s.at-s.lo, t.hi-t.at), d + math.Hypot(s.hi-s.at, t.at-t.lo), s.known && t.known}
}

// shareChange compares two ratios to their controls, or two efficiencies.
func shareChange(x, y span) pairOf {
	d := y.minus(x)
	out := pairOf{Base: x.String(), Other: y.String(), Change: signed(d.at), Value: exact(d.at), Class: "open", Word: unknown}
	if !d.known {
		return out
	}
	if d.lo < d.hi {
		out.Change += "\u00a0(" + signed(d.lo) + " to\u00a0" + signed(d.hi) + ")"
	}
	out.Class, out.Word = "control", alike
	if d.lo > 0 || d.hi < 0 {
		out.Class, out.Word = "ordered", changed
	}
	return out
}

// signed prints a difference with the sign of print, at which no line is broken.
func signed(x float64) string { return minus(fmt.Sprintf("%+.3f", x)) }

func minus(number string) string { return strings.Replace(number, "-", "\u2212", 1) }

// rateChange is what package compare says of events per second.
func rateChange(f compare.Figure) pairOf {
	out := pairOf{Base: rateSpan(f.Base), Other: rateSpan(f.New), Class: "control", Word: alike}
	if f.Change != nil {
		out.Change, out.Value = minus(fmt.Sprintf("%+.2f\u00a0%%", *f.Change)), exact(*f.Change)
	}
	switch {
	case f.Unsaid != "":
		out.Class, out.Word = "open", unknown
	case f.Significant:
		out.Class, out.Word = "ordered", changed
	}
	return out
}

func rateSpan(i results.Interval) string {
	text := events(i.Median).Text
	if i.Lo != nil && i.Hi != nil && *i.Lo < *i.Hi {
		text += fmt.Sprintf(" (%s to %s)", events(*i.Lo).Text, events(*i.Hi).Text)
	}
	return text
}
