package html

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evbench/results"
)

// A cell of a table that can be sorted: Value sorts, Text is shown.
type cell struct {
	Text, Value string
	Half        string // of the interval, beside the text
	Halves      bool   // other cells of the column have one
	Title       string
	Left        bool // aligned
	Bar         *bar
}

// A bar shows a share of 1, all in percent of its width.
type bar struct {
	At       float64
	Interval bool
	Low      float64
	Span     float64
}

// A column of the verdict, beside the name of the case and its verdict.
type column struct {
	Head string
	Left bool // aligned
	show bool
	cell func(results.Case) cell
}

// columnsOf are the columns that say something of these cases, those that decide first. how is
// the way in which all figures came about, "" where it differs.
func columnsOf(cases []results.Case, how string) []column {
	some := func(is func(results.Case) bool) bool { return slices.ContainsFunc(cases, is) }
	spread := some(func(c results.Case) bool { return events(c.EventsPerSec.Min).Text != events(c.EventsPerSec.Max).Text })
	known := some(func(c results.Case) bool { return c.PredictedEfficiency+c.MeasuredEfficiency > 0 })
	goodput := results.GoodputUnit(cases)
	all := []column{
		{"ratio to control", false, some(func(c results.Case) bool { return c.RatioToControl > 0 }), barred(cases)},
		{"predicted ratio", false, some(func(c results.Case) bool { return c.PredictedRatio > 0 }), func(c results.Case) cell { return share(c.PredictedRatio) }},
		{"events/s per server", false, true, func(c results.Case) cell { return events(c.EventsPerSec.Mean) }},
		{"slowest server", false, spread, func(c results.Case) cell { return events(c.EventsPerSec.Min) }},
		{"fastest server", false, spread, func(c results.Case) cell { return events(c.EventsPerSec.Max) }},
		{goodput.Name + " per server", false, true, func(c results.Case) cell { return figures(c.GoodputBitPerSec.Mean, goodput.Size, 3) }},
		{"predicted efficiency", false, known, func(c results.Case) cell { return share(c.PredictedEfficiency) }},
		{strings.TrimSpace(how + " efficiency"), false, known, func(c results.Case) cell { return share(c.MeasuredEfficiency) }},
		{"schedule", true, true, schedule},
		{"routing", true, true, func(c results.Case) cell { return word(c.Routing) }},
		{"dead", false, true, dead},
		{"phases /\u00a0bound", false, true, phases},
		{"lost /\u00a0twice", false, some(func(c results.Case) bool { return c.EventsLost+c.EventsDuplicate > 0 }), lost},
	}
	return slices.DeleteFunc(all, func(x column) bool { return !x.show })
}

func events(x float64) cell { return figures(x, 1, 4) }

// schedule is the schedule of a case, and how it is followed where that is not in phases.
func schedule(c results.Case) cell {
	mode := c.ShortMode()
	if mode == "sync" {
		mode = ""
	}
	return word(strings.TrimSpace(mode + " " + c.Schedule))
}

func word(s string) cell { return cell{Text: orNone(s), Value: s, Left: true} }

func dead(c results.Case) cell {
	n := strconv.Itoa(len(c.Failures))
	return cell{Text: n, Value: n, Title: strings.Join(c.Failures, ", ")}
}

func lost(c results.Case) cell {
	return cell{Text: fmt.Sprintf("%d/%d", c.EventsLost, c.EventsDuplicate), Value: strconv.FormatUint(c.EventsLost+c.EventsDuplicate, 10)}
}

// widest is what a bar shows at most of an interval: a wild one does not make all bars short.
const widest = 1.5

// barred shows the ratio to the control, its interval, and both as a bar; all bars of the
// cases have one scale.
func barred(cases []results.Case) func(results.Case) cell {
	most, halves := 1.0, false
	for _, c := range cases {
		most = max(most, c.RatioToControl)
		if c.Estimate != nil {
			halves = true
			if c.Estimate.Of == results.OfRatio && c.Estimate.Known() {
				most = max(most, min(*c.Estimate.Hi, widest))
			}
		}
	}
	percent := func(x float64) float64 { return 100 * min(1, max(0, x/most)) }
	return func(c results.Case) cell {
		out := share(c.RatioToControl)
		out.Halves = halves
		if c.RatioToControl == 0 {
			return out
		}
		out.Bar = &bar{At: percent(c.RatioToControl)}
		e := c.Estimate
		if e == nil || e.Of != results.OfRatio {
			return out
		}
		if c.Control {
			out.Text = "1"
			return out
		}
		if e.Known() {
			out.Half = fmt.Sprintf("±%.3f", e.HalfWidth())
			out.Bar.Interval, out.Bar.Low, out.Bar.Span = true, percent(*e.Lo), percent(*e.Hi)-percent(*e.Lo)
		}
		if e.Over == results.OverExchanges {
			out.Half += "*"
		}
		return out
	}
}

// legendOf explains the columns of the verdict, and its words.
func legendOf(cases []results.Case) string {
	text := "Efficiency is ideal time / time."
	some := func(is func(results.Case) bool) bool { return slices.ContainsFunc(cases, is) }
	if some(func(c results.Case) bool { return c.RatioToControl > 0 }) {
		text += " Ratio: to the healthy control of the same run"
		if some(func(c results.Case) bool { return c.Estimate != nil && c.Estimate.Of == results.OfRatio }) {
			text += ", median over rounds, ± half of its 95 % interval"
		}
		text += "."
	}
	if some(func(c results.Case) bool { return c.RatioToControl > 1.0005 }) {
		text += " Above 1 a case was faster than its control; that is no link beyond its rate."
	}
	if some(func(c results.Case) bool { return c.Estimate != nil && c.Estimate.Over == results.OverExchanges }) {
		text += " *: too few rounds, the interval is over exchanges."
	}
	if some(func(c results.Case) bool { return c.Verdict != "" }) {
		text += fmt.Sprintf(" Resolved: that half is at most %s of the figure. Ordered: it is more, but the interval is apart from those that it is compared with, or the two differ by less than %[1]s. Unresolved: neither.",
			results.ToleranceText())
	}
	return unbroken.Replace(text) + " unsync: unsynchronised, free: free-running. Dead: dead links and timed failures. " +
		"Bound: the least number of phases in which no link is shared. " + none + ": not given."
}
