package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evbench/builder/load"
	"evbench/internal/show"
	"evbench/results"
)

// A Column of the table of cases, as text and on a page.
type Column struct {
	show.Column        // as text
	Page        string // its head on a page; "": it is in text alone
	place       int    // on a page
	cell        func(results.Case) Cell
}

// Cell returns the column's cell for a case.
func (x Column) Cell(c results.Case) Cell { return x.cell(c) }

// Left reports whether cells stand to the left.
func (x Column) Left() bool { return !x.Right }

// A Cell of a table that can be sorted: Value sorts, Text is shown.
type Cell struct {
	Text, Value string
	Half        string // of the interval, beside the text
	Halves      bool   // other cells of the column have one
	Title       string
	Bar         *Bar
	text        string // in text, where that is not Text
}

// A Bar shows a share of 1, all in percent of its width.
type Bar struct {
	At       float64
	Interval bool
	Low      float64
	Span     float64
}

// Columns are the columns of pages with differences between the cases, the decisive ones first. how
// is the origin of all figures, "" where it differs.
func Columns(cases []results.Case, how string) []Column {
	all := slices.DeleteFunc(columnsOf(cases, how, true), func(x Column) bool { return x.Page == "" })
	slices.SortFunc(all, func(a, b Column) int { return a.place - b.place })
	return all
}

// columnsOf are the columns that the cases need. It leaves out columns without information: the
// spread over servers where all are equal by design, losses where nothing was lost.
func columnsOf(cases []results.Case, how string, page bool) (out []Column) {
	some := func(is func(results.Case) bool) bool { return slices.ContainsFunc(cases, is) }
	spread := some(func(c results.Case) bool { return Rate(c.EventsPerSec.Min) != Rate(c.EventsPerSec.Max) })
	lost := some(func(c results.Case) bool { return c.EventsLost+c.EventsDuplicate > 0 })
	loaded := some(func(c results.Case) bool { return c.Offered != nil })
	expected := some(func(c results.Case) bool { return c.Offered != nil && c.Offered.Predicted != nil })
	parted := some(func(c results.Case) bool { return c.Offered != nil && c.Offered.Parts.Wire.Mean > 0 })
	paired := some(func(c results.Case) bool { return c.RatioToControl > 0 })
	known, predicted := some(func(c results.Case) bool { return c.MeasuredEfficiency > 0 }), paired
	if page {
		known = known || some(func(c results.Case) bool { return c.PredictedEfficiency > 0 })
		predicted = some(func(c results.Case) bool { return c.PredictedRatio > 0 })
	}
	goodput := results.GoodputUnit(cases)
	measured, reached := "meas.", "measured"
	if some(func(c results.Case) bool { return c.Simulated != "" }) {
		measured, reached = "sim.", "simulated"
	}
	beside := 0 // efficiencies go before ratios do
	if paired {
		beside = 4
	}
	text := func(of func(results.Case) string) func(results.Case) Cell {
		return func(c results.Case) Cell { return Cell{Text: cmp.Or(of(c), none), Value: of(c)} }
	}
	number := func(head, over string, optional int) show.Column {
		return show.Column{Head: head, Over: over, Right: true, Optional: optional}
	}
	for _, x := range []struct {
		Column
		there bool
	}{
		{Column{show.Column{Head: "case", Wrap: true}, "", 0, text(func(c results.Case) string { return c.Name })}, true},
		{Column{show.Column{Head: "schedule"}, "schedule", 9, text(schedule)}, true},
		{Column{show.Column{Head: "routing"}, "routing", 10, text(func(c results.Case) string { return c.Routing })}, true},
		{Column{number("dead", "", 0), "dead", 11, dead}, true},
		{Column{number("phases", "", 2), "phases /\u00a0bound", 12, func(c results.Case) Cell { return Phases(c.Phases, c.Bound) }}, true},
		{Column{number("events/s", "", 0), "events/s per server", 3, func(c results.Case) Cell { return scaled(c.EventsPerSec.Mean, 1, 4) }}, true},
		{Column{number("min", "", 3), "slowest server", 4, func(c results.Case) Cell { return scaled(c.EventsPerSec.Min, 1, 4) }}, spread},
		{Column{number("max", "", 3), "fastest server", 5, func(c results.Case) Cell { return scaled(c.EventsPerSec.Max, 1, 4) }}, spread},
		{Column{number(goodput.Name, "", 1), goodput.Name + " per server", 6, func(c results.Case) Cell { return scaled(c.GoodputBitPerSec.Mean, goodput.Size, 3) }}, true},
		{Column{number("pred.", "efficiency", beside), "predicted efficiency", 7, func(c results.Case) Cell { return shared(c.PredictedEfficiency) }}, known},
		{Column{number(measured, "", beside), strings.TrimSpace(how + " efficiency"), 8, func(c results.Case) Cell { return shared(c.MeasuredEfficiency) }}, known},
		{Column{number("pred.", "ratio to control", 0), "predicted ratio", 2, func(c results.Case) Cell { return shared(c.PredictedRatio) }}, predicted},
		{Column{number(reached, "", 0), "ratio to control", 1, barred(cases)}, paired},
		{Column{number("offered", "load", 0), "offered", 14, offeredCell}, loaded},
		{Column{number("dead", "", 0), "dead time", 15, deadTimeCell}, loaded},
		{Column{number("pred.", "p99", 2), "predicted p99 latency", 18, expectedCell}, expected},
		{Column{number(measured, "", 2), "p99 latency", 19, latency(func(o *results.Offered) float64 { return o.Latency.P99 })}, expected},
		{Column{number("p99.9", "", 1), "p99.9 latency", 16, latency(func(o *results.Offered) float64 { return o.Latency.P999 })}, loaded},
		{Column{number("parts", "", 2), "mean latency: buffer + order + wire + builder", 17, partsCell}, parted},
		{Column{number("lost", "", 0), "lost /\u00a0twice", 13, lostCell}, lost},
		{Column{show.Column{Head: "verdict", Wrap: true}, "", 0, text(verdict)}, true},
	} {
		if x.there {
			out = append(out, x.Column)
		}
	}
	return out
}

// schedule is the schedule of a case, and its mode where that is not in phases.
func schedule(c results.Case) string {
	mode := c.Mode.Short()
	if mode == "sync" {
		mode = ""
	}
	return strings.TrimSpace(mode + " " + c.Schedule)
}

func offeredCell(c results.Case) Cell {
	if c.Offered == nil {
		return Cell{Text: none}
	}
	return Cell{Text: load.RateText(c.Offered.RatePerSec), Value: strconv.FormatFloat(c.Offered.RatePerSec, 'g', -1, 64), Title: c.Offered.Load}
}

// fills reports whether the buffers hold what the network does not take, so that there is no dead time yet.
func fills(c results.Case) bool {
	return c.Offered != nil && c.Offered.Filling && c.Offered.Refused == 0
}

func deadTimeCell(c results.Case) Cell {
	if c.Offered == nil {
		return Cell{Text: none}
	}
	text := fmt.Sprintf("%.2g %%", 100*c.Offered.Dead())
	if fills(c) {
		text = "fills"
	}
	return Cell{Text: text, Value: strconv.FormatFloat(c.Offered.Dead(), 'g', -1, 64)}
}

// expectedCell is the p99 latency that the simulation of a case said.
func expectedCell(c results.Case) Cell {
	if c.Offered == nil || c.Offered.Predicted == nil {
		return Cell{Text: none}
	}
	return inMilliseconds(c.Offered.Predicted.Latency.P99)
}

func latency(of func(*results.Offered) float64) func(results.Case) Cell {
	return func(c results.Case) Cell {
		if c.Offered == nil {
			return Cell{Text: none}
		}
		return inMilliseconds(of(c.Offered))
	}
}

func inMilliseconds(sec float64) Cell {
	return Cell{Text: fmt.Sprintf("%.3g ms", 1e3*sec), Value: Exact(sec)}
}

// partsCell is what the mean latency consists of, in its order.
func partsCell(c results.Case) Cell {
	if c.Offered == nil {
		return Cell{Text: none}
	}
	p, sum, parts := c.Offered.Parts, 0.0, []string(nil)
	for _, part := range []load.Part{p.Buffer, p.Order, p.Wire, p.Builder} {
		sum += part.Mean
		parts = append(parts, fmt.Sprintf("%.3g", 1e3*part.Mean))
	}
	return Cell{Text: strings.Join(parts, "+") + " ms", Value: Exact(sum)}
}

func dead(c results.Case) Cell {
	n := strconv.Itoa(len(c.Failures))
	return Cell{Text: n, Value: n, Title: strings.Join(c.Failures, ", ")}
}

// Phases are the phases of a schedule, with their bound, 0 where it is not known.
func Phases(n, bound int) Cell {
	if n == 0 {
		return Cell{Text: none}
	}
	text := strconv.Itoa(n)
	out := Cell{Text: text, Value: text, text: text}
	if bound > 0 {
		out.Text += " / " + strconv.Itoa(bound)
	}
	return out
}

func lostCell(c results.Case) Cell {
	return Cell{Text: fmt.Sprintf("%d/%d", c.EventsLost, c.EventsDuplicate), Value: strconv.FormatUint(c.EventsLost+c.EventsDuplicate, 10)}
}

// scaled is x/unit with about n significant digits.
func scaled(x, unit float64, n int) Cell { return Cell{Text: figures(x/unit, n), Value: Exact(x)} }

// shared is an efficiency or a ratio; 0 is "not given".
func shared(x float64) Cell {
	if x == 0 {
		return Cell{Text: none}
	}
	return Cell{Text: Share(x), Value: Exact(x)}
}

// Exact prints x so that parsing gives x again.
func Exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// widest is the longest interval that a bar shows: a wild one does not make all bars short.
const widest = 1.5

// barred shows the ratio to the control, its interval, and both as a bar. All bars of the cases
// have one scale.
func barred(cases []results.Case) func(results.Case) Cell {
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
	return func(c results.Case) Cell {
		out := shared(c.RatioToControl)
		out.Halves, out.text = halves, estimate(c)
		if c.RatioToControl == 0 {
			return out
		}
		out.Bar = &Bar{At: percent(c.RatioToControl)}
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

func estimate(c results.Case) string {
	switch {
	case c.Control && c.RatioToControl > 0:
		return "1"
	case c.Estimate == nil:
		return Share(c.RatioToControl)
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
	text := Share(median)
	if e.Known() {
		text += fmt.Sprintf(" ±%.3f", half)
		if e.Over == results.OverExchanges {
			text += "*"
		}
	}
	return text + unit
}

// verdict is one word, and the labels that must accompany the figures.
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
		{"INCOMPLETE", show.Red}, {"WRONG", show.Red}, {results.Unresolved, show.Yellow}, {results.Ranked, show.Green}, {results.Resolved, show.Green},
	} {
		if strings.HasPrefix(cell, x.word) {
			return x.style
		}
	}
	return ""
}
