package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"evbench/results"
)

const schema = "evbench/peers/1"

// A document is what --json prints.
type document struct {
	Schema  string    `json:"schema"`
	Machine machine   `json:"machine"`
	Rows    []outcome `json:"rows"`
}

// printTable prints a row for each outcome. Both sides are medians over the
// slots; the ratio is the median of the ratios of paired slots, so it need not
// be that of the medians.
func printTable(w io.Writer, out []outcome) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "work\tn\tsize\tours\ttheirs\t\tratio\t95 % interval\treach\tverdict\tbeside")
	for _, o := range out {
		size := "–"
		if o.Size > 0 {
			size = sizeText(o.Size)
		}
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s\n", o.Work, o.Ranks, size, o.figures(), o.Verdict, cmp.Or(o.Theirs, "–"))
	}
	return tw.Flush()
}

// figures are the columns ours to reach.
func (o *outcome) figures() string {
	reach := "–"
	if o.Want > 0 {
		reach = fmt.Sprintf("%s %.4g", map[bool]string{false: "≥", true: "≤"}[o.AtMost], o.Want)
	}
	if o.LeftOut != "" || o.Failed != "" {
		return fmt.Sprintf("–\t–\t%s\t–\t–\t%s", o.Unit, reach)
	}
	return fmt.Sprintf("%.4g\t%.4g\t%s\t%.3f\t%.3f–%.3f\t%s",
		results.NewStat(o.OurSlots).Median, results.NewStat(o.Slots).Median, o.Unit, o.Median, o.Low, o.High, reach)
}
