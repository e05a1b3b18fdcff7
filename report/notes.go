package report

import (
	"fmt"
	"slices"
	"strings"

	"evbench/results"
)

// legend explains the columns, and the labels that a figure must not be quoted
// without.
func legend(cases []results.Case, columns []column) []string {
	out := []string{explained(cases, columns)}
	if slices.ContainsFunc(cases, func(c results.Case) bool { return c.Model }) {
		out = append(out, "model: measured on emulated links, clocks in this program, not on a network.")
	}
	out = append(out, simulated(cases)...)
	if slices.ContainsFunc(cases, func(c results.Case) bool { return c.Deliver == "discard" }) {
		out = append(out, "discard: fragments were thrown away on arrival, not put into event buffers.")
	}
	return out
}

// explained are the columns in words.
func explained(cases []results.Case, columns []column) string {
	text := "dead: dead links and timed failures. events/s: of one server, mean over servers."
	if slices.ContainsFunc(columns, func(c column) bool { return c.over == "efficiency" }) {
		text += " efficiency: ideal time / time."
	}
	if slices.ContainsFunc(cases, func(c results.Case) bool { return c.Estimate != nil && c.Estimate.Of == results.OfRatio }) {
		text += " ratio to control: median over rounds, ± half of its 95 % interval."
	}
	if slices.ContainsFunc(cases, func(c results.Case) bool { return c.Estimate != nil && c.Estimate.Over == results.OverExchanges }) {
		text += " *: too few rounds, the interval is over exchanges."
	}
	if slices.ContainsFunc(cases, func(c results.Case) bool { return c.EventsLost+c.EventsDuplicate > 0 }) {
		text += " lost: events lost/duplicate."
	}
	return text + " " + none + ": not given."
}

// open says which figures noise decides, and what to do about that.
func open(s results.Summary) []string {
	names := results.Open(s.Cases)
	if len(names) == 0 {
		return nil
	}
	return []string{"unresolved: " + strings.Join(names, ", ") + ": the interval is wider than 3 % of the figure and overlaps that of a case beside it. " +
		"Measure longer (--limit, --duration), at a lower rate (--rate auto), or on a machine with less other work."}
}

// rejected says how many slices do not count, and why.
func rejected(slices []results.Slice) []string {
	why := map[string]int{}
	var order []string
	for _, s := range slices {
		if s.Rejected != "" {
			if why[s.Rejected] == 0 {
				order = append(order, s.Rejected)
			}
			why[s.Rejected]++
		}
	}
	var out []string
	for _, text := range order {
		out = append(out, fmt.Sprintf("rejected: %d of %d slices: %s", why[text], len(slices), text))
	}
	return out
}

// notes says what there is to say about cases: what is wrong with them, which are not
// resolved, what is odd, and what became of links.
func notes(s results.Summary) []string {
	cases := s.Cases
	reasons := grouped(cases, func(c results.Case) []string { return c.Reasons })
	warnings := grouped(cases, func(c results.Case) []string { return c.Warnings })
	var out []string
	for _, r := range reasons {
		out = append(out, "wrong: "+r)
	}
	out = append(out, open(s)...)
	out = append(out, rejected(s.Slices)...)
	for _, w := range warnings {
		out = append(out, "warning: "+w)
	}
	for _, c := range cases {
		if len(c.Failovers) == 0 { // the table of fail-overs says it
			out = append(out, linkNotes(c, name(c, cases))...)
		}
	}
	return out
}

// grouped returns each text once, with the cases it is about before it, in the
// order in which texts first appear.
func grouped(cases []results.Case, texts func(results.Case) []string) []string {
	about := map[string][]string{}
	var order []string
	for _, c := range cases {
		for _, text := range texts(c) {
			if about[text] == nil {
				order = append(order, text)
			}
			about[text] = append(about[text], name(c, cases))
		}
	}
	out := make([]string, len(order))
	for i, text := range order {
		out[i] = who(about[text], len(cases)) + ": " + text
	}
	return out
}

func who(names []string, all int) string {
	if len(names) == all && all > 1 {
		return "every case"
	}
	return strings.Join(names, ", ")
}

// linkEvents is how many changes of links are told of one case.
const linkEvents = 8

func linkNotes(c results.Case, name string) []string {
	var out []string
	for i, e := range c.LinkEvents {
		if i == linkEvents {
			out = append(out, fmt.Sprintf("%s: %d more changes of links", name, len(c.LinkEvents)-i))
			break
		}
		out = append(out, name+": "+linkNote(e))
	}
	return out
}

func linkNote(e results.LinkEvent) string {
	what := "down"
	if e.Up {
		what = "up"
	}
	text := fmt.Sprintf("%s %s at %.2f s", e.Link, what, e.TSec)
	if e.RoutesSec == 0 {
		return text
	}
	return fmt.Sprintf("%s, seen %s later, new routes in place %s after that (%d changed)",
		text, milliseconds(e.SeenSec), milliseconds(e.RoutesSec), e.Routes)
}

func milliseconds(sec float64) string { return fmt.Sprintf("%.2f ms", sec*1e3) }

// models say what the models of simulated cases count.
var models = []struct{ name, text string }{
	{"phase", "phase: simulated, not measured; each phase takes as long as its busiest link, and then comes the barrier."},
	{"fluid", "fluid: simulated, not measured; messages share the links they cross max-min fairly."},
}

// simulated explains the models that worked cases out.
func simulated(cases []results.Case) (out []string) {
	for _, m := range models {
		if slices.ContainsFunc(cases, func(c results.Case) bool { return c.Simulated == m.name }) {
			out = append(out, m.text)
		}
	}
	return out
}
