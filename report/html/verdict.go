package html

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evbench/results"
)

// none is shown for a figure that is not given.
const none = "–"

// A row is one case of the verdict.
type row struct {
	Run, RunID string
	Case       string
	ID         string // of the case, for the script
	Kind       kind
	Verdict    string // one of verdicts
	Cells      []cell // by columns
}

// rowsOf makes the rows of the verdict of a run.
func rowsOf(index int, in Input, columns []column) []row {
	cases := in.Source.Run.Summary.Cases
	var out []row
	for i, c := range cases {
		r := row{Run: in.Name, RunID: runID(index), ID: caseID(index, i), Case: results.Label(c, cases), Kind: kindOf(in.Source.Run), Verdict: verdict(c)}
		for _, x := range columns {
			r.Cells = append(r.Cells, x.cell(c))
		}
		out = append(out, r)
	}
	return out
}

// verdicts are all of them, as the line above the table counts them.
var verdicts = []string{results.Reference, results.Resolved, results.Ordered, results.Unresolved, "valid", wrong, invalid, incomplete}

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

func phases(c results.Case) cell {
	if c.Phases == 0 {
		return cell{Text: none}
	}
	text := strconv.Itoa(c.Phases)
	if c.Bound > 0 {
		text += " / " + strconv.Itoa(c.Bound)
	}
	return cell{Text: text, Value: strconv.Itoa(c.Phases)}
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

// share prints an efficiency or a ratio; 0 is "not given".
func share(x float64) cell {
	if x == 0 {
		return cell{Text: none}
	}
	return cell{Text: strconv.FormatFloat(x, 'f', 3, 64), Value: exact(x)}
}

// figures prints x/unit with about n significant digits and without an exponent.
func figures(x, unit float64, n int) cell {
	value := x
	x /= unit
	decimals := n - 1
	for limit := 10.0; x >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	if x > 0 && x < 0.1 {
		decimals++
	}
	return cell{Text: strconv.FormatFloat(x, 'f', decimals, 64), Value: exact(value)}
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// verdictLine says in one line what came out.
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

// A kind says how results came about.
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
	return kind{orNone(run.Manifest.Fabric.Kind), "Fabric: " + orNone(run.Manifest.Fabric.Kind) + "."}
}

// mixed warns of a page that has figures of different kinds side by side.
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
