package report

import (
	"fmt"
	"slices"
	"strconv"

	"evbench/results"
)

// columnsOf are those that the cases need. Columns that say nothing are left out: the
// spread over servers where all are equal by design, what was lost where nothing was.
func columnsOf(cases []results.Case) []column {
	spread := slices.ContainsFunc(cases, func(c results.Case) bool { return Rate(c.EventsPerSec.Min) != Rate(c.EventsPerSec.Max) })
	lost := slices.ContainsFunc(cases, func(c results.Case) bool { return c.EventsLost+c.EventsDuplicate > 0 })
	paired := slices.ContainsFunc(cases, func(c results.Case) bool { return c.RatioToControl > 0 })
	known := slices.ContainsFunc(cases, func(c results.Case) bool { return c.MeasuredEfficiency > 0 })
	goodput := results.GoodputUnit(cases)
	beside := 0 // efficiencies go before ratios do
	if paired {
		beside = 4
	}
	all := []struct {
		column
		show bool
	}{
		{column{head: "case", wrap: true, cell: func(c results.Case) string { return c.Name }}, true},
		{column{head: "schedule", cell: schedule}, true},
		{column{head: "routing", cell: func(c results.Case) string { return orNone(c.Routing) }}, true},
		{column{head: "dead", right: true, cell: func(c results.Case) string { return strconv.Itoa(len(c.Failures)) }}, true},
		{column{head: "phases", right: true, optional: 2, cell: func(c results.Case) string { return phases(c.Phases) }}, true},
		{column{head: "events/s", right: true, cell: func(c results.Case) string { return Rate(c.EventsPerSec.Mean) }}, true},
		{column{head: "min", right: true, optional: 3, cell: func(c results.Case) string { return Rate(c.EventsPerSec.Min) }}, spread},
		{column{head: "max", right: true, optional: 3, cell: func(c results.Case) string { return Rate(c.EventsPerSec.Max) }}, spread},
		{column{head: goodput.Name, right: true, optional: 1, cell: func(c results.Case) string { return figures(c.GoodputBitPerSec.Mean/goodput.Size, 3) }}, true},
		{column{head: "pred.", right: true, over: "efficiency", optional: beside, cell: func(c results.Case) string { return share(c.PredictedEfficiency) }}, known},
		{column{head: "meas.", right: true, optional: beside, cell: func(c results.Case) string { return share(c.MeasuredEfficiency) }}, known},
		{column{head: "pred.", right: true, over: "ratio to control", cell: func(c results.Case) string { return share(c.PredictedRatio) }}, paired},
		{column{head: "measured", right: true, cell: estimate}, paired},
		{column{head: "lost", right: true, cell: func(c results.Case) string { return fmt.Sprintf("%d/%d", c.EventsLost, c.EventsDuplicate) }}, lost},
		{column{head: "verdict", wrap: true, cell: verdict, style: verdictStyle}, true},
	}
	var out []column
	for _, x := range all {
		if x.show {
			out = append(out, x.column)
		}
	}
	return out
}

// rowOf are the cells of a case, which is called name.
func rowOf(c results.Case, name string, columns []column) []string {
	c.Name = name
	out := make([]string, len(columns))
	for i, x := range columns {
		out[i] = x.cell(c)
	}
	return out
}

// schedule is the schedule of a case, and how it is followed where that is not in phases.
func schedule(c results.Case) string {
	switch mode := c.ShortMode(); {
	case mode == "sync" || mode == "":
		return orNone(c.Schedule)
	case c.Schedule == "":
		return mode
	default:
		return mode + " " + c.Schedule
	}
}

// estimate is the ratio to the control with its interval.
func estimate(c results.Case) string {
	switch {
	case c.Control && c.RatioToControl > 0:
		return "1"
	case c.Estimate == nil:
		return share(c.RatioToControl)
	case c.Estimate.Of != results.OfRatio:
		return none
	}
	return Estimate(c.Estimate)
}

// Estimate prints the median and the half-width of its interval, where it has one:
// "0.582 ±0.006".
func Estimate(e *results.Estimate) string {
	median, half, unit := e.Median, e.HalfWidth(), ""
	if e.Of == results.OfGoodput {
		u := results.RateUnitOf(median)
		median, half, unit = median/u.Size, half/u.Size, " "+u.Name
	}
	text := share(median)
	if e.Known() {
		text += fmt.Sprintf(" ±%.3f", half)
		if e.Over == results.OverExchanges {
			text += "*"
		}
	}
	return text + unit
}

// verdict is one word, and whatever the figures must not be quoted without.
func verdict(c results.Case) string {
	word := c.Verdict
	switch {
	case !c.Complete:
		word = "INCOMPLETE"
	case !c.Valid:
		word = "WRONG"
	case word == "":
		word = "valid"
	}
	if c.Model {
		word += ", model"
	}
	if c.Simulated != "" {
		word += ", " + c.Simulated
	}
	if c.Deliver == "discard" {
		word += ", discard"
	}
	return word
}

func verdictStyle(cell string) string {
	for _, x := range []struct{ word, style string }{
		{"INCOMPLETE", red}, {"WRONG", red}, {results.Unresolved, yellow}, {results.Ordered, green}, {results.Resolved, green},
	} {
		if len(cell) >= len(x.word) && cell[:len(x.word)] == x.word {
			return x.style
		}
	}
	return ""
}

// Styles of a terminal.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// Colours are the control sequences that a coloured text has.
func Colours() (all []string) {
	for _, style := range []string{"0", bold, red, green, yellow} {
		all = append(all, escape(style))
	}
	return all
}

func escape(style string) string { return "\x1b[" + style + "m" }

func paint(colour bool, style, text string) string {
	if !colour || style == "" {
		return text
	}
	return escape(style) + text + escape("0")
}
