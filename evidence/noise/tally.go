package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"evbench/results"
)

// maxPoints is the largest accepted error of a resolved ratio of a synchronised case.
const maxPoints = 100 * results.Tolerance

// allowance is how far an interval may miss the prediction and still count as near: predictions
// cover only the links, not barriers and gaps between phases.
const allowance = 0.01

// Errors compare the ratios of some cases with their predictions. Pointers are nil if there is no
// such case.
type Errors struct {
	Worst         *float64 `json:"worst_points"`
	WorstResolved *float64 `json:"worst_resolved_points"`
	Intervals     int      `json:"intervals"`           // of cases that are resolved or ordered
	Held          int      `json:"held"`                // intervals that contain the prediction
	HeldNear      int      `json:"held_within_1_point"` // the same with an allowance of a point at either end
}

func (e *Errors) add(c results.Case) {
	if !judged(c) {
		return
	}
	raise(&e.Worst, off(c))
	if c.Verdict == results.Resolved {
		raise(&e.WorstResolved, off(c))
	}
	of := c.Estimate
	if of == nil || of.Of != results.OfRatio || !of.Known() || c.Verdict != results.Resolved && c.Verdict != results.Ranked {
		return
	}
	e.Intervals++
	if *of.Lo <= c.PredictedRatio && c.PredictedRatio <= *of.Hi {
		e.Held++
	}
	if *of.Lo-allowance <= c.PredictedRatio && c.PredictedRatio <= *of.Hi+allowance {
		e.HeldNear++
	}
}

func raise(most **float64, x float64) {
	if *most == nil || **most < x {
		*most = &x
	}
}

// A Row is the total of the runs of one condition, or of all runs; or of one case, over the runs
// that measured it.
type Row struct {
	Condition Condition `json:"condition"`
	Case      string    `json:"case,omitempty"`
	Mode      string    `json:"mode,omitempty"`
	Predicted float64   `json:"predicted_ratio,omitempty"`
	Runs      int       `json:"runs"`
	Answered  int       `json:"answered"`
	Resolved  int       `json:"resolved"` // number of cases
	MedianSec float64   `json:"median_s"`
	MaxSec    float64   `json:"max_s"`
	Errors
	Ratio    *results.Stat `json:"ratio_to_control,omitempty"` // of a case, over runs
	Slices   int           `json:"slices"`
	Rejected int           `json:"rejected_slices"`
	Stopped  float64       `json:"stopped_share"` // of the time of its runs
}

// all is the name of the row of all runs.
const all Condition = "all"

// newRow counts the runs of a condition, or of all; with a name only that case.
func newRow(c Condition, name string, runs []Run) Row {
	row := Row{Condition: c, Case: name}
	var times, ratios []float64
	stopped, sum := 0.0, 0.0
	for _, r := range runs {
		cases := r.Cases
		if name != "" {
			cases = slices.DeleteFunc(slices.Clone(cases), func(x results.Case) bool { return x.Name != name || x.RatioToControl == 0 })
		}
		if c != all && r.Condition != c || name != "" && len(cases) == 0 {
			continue
		}
		row.Runs++
		if r.Answered {
			row.Answered++
		}
		times = append(times, r.Seconds)
		sum, stopped = sum+r.Seconds, stopped+r.StoppedSec
		for _, x := range cases {
			row.add(x)
			if x.Verdict == results.Resolved {
				row.Resolved++
			}
			row.Slices += x.Rounds + x.Rejected
			row.Rejected += x.Rejected
			if name != "" {
				row.Mode, row.Predicted, ratios = x.Mode.Short(), x.PredictedRatio, append(ratios, x.RatioToControl)
			}
		}
	}
	stat := results.NewStat(times)
	row.MedianSec, row.MaxSec = stat.Median, stat.Max
	if sum > 0 {
		row.Stopped = stopped / sum
	}
	if len(ratios) > 0 {
		row.Ratio = new(results.NewStat(ratios))
	}
	return row
}

// caseRows returns a row for each case of a condition but the control, in the order of the run.
func caseRows(c Condition, runs []Run) (rows []Row) {
	var names []string
	for _, r := range runs {
		for _, x := range r.Cases {
			if r.Condition == c && !x.Control && x.RatioToControl != 0 && !slices.Contains(names, x.Name) {
				names = append(names, x.Name)
				rows = append(rows, newRow(c, x.Name, runs))
			}
		}
	}
	return rows
}

type Tally struct {
	Passed   bool     `json:"passed"`
	Failures []string `json:"failures"` // why it has not passed
	Rows     []Row    `json:"conditions"`
	All      Row      `json:"all"`
	Cases    []Row    `json:"cases"`
	Runs     []Run    `json:"runs"`
}

// New counts runs. Conditions without a run have no row.
func New(runs []Run) Tally {
	t := Tally{Failures: []string{}, Rows: []Row{}, Cases: []Row{}, Runs: runs, All: newRow(all, "", runs)}
	for _, c := range Conditions() {
		if row := newRow(c, "", runs); row.Runs > 0 {
			t.Rows = append(t.Rows, row)
			t.Cases = append(t.Cases, caseRows(c, runs)...)
		}
	}
	for _, r := range runs {
		t.Failures = append(t.Failures, r.failures()...)
	}
	t.Passed = len(runs) > 0 && len(t.Failures) == 0
	return t
}

// failures are the reasons why a run is not answered, and its resolved ratios far from their
// predictions.
func (r Run) failures() []string {
	var out []string
	add := func(what string) { out = append(out, fmt.Sprintf("%s, run %d: %s", r.Condition, r.Number, what)) }
	for _, why := range r.Reasons {
		add(why)
	}
	for _, c := range r.Cases {
		if judged(c) && c.Verdict == results.Resolved && off(c) > maxPoints {
			add(fmt.Sprintf("%s is resolved at %.3f, %.1f points from its prediction of %.3f", c.Name, c.RatioToControl, off(c), c.PredictedRatio))
		}
	}
	return out
}

const legend = `
s: how long a run took. worst: points between the ratio of a synchronised case
and its prediction; resolved: the same of resolved cases. coverage: how many 95 %
intervals of resolved and ordered synchronised cases hold the prediction, which
is of the links alone; ±1: with a point of allowance. rejected: slices, of all.
`

// Print prints the table, with rows for each case if requested, and the verdict.
func (t Tally) Print(w io.Writer, cases bool) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "condition\tanswered\tmedian s\tmax s\tworst\tresolved\tcoverage\t±1\trejected\t")
	rows := t.Rows
	if len(rows) > 1 {
		rows = append(rows[:len(rows):len(rows)], t.All)
	}
	for _, r := range rows {
		fmt.Fprintf(tw, "%s\t%d of %d\t%.0f\t%.0f\t%s\t%s\t%s\t%d/%d\t\n", r.Condition, r.Answered, r.Runs, r.MedianSec, r.MaxSec,
			points(r.Worst), points(r.WorstResolved), r.coverage(), r.Rejected, r.Slices)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if cases {
		if err := t.printCases(w); err != nil {
			return err
		}
	}
	fmt.Fprint(w, legend)
	for _, r := range t.Rows {
		if r.Condition.Freezes() {
			fmt.Fprintf(w, "%s: stopped for %.0f %% of the time.\n", r.Condition, 100*r.Stopped)
		}
	}
	for _, why := range t.Failures {
		fmt.Fprintf(w, "FAILED: %s\n", brief(why))
	}
	_, err := fmt.Fprintln(w, t.verdict())
	return err
}

func (t Tally) printCases(w io.Writer) error {
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "condition\tcase\tpredicted\tmeasured\tresolved in\tworst\tcoverage\t±1\trejected\t")
	for _, r := range t.Cases {
		predicted := "–"
		if r.Predicted > 0 {
			predicted = fmt.Sprintf("%.3f", r.Predicted)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.3f–%.3f\t%d of %d\t%s\t%s\t%d/%d\t\n", r.Condition, r.Case, predicted,
			r.Ratio.Min, r.Ratio.Max, r.Resolved, r.Runs, points(r.Worst), r.coverage(), r.Rejected, r.Slices)
	}
	return tw.Flush()
}

func (e Errors) coverage() string {
	return share(e.Held, e.Intervals) + "	" + share(e.HeldNear, e.Intervals)
}

// brief shortens a long reason: the JSON document has all of it.
func brief(why string) string {
	const most = 200
	if r := []rune(why); len(r) > most {
		return string(r[:most]) + " …"
	}
	return why
}

func points(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f", *x)
}

func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d", n, of)
}

func (t Tally) verdict() string {
	text := fmt.Sprintf("%d of %d runs answered", t.All.Answered, t.All.Runs)
	if t.All.WorstResolved == nil {
		return text + "; no synchronised case is resolved."
	}
	return text + fmt.Sprintf("; the worst resolved ratio is %.1f points from its prediction, allowed are %g.", *t.All.WorstResolved, maxPoints)
}
