// Package report answers: how do people read what was measured? It draws
// results as text, fresh ones and old ones alike, and changes no figure on the
// way but for rounding. It measures and judges nothing, and opens no file. Figures
// and the page for a browser are in its sub-packages.
package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/results"
)

// DefaultWidth is the width of a table in columns where none is known.
const DefaultWidth = 120

// none is printed for a figure that is not given.
const none = "–"

// Table writes the summary of a run as a table of at most width columns, where
// its figures allow: one row per case, then in words why cases are not valid,
// what is odd, and what happened to links; then the fail-overs, where there were
// any. A width of 0 means DefaultWidth.
func Table(w io.Writer, s results.Summary, width int) error {
	if width <= 0 {
		width = DefaultWidth
	}
	var b strings.Builder
	if !s.Complete {
		paragraph(&b, "The run ended early. This is what was measured until then; it is marked incomplete.", width)
		b.WriteByte('\n')
	}
	g := grid{columns: columns, gap: 2}
	for _, c := range s.Cases {
		g.rows = append(g.rows, row(c, name(c, s.Cases)))
	}
	g.draw(&b, width)
	b.WriteByte('\n')
	for _, text := range legend(s.Cases) {
		paragraph(&b, text, width)
	}
	for _, text := range notes(s.Cases) {
		paragraph(&b, text, width)
	}
	failovers(&b, s.Cases, width)
	_, err := io.WriteString(w, b.String())
	return err
}

// Warnings writes what is odd about the machines of a run, each as a paragraph of
// at most width columns. A width of 0 means DefaultWidth.
func Warnings(w io.Writer, warnings []string, width int) error {
	if width <= 0 {
		width = DefaultWidth
	}
	var b strings.Builder
	for _, text := range warnings {
		paragraph(&b, "warning: "+text, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var columns = []column{
	{head: "case", wrap: true},
	{head: "mode"}, {head: "schedule"}, {head: "routing"},
	{head: "dead", right: true},
	{head: "min", right: true, over: "events/s per server"}, {head: "mean", right: true}, {head: "med.", right: true}, {head: "max", right: true},
	{head: "each", right: true, over: "Gbit/s"},
	{head: "phases", right: true},
	{head: "pred.", right: true, over: "efficiency"}, {head: "meas.", right: true},
	{head: "ratio", right: true}, {head: "lost", right: true},
	{head: "verdict", wrap: true},
}

func row(c results.Case, name string) []string {
	return []string{
		name, orNone(c.ShortMode()), orNone(c.Schedule), orNone(c.Routing),
		strconv.Itoa(len(c.Failures)),
		rate(c.EventsPerSec.Min), rate(c.EventsPerSec.Mean), rate(c.EventsPerSec.Median), rate(c.EventsPerSec.Max),
		figures(c.GoodputBitPerSec.Mean/1e9, 3),
		phases(c.Phases),
		share(c.PredictedEfficiency), share(c.MeasuredEfficiency), share(c.RatioToControl),
		fmt.Sprintf("%d/%d", c.EventsLost, c.EventsDuplicate),
		verdict(c),
	}
}

// name tells the repeats of a case apart, where there are any.
func name(c results.Case, all []results.Case) string {
	for _, other := range all {
		if other.Repeat > 0 && other.Name == c.Name {
			return fmt.Sprintf("%s #%d", c.Name, c.Repeat+1)
		}
	}
	return c.Name
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

func phases(n int) string {
	if n == 0 {
		return none
	}
	return strconv.Itoa(n)
}

// share prints an efficiency or a ratio; 0 is "not given".
func share(x float64) string {
	if x == 0 {
		return none
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

func rate(x float64) string { return figures(x, 4) }

// figures prints x with about n significant digits and without an exponent:
// 12345, 1.333, 0.0931.
func figures(x float64, n int) string {
	decimals := n - 1
	for limit := 10.0; x >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	if x > 0 && x < 0.1 {
		decimals++
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// verdict is one word, and whatever the figures must not be quoted without.
func verdict(c results.Case) string {
	word := "valid"
	switch {
	case !c.Complete:
		word = "INCOMPLETE"
	case !c.Valid:
		word = "INVALID"
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
