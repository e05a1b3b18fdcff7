package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
)

// results are the columns that say what came out, and ours of them; the others that say
// so are left empty.
var results = map[string]func(r *Runs) float64{
	"accepted":                  func(r *Runs) float64 { return r.Mean.Accepted },
	"accepted_min_host":         func(r *Runs) float64 { return r.Mean.Worst },
	"accepted_MBps":             func(r *Runs) float64 { return r.Mean.Accepted * 5600 },
	"mean_latency":              func(r *Runs) float64 { return r.Mean.Latency },
	"net_latency":               func(r *Runs) float64 { return r.Mean.Network },
	"min_latency":               func(r *Runs) float64 { return r.Mean.Least },
	"mean_hops":                 func(r *Runs) float64 { return r.Mean.Hops },
	"batch_cycles":              func(r *Runs) float64 { return r.Mean.Batch },
	"tail_latency_ns":           func(r *Runs) float64 { return r.Mean.Latency },
	"msg_latency_ns":            func(r *Runs) float64 { return r.Mean.MessageLatency },
	"cpu_s":                     func(r *Runs) float64 { return r.CPU.Seconds() },
	"flits_per_cpu_s":           (*Runs).speed,
	"flits_delivered_per_cpu_s": (*Runs).speed,
	"max_latency":               nil,
	"tail_latency_min_ns":       nil,
	"tail_latency_max_ns":       nil,
	"events":                    nil,
	"rss_MB":                    nil,
}

// speed returns the flits delivered in a second of processor time.
func (r *Runs) speed() float64 { return float64(r.Mean.Flits) / r.CPU.Seconds() }

// stated returns the speed that the referee had, 0 if it says none.
func stated(c Case) float64 {
	return max(c.number("flits_per_cpu_s"), c.number("flits_delivered_per_cpu_s"))
}

// Write writes what ours gives as CSV, in the columns of the referees.
func Write(w io.Writer, columns []string, all []Runs) error {
	out := csv.NewWriter(w)
	out.Write(columns)
	for i := range all {
		row := make([]string, len(columns))
		for k, column := range columns {
			row[k] = all[i].cell(column)
		}
		out.Write(row)
	}
	out.Flush()
	return out.Error()
}

func (r *Runs) cell(column string) string {
	if column == "sim" {
		return "evbench"
	}
	of, result := results[column]
	if !result {
		return r.Case[column]
	}
	batch := r.Case["offered"] == "batch"
	if of == nil || r.Case[column] == "" || batch != (column == "batch_cycles") && column != "cpu_s" && column != "flits_per_cpu_s" {
		return ""
	}
	if v := of(r); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', 7, 64)
	}
	return ""
}

func (c Case) name() string {
	s := fmt.Sprintf("%s %s %s %s", c["case"], c["topology"], c["routing"], c["traffic"])
	if c["sim"] == BookSim {
		return s + fmt.Sprintf(" %s, buffer %s, packet %s, offered %s",
			c["pipeline"], c["buf_flits"], c["packet_flits"], c["offered"])
	}
	return s + fmt.Sprintf(" %s packets, buffer %s, %s reads, offered %s",
		c["msg_packets"], c["buf_flits"], c["max_parallel_reads"], c["offered"])
}

// Print prints each comparison, those out of tolerance only if quiet, and a summary. It
// reports whether nothing is out.
func Print(w io.Writer, checks []Check, orders []Order, all []Runs, quiet bool) (passed bool) {
	passed = true
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "quantity\tours\ttheirs\toff\ttolerance\tnoise\tverdict\tcase")
	for i := range checks {
		k := &checks[i]
		if k.Out {
			passed = false
		}
		if k.Out || !quiet {
			k.print(t)
		}
	}
	t.Flush()
	for _, o := range orders {
		if o.Out {
			passed = false
			fmt.Fprintf(w, "order of %s: ours %+.1f %%, theirs %+.1f %%: %s against %s\n",
				o.Of, o.Ours*100, o.Theirs*100, o.A.name(), o.B.name())
		}
	}
	fmt.Fprintln(w)
	summary(w, checks, orders)
	speeds(w, all)
	return passed
}

func (k *Check) print(w io.Writer) {
	verdict := "ok"
	if k.Out {
		verdict = "OUT"
	}
	fmt.Fprintf(w, "%s\t%.5g\t%.5g\t%+.1f %%\t%.2g\t%.2g\t%s\t%s\n", k.Tolerance.Quantity, k.Ours, k.Theirs,
		(k.Ours/k.Theirs-1)*100, k.Allowed(), k.Noise, verdict, k.Case.name())
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
			slices.Sort(off)
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.1f %%\t%.1f %%\t%s\n",
				of.Quantity, len(off), out, noise, off[len(off)/2], off[len(off)-1], of.Source)
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

// speeds prints the median speed beside the stated one, by simulator.
func speeds(w io.Writer, all []Runs) {
	for _, sim := range []string{BookSim, OMNeT} {
		var ours, theirs, ratio []float64
		for i := range all {
			r := &all[i]
			if s := stated(r.Case); r.Case["sim"] == sim && s > 0 && r.CPU > 0 && r.Mean.Flits > 0 {
				ours, theirs, ratio = append(ours, r.speed()), append(theirs, s), append(ratio, r.speed()/s)
			}
		}
		if len(ours) > 0 {
			fmt.Fprintf(w, "%s: median %.3g flits a second of processor; stated %.3g; pair by pair %.3g times (%.3g to %.3g)\n",
				sim, median(ours), median(theirs), median(ratio), slices.Min(ratio), slices.Max(ratio))
		}
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
