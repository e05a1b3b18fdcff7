package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

const legend = `
s: how long a run took. worst: points between the ratio of a synchronised case
and its prediction; resolved: the same of resolved cases. coverage: how many 95 %
intervals of resolved and ordered synchronised cases hold the prediction, which
is of the links alone; ±1: with a point of allowance. rejected: slices, of all.
`

// Print prints the table, with rows for each case where they are asked for, and the verdict.
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

// brief cuts off a reason that is long: the JSON document has all of it.
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
