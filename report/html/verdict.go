package html

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evbench/report/figure"
	"evbench/results"
)

// none is shown for a figure that is not given.
const none = "–"

// A cell of a table that can be sorted: Value sorts, Text is shown.
type cell struct{ Text, Value string }

// A row is one case of the verdict.
type row struct {
	Run, RunID              string
	Case                    string
	Control                 bool
	Kind                    kind
	Mode, Schedule, Routing string
	Dead                    cell
	DeadNames               string
	Events, Goodput         cell
	Spread                  string // of events/s over servers
	Ratio                   cell
	Bar                     float64 // the ratio as a share of the bar's width, in percent
	Predicted, Measured     cell
	Phases                  cell
	Lost                    cell
	Verdict                 string // valid, invalid, incomplete
	Reasons                 []string
}

// rowsOf makes the rows of the verdict of a run.
func rowsOf(index int, in Input) []row {
	cases := in.Source.Run.Summary.Cases
	var out []row
	for _, c := range cases {
		r := row{
			Run: in.Name, RunID: runID(index), Case: figure.Label(c, cases), Control: c.Control, Kind: kindOf(in.Source.Run),
			Mode: orNone(c.ShortMode()), Schedule: orNone(c.Schedule), Routing: orNone(c.Routing),
			Dead: cell{strconv.Itoa(len(c.Failures)), strconv.Itoa(len(c.Failures))}, DeadNames: strings.Join(c.Failures, ", "),
			Events: figures(c.EventsPerSec.Mean, 1, 4), Goodput: figures(c.GoodputBitPerSec.Mean, 1e9, 3),
			Spread: fmt.Sprintf("slowest %s, median %s, fastest %s",
				figures(c.EventsPerSec.Min, 1, 4).Text, figures(c.EventsPerSec.Median, 1, 4).Text, figures(c.EventsPerSec.Max, 1, 4).Text),
			Ratio: share(c.RatioToControl), Bar: 100 * min(1, c.RatioToControl),
			Predicted: share(c.PredictedEfficiency), Measured: share(c.MeasuredEfficiency),
			Phases: phases(c), Lost: cell{fmt.Sprintf("%d/%d", c.EventsLost, c.EventsDuplicate), strconv.FormatUint(c.EventsLost+c.EventsDuplicate, 10)},
			Verdict: verdict(c), Reasons: c.Reasons,
		}
		out = append(out, r)
	}
	return out
}

func verdict(c results.Case) string {
	switch {
	case !c.Complete:
		return "incomplete"
	case !c.Valid:
		return "invalid"
	}
	return "valid"
}

func phases(c results.Case) cell {
	if c.Phases == 0 {
		return cell{none, ""}
	}
	text := strconv.Itoa(c.Phases)
	if c.Bound > 0 {
		text += " / " + strconv.Itoa(c.Bound)
	}
	return cell{text, strconv.Itoa(c.Phases)}
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
		return cell{none, ""}
	}
	return cell{strconv.FormatFloat(x, 'f', 3, 64), exact(x)}
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
	return cell{strconv.FormatFloat(x, 'f', decimals, 64), exact(value)}
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
	for _, v := range []string{"valid", "invalid", "incomplete"} {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	return fmt.Sprintf("Of %d cases: %s. The table says why.", len(rows), strings.Join(parts, ", "))
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
