package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"evbench/results"
)

// report prints each comparison, those out of tolerance only if quiet, and a summary. It
// reports whether nothing is out.
func report(w io.Writer, checks []Check, orders []Order, all []Runs, quiet bool) (passed bool) {
	passed = true
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "quantity\tours\ttheirs\toff\ttolerance\tnoise\tverdict\tcase")
	for i := range checks {
		k := &checks[i]
		passed = passed && !k.Out
		if k.Out || !quiet {
			k.print(t)
		}
	}
	t.Flush()
	for _, o := range orders {
		if o.Out {
			passed = false
			fmt.Fprintf(w, "order of %s: ours %+.1f %%, theirs %+.1f %%: %s against %s\n", o.Of, o.Ours*100, o.Theirs*100, o.A.name(), o.B.name())
		}
	}
	fmt.Fprintln(w)
	summary(w, checks, orders)
	speeds(w, all)
	return passed
}

func (c *Check) print(w io.Writer) {
	verdict := "ok"
	if c.Out {
		verdict = "OUT"
	}
	fmt.Fprintf(w, "%s\t%.5g\t%.5g\t%+.1f %%\t%.2g\t%.2g\t%s\t%s\n", c.Tolerance.Quantity, c.Ours, c.Theirs,
		(c.Ours/c.Theirs-1)*100, c.Allowed(), c.Noise, verdict, c.Case.name())
}

func summary(w io.Writer, checks []Check, orders []Order) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "quantity\tcompared\tout\tby noise only\tmedian off\tmost off\ttolerance")
	for _, of := range tolerances {
		var off []float64
		var out, noise int
		for _, k := range checks {
			if k.Tolerance != of {
				continue
			}
			off = append(off, math.Abs(k.Ours/k.Theirs-1)*100)
			switch {
			case k.Out:
				out++
			case math.Abs(k.Ours-k.Theirs) > k.Allowed():
				noise++
			}
		}
		if len(off) > 0 {
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.1f %%\t%.1f %%\t%s\n", of.Quantity, len(off), out, noise, results.Middle(off), slices.Max(off), of.Source)
		}
	}
	for _, f := range orderFields {
		n, out := 0, 0
		for _, o := range orders {
			if o.Of == f {
				n++
				if o.Out {
					out++
				}
			}
		}
		if n > 0 {
			fmt.Fprintf(t, "order of %s\t%d\t%d\t\t\t\tsame sign where theirs differ by over %g %%\n", f, n, out, orderBy*100)
		}
	}
	t.Flush()
}

// speeds prints the median speed, in flits delivered in a second of processor time, beside
// the stated one, by simulator.
func speeds(w io.Writer, all []Runs) {
	for _, sim := range []string{booksim, omnet} {
		var ours, theirs, ratio []float64
		for i := range all {
			r := &all[i]
			stated, speed := max(r.Case.number("flits_per_cpu_s"), r.Case.number("flits_delivered_per_cpu_s")), r.flits()/r.CPU.Seconds()
			if r.Case["sim"] == sim && stated > 0 && r.CPU > 0 && speed > 0 {
				ours, theirs, ratio = append(ours, speed), append(theirs, stated), append(ratio, speed/stated)
			}
		}
		if len(ours) > 0 {
			fmt.Fprintf(w, "%s: median %.3g flits a second of processor; stated %.3g; pair by pair %.3g times (%.3g to %.3g)\n",
				sim, results.Middle(ours), results.Middle(theirs), results.Middle(ratio), slices.Min(ratio), slices.Max(ratio))
		}
	}
}
