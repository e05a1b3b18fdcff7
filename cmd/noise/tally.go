package main

import (
	"fmt"
	"slices"

	"evbench/results"
)

// maxPoints is how far a resolved ratio of a synchronised case may be from its prediction.
const maxPoints = 100 * results.Tolerance

// allowance is by how much an interval may miss the prediction and still count as near it:
// predictions are of the links alone, and know nothing of barriers and gaps between phases.
const allowance = 0.01

// Errors say how the ratios of some cases compare with their predictions. Pointers are nil
// where there is no such case.
type Errors struct {
	Worst         *float64 `json:"worst_points"`
	WorstResolved *float64 `json:"worst_resolved_points"`
	Intervals     int      `json:"intervals"`           // of cases that are resolved or ordered
	Held          int      `json:"held"`                // intervals that hold the prediction
	HeldNear      int      `json:"held_within_1_point"` // the same with an allowance of a point at either end
}

func (e *Errors) add(c Case) {
	if !c.judged() {
		return
	}
	raise(&e.Worst, c.points())
	if c.Verdict == results.Resolved {
		raise(&e.WorstResolved, c.points())
	}
	if c.Lo == nil || c.Hi == nil || c.Verdict != results.Resolved && c.Verdict != results.Ordered {
		return
	}
	e.Intervals++
	if *c.Lo <= c.Predicted && c.Predicted <= *c.Hi {
		e.Held++
	}
	if *c.Lo-allowance <= c.Predicted && c.Predicted <= *c.Hi+allowance {
		e.HeldNear++
	}
}

func raise(most **float64, x float64) {
	if *most == nil || **most < x {
		*most = &x
	}
}

// A Row is what the runs of one condition came to, or all runs.
type Row struct {
	Condition Condition `json:"condition"`
	Runs      int       `json:"runs"`
	Answered  int       `json:"answered"`
	MedianSec float64   `json:"median_s"`
	MaxSec    float64   `json:"max_s"`
	Errors
	Slices   int     `json:"slices"`
	Rejected int     `json:"rejected_slices"`
	Stopped  float64 `json:"stopped_share"` // of the time of its runs
}

// all names the row of all runs.
const all Condition = "all"

func newRow(c Condition, runs []Run) Row {
	row := Row{Condition: c}
	var times []float64
	stopped, sum := 0.0, 0.0
	for _, r := range runs {
		if c != all && r.Condition != c {
			continue
		}
		row.Runs++
		if r.Answered {
			row.Answered++
		}
		times = append(times, r.Seconds)
		sum, stopped = sum+r.Seconds, stopped+r.StoppedSec
		for _, x := range r.Cases {
			row.add(x)
			row.Slices += x.Rounds + x.Rejected
			row.Rejected += x.Rejected
		}
	}
	stat := results.NewStat(times)
	row.MedianSec, row.MaxSec = stat.Median, stat.Max
	if sum > 0 {
		row.Stopped = stopped / sum
	}
	return row
}

// A CaseRow is what one case came to in the runs of one condition.
type CaseRow struct {
	Condition Condition    `json:"condition"`
	Case      string       `json:"case"`
	Mode      string       `json:"mode"`
	Predicted float64      `json:"predicted_ratio"`
	Ratio     results.Stat `json:"ratio_to_control"` // over runs
	Runs      int          `json:"runs"`             // in which it was measured
	Resolved  int          `json:"resolved"`
	Errors
	Slices   int `json:"slices"`
	Rejected int `json:"rejected_slices"`
}

// caseRows returns a row for each case of a condition but the control, in the order of the run.
func caseRows(c Condition, runs []Run) []CaseRow {
	var rows []CaseRow
	ratios := map[string][]float64{}
	for _, r := range runs {
		if r.Condition != c {
			continue
		}
		for _, x := range r.Cases {
			if x.Control || x.Ratio == 0 {
				continue
			}
			i := slices.IndexFunc(rows, func(row CaseRow) bool { return row.Case == x.Name })
			if i < 0 {
				i = len(rows)
				rows = append(rows, CaseRow{Condition: c, Case: x.Name, Mode: x.Mode, Predicted: x.Predicted})
			}
			rows[i].count(x)
			ratios[x.Name] = append(ratios[x.Name], x.Ratio)
		}
	}
	for i := range rows {
		rows[i].Ratio = results.NewStat(ratios[rows[i].Case])
	}
	return rows
}

func (row *CaseRow) count(c Case) {
	row.Runs++
	if c.Verdict == results.Resolved {
		row.Resolved++
	}
	row.add(c)
	row.Slices += c.Rounds + c.Rejected
	row.Rejected += c.Rejected
}

type Tally struct {
	Passed   bool      `json:"passed"`
	Failures []string  `json:"failures"` // why it is not passed
	Rows     []Row     `json:"conditions"`
	All      Row       `json:"all"`
	Cases    []CaseRow `json:"cases"`
	Runs     []Run     `json:"runs"`
}

// New counts runs. Conditions without a run have no row.
func New(runs []Run) Tally {
	t := Tally{Failures: []string{}, Rows: []Row{}, Cases: []CaseRow{}, Runs: runs, All: newRow(all, runs)}
	for _, c := range Conditions() {
		if row := newRow(c, runs); row.Runs > 0 {
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

// failures are the reasons why a run is not answered, and its resolved ratios that are far
// from their predictions.
func (r Run) failures() []string {
	var out []string
	add := func(what string) { out = append(out, fmt.Sprintf("%s, run %d: %s", r.Condition, r.Number, what)) }
	for _, why := range r.Reasons {
		add(why)
	}
	for _, c := range r.Cases {
		if c.judged() && c.Verdict == results.Resolved && c.points() > maxPoints {
			add(fmt.Sprintf("%s is resolved at %.3f, %.1f points from its prediction of %.3f", c.Name, c.Ratio, c.points(), c.Predicted))
		}
	}
	return out
}
