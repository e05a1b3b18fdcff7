package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evbench/report"
	"evbench/results"
)

const none = "–"

type row struct {
	Run, RunID string
	Case       string
	ID         string // of the case, for the script
	Kind       kind
	Verdict    string        // one of verdicts
	Cells      []report.Cell // by columns
}

func rowsOf(index int, in Input, columns []report.Column) []row {
	cases := in.Source.Run.Summary.Cases
	var out []row
	for i, c := range cases {
		r := row{Run: in.Name, RunID: runID(index), ID: caseID(index, i), Case: results.Label(c, cases), Kind: kindOf(in.Source.Run), Verdict: verdict(c)}
		for _, x := range columns {
			r.Cells = append(r.Cells, x.Cell(c))
		}
		out = append(out, r)
	}
	return out
}

// verdicts are all of them, as the line above the table counts them.
var verdicts = []string{results.Reference, results.Resolved, results.Ranked, results.Unresolved, "valid", wrong, invalid, incomplete}

// What a case is called that cannot be believed; invalid in results that have no verdicts.
const (
	wrong      = "wrong"
	invalid    = "invalid"
	incomplete = "incomplete"
)

func verdict(c results.Case) string {
	switch {
	case !c.Complete:
		return incomplete
	case !c.Valid && c.Verdict != "":
		return wrong
	case !c.Valid:
		return invalid
	case c.Verdict != "":
		return c.Verdict
	}
	return "valid"
}

func verdictLine(rows []row) string {
	count := map[string]int{}
	for _, r := range rows {
		count[r.Verdict]++
	}
	if len(rows) == 0 {
		return "No case was measured."
	}
	if count["valid"] == len(rows) {
		return fmt.Sprintf("All %d cases are valid.", len(rows))
	}
	var parts []string
	for _, v := range verdicts {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	text := fmt.Sprintf("Of %d cases: %s.", len(rows), strings.Join(parts, ", "))
	if count[wrong]+count[invalid]+count[incomplete] > 0 {
		text += " Why is said below the table."
	}
	return text
}

type kind struct{ Word, Text string }

func kindOf(run *results.Run) kind {
	switch f := run.Manifest.Fabric; {
	case f.Kind == "lab":
		return kind{"measured", "Measured on a lab of network namespaces on one machine."}
	case f.Kind == "hosts":
		return kind{"measured", "Measured on hosts."}
	case f.Kind == "emulate":
		return kind{"emulated", "A model: measured on emulated links, clocks in the program, not on a network."}
	case strings.HasPrefix(f.Kind, "sim"):
		return kind{"simulated", "Simulated: worked out in virtual time, not measured."}
	case f.Model:
		return kind{"model", "A model (" + f.Kind + "), not measured on a network."}
	}
	return kind{cmp.Or(run.Manifest.Fabric.Kind, none), "Fabric: " + cmp.Or(run.Manifest.Fabric.Kind, none) + "."}
}

func mixed(runs []Input) string {
	var words []string
	for _, in := range runs {
		words = append(words, kindOf(in.Source.Run).Word)
	}
	slices.Sort(words)
	if words = slices.Compact(words); len(words) < 2 {
		return ""
	}
	return "This page has " + strings.Join(words, " and ") + " runs side by side; each row and each part says which it is."
}

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
		text += fmt.Sprintf(" Resolved: that half is at most %s of the figure, and the control kept to its prediction. Ranked: not so, but the interval is apart from those that it is compared with, or the two differ by less than %[1]s. Unresolved: neither.",
			results.ToleranceText())
	}
	return unbroken.Replace(text) + " unsync: unsynchronised, free: free-running. Dead: dead links and timed failures. " +
		"Bound: the least number of phases in which no link is shared. " + none + ": not given."
}
