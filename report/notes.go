package report

import (
	"fmt"
	"slices"

	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results"
)

// legend explains the columns, and the labels that must accompany a figure.
func legend(cases []results.Case, columns []show.Column) []string {
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

func explained(cases []results.Case, columns []show.Column) string {
	text := "dead: dead links and timed failures. events/s: of one server, mean over servers."
	if slices.ContainsFunc(columns, func(c show.Column) bool { return c.Over == "efficiency" }) {
		text += " efficiency: ideal time / time."
	}
	if slices.ContainsFunc(cases, func(c results.Case) bool { return c.Estimate != nil && c.Estimate.Of == results.OfRatio }) {
		text += " ratio to control: median over rounds, ± half of its 95 % interval."
	}
	if slices.ContainsFunc(cases, func(c results.Case) bool { return c.Estimate != nil && c.Estimate.Over == results.OverExchanges }) {
		text += " *: too few rounds, the interval is over exchanges."
	}
	if slices.ContainsFunc(cases, fills) {
		text += " fills: more and more events wait in the buffers."
	}
	if slices.ContainsFunc(cases, func(c results.Case) bool { return c.EventsLost+c.EventsDuplicate > 0 }) {
		text += " lost: events lost/duplicate."
	}
	return text + " " + none + ": not given."
}

// notes lists facts about cases: what is wrong with them, which are not resolved, what is odd, and
// what happened to links.
func notes(s results.Summary) []string {
	cases := s.Cases
	out := lists.Map(s.Notes(), func(n results.Note) string { return n.Head + ": " + n.Text })
	for _, w := range results.Grouped(cases, func(c results.Case) []string { return c.Warnings }) {
		out = append(out, "warning: "+w)
	}
	for _, c := range cases {
		if len(c.Failovers) == 0 { // the table of fail-overs says it
			out = append(out, linkNotes(c, results.Label(c, cases))...)
		}
	}
	return out
}

// linkEvents is the most changes of links listed for one case.
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

var models = []struct{ name, text string }{
	{"phase", "phase: simulated, not measured; each phase takes the time of its busiest link and of a barrier."},
	{"phase, ordered", "phase, ordered cases: simulated, not measured; the longest path through the messages, each of which waits for its tokens."},
	{"fluid", "fluid: simulated, not measured; messages share the links they cross max-min fairly."},
	{"tcp", "tcp: simulated, not measured; packets wait in the queues of ports behind all that came before, and windows of TCP bound how many."},
	{"credit", "credit: simulated, not measured; packets wait for room in the next buffer, and behind each other."},
}

// model names the model of a simulated case, and whether it was ordered where that matters.
func model(c results.Case) string {
	if c.Simulated == "phase" && c.Mode == modes.Ordered {
		return "phase, ordered"
	}
	return c.Simulated
}

func simulated(cases []results.Case) (out []string) {
	for _, m := range models {
		if slices.ContainsFunc(cases, func(c results.Case) bool { return model(c) == m.name }) {
			out = append(out, m.text)
		}
	}
	return out
}
