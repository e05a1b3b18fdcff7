package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results"
)

// failoverWidth is the least width of the table of fail-overs.
const failoverWidth = 120

// manyFailovers is the most fail-overs of one case that are listed one by one.
const manyFailovers = 12

var failoverTable = []show.Column{
	{Head: "case", Wrap: true}, {Head: "what", Wrap: true}, {Head: "at s", Right: true},
	{Head: "seen", Right: true},
	{Head: "aid", Right: true, Over: "ms after it was seen"}, {Head: "plan", Right: true}, {Head: "source"},
	{Head: "routes", Right: true}, {Head: "workers", Right: true}, {Head: "in use", Right: true},
	{Head: "before", Right: true, Over: "events/s, % of it"}, {Head: "during", Right: true}, {Head: "after", Right: true},
	{Head: "lost", Right: true},
}

// failovers writes the reactions to links that died or came back, if any, as a table of at most
// width columns.
func failovers(b *strings.Builder, cases []results.Case, width int) {
	t := show.Table{Columns: failoverTable}
	var notes []string
	for _, c := range cases {
		label := results.Label(c, cases)
		if c.Failover != "" && !strings.Contains(label, c.Failover) {
			label += ", " + c.Failover
		}
		t.Rows = append(t.Rows, failoverRows(c, label)...)
		notes = append(notes, failoverNotes(c, label)...)
	}
	if len(t.Rows) == 0 {
		return
	}
	b.WriteString("\nFailovers\n")
	t.Draw(b, width)
	b.WriteByte('\n')
	show.Paragraph(b, failoverLegend+failoverLost+failoverNone, width)
	for _, text := range notes {
		show.Paragraph(b, text, width)
	}
}

const failoverLegend = "at: when the link changed, or, changed from outside, when evbench saw it. seen: ms after that. aid: repaired tables in place. plan: found or computed, and judged. " +
	"routes: of the new plan in place and read back. workers: all have the plan. in use: the first exchange on it is done. " +
	"before, during, after: of each server. "

const (
	failoverUnits = "aid to in use: ms after it was seen. before: events/s; during and after: % of it. "
	failoverLost  = "lost: events lost/duplicate, late fragments of the case. "
	failoverNone  = none + ": did not happen, or too short to tell."
)

// FailoverRows returns fail-overs as in their table: the heads, a row for each, its case first, and
// the columns in words.
func FailoverRows(list []results.Failover) (heads []string, rows [][]string, legend string) {
	for _, c := range failoverTable[:len(failoverTable)-1] { // what was lost is known of whole cases
		heads = append(heads, c.Head)
	}
	rows = lists.Map(list, func(f results.Failover) []string { return failoverRow(f, f.Case) })
	return heads, rows, failoverLegend + failoverUnits + failoverNone
}

func failoverRow(f results.Failover, label string) []string {
	return append([]string{label, whatChanged(f), atText(f)}, cells(durations(f), f.Source)...)
}

// failoverRows are the rows of one case: one for each fail-over or, for many, their medians and the
// worst of each.
func failoverRows(c results.Case, label string) [][]string {
	var times [][]float64
	var rows [][]string
	for _, f := range c.Failovers {
		times = append(times, durations(f))
		rows = append(rows, failoverRow(f, label))
	}
	if n := len(rows); n > manyFailovers {
		median, worst := summarised(times)
		rows = [][]string{
			append([]string{label, fmt.Sprintf("median of %d, %d in use", n, inUse(c.Failovers)), none}, cells(median, sources(c.Failovers))...),
			append([]string{label, "worst", none}, cells(worst, "")...),
		}
	}
	for i := range rows {
		lost := ""
		if i == 0 {
			lost = fmt.Sprintf("%d/%d/%d", c.EventsLost, c.EventsDuplicate, c.FragmentsLate)
		} else {
			rows[i][0] = ""
		}
		rows[i] = append(rows[i], lost)
	}
	return rows
}

// The figures of a fail-over, in the order of durations.
const (
	figSeen = iota // ms after the change
	figAid         // from here on ms after it was seen
	figPlan
	figRoutes
	figWorkers
	figUse
	figBefore // events/s
	figDuring // % of before
	figAfter
	figCount
)

// missing stands for a missing figure. Figures are never negative.
const missing = -1

func durations(f results.Failover) []float64 {
	out := make([]float64, figCount)
	out[figSeen] = between(f.SetSec, f.SeenSec)
	for i, t := range map[int]*float64{
		figAid: f.AidedSec, figPlan: f.VerifiedSec, figRoutes: f.InstalledSec, figWorkers: f.UpdatedSec, figUse: f.FirstNewSec,
	} {
		out[i] = between(f.SeenSec, t)
	}
	out[figBefore], out[figDuring], out[figAfter] = missing, missing, missing
	if before := f.BeforeEventsPerSec; before != nil && *before > 0 {
		out[figBefore] = *before
		out[figDuring] = percent(f.DuringEventsPerSec, *before)
		out[figAfter] = percent(f.AfterEventsPerSec, *before)
	}
	return out
}

// mostPercent is the largest share shown: a larger one belongs to something that stood still.
const mostPercent = 999

func percent(x *float64, of float64) float64 {
	if x == nil || 100**x > mostPercent*of {
		return missing
	}
	return 100 * *x / of
}

func between(from, to *float64) float64 {
	if from == nil || to == nil {
		return missing
	}
	return max(0, *to-*from) * 1e3
}

func cells(x []float64, source string) []string {
	print := func(i int, f func(float64) string) string {
		if x[i] == missing {
			return none
		}
		return f(x[i])
	}
	ms := func(v float64) string { return figures(v, 3) }
	share := func(v float64) string { return fmt.Sprintf("%.0f", v) }
	return []string{
		print(figSeen, ms), print(figAid, ms), print(figPlan, ms), source, print(figRoutes, ms), print(figWorkers, ms), print(figUse, ms),
		print(figBefore, Rate), print(figDuring, share), print(figAfter, share),
	}
}

func whatChanged(f results.Failover) string {
	var parts []string
	for _, x := range []struct {
		links []string
		what  string
	}{{f.Down, "down"}, {f.Up, "up"}, {f.Held, "held out"}} {
		switch n := len(x.links); n {
		case 0:
		case 1:
			parts = append(parts, x.links[0]+" "+x.what)
		default:
			parts = append(parts, fmt.Sprintf("%s and %d more %s", x.links[0], n-1, x.what))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "tables changed")
}

// atText is when links changed, as far as it is known.
func atText(f results.Failover) string {
	t := cmp.Or(f.SetSec, f.SeenSec)
	if t == nil {
		return none
	}
	return fmt.Sprintf("%.2f", *t)
}

func summarised(all [][]float64) (median, worst []float64) {
	median, worst = make([]float64, figCount), make([]float64, figCount)
	for i := range median {
		var known []float64
		for _, x := range all {
			if x[i] != missing {
				known = append(known, x[i])
			}
		}
		median[i], worst[i] = missing, missing
		if len(known) == 0 {
			continue
		}
		s := results.NewStat(known)
		median[i], worst[i] = s.Median, s.Max
		if i >= figBefore {
			worst[i] = s.Min
		}
	}
	return median, worst
}

func inUse(list []results.Failover) (n int) {
	return lists.CountIf(list, func(f results.Failover) bool { return f.FirstNewSec != nil })
}

func sources(list []results.Failover) string {
	var names []string
	for _, f := range list {
		if f.Source != "" && !slices.Contains(names, f.Source) {
			names = append(names, f.Source)
		}
	}
	if len(names) > 1 {
		return "both"
	}
	return strings.Join(names, "")
}

// failoverNotes says why plans are not in use, or took more than one attempt: each reason once,
// with its times or their number.
func failoverNotes(c results.Case, label string) []string {
	at := map[string][]string{}
	var order []string
	for _, f := range c.Failovers {
		text := f.Reason
		if f.Superseded {
			text = strings.TrimPrefix(text+"; the next change came before a plan was in use", "; ")
		}
		if text == "" {
			continue
		}
		if at[text] == nil {
			order = append(order, text)
		}
		at[text] = append(at[text], atText(f)+" s")
	}
	var out []string
	for _, text := range order {
		when := "at " + at[text][0]
		if n := len(at[text]); n > 1 {
			when = fmt.Sprintf("%d times, first %s", n, when)
		}
		out = append(out, fmt.Sprintf("%s, %s: %s", label, when, text))
	}
	return out
}
