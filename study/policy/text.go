package policy

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"evbench/internal/show"
)

// WriteText writes the report for people, at most 120 columns wide.
func (r *Report) WriteText(w io.Writer) error {
	out := &strings.Builder{}
	r.head(out)
	r.amounts(out)
	r.oneLink(out)
	_, err := io.WriteString(w, out.String())
	return err
}

func (r *Report) head(w io.Writer) {
	fmt.Fprintf(w, "log: %s to %s, %s, %d failures", r.Log.From.Format(time.DateTime), r.Log.From.Add(r.Log.Span).Format(time.DateTime),
		duration(r.Log.Span.Seconds()), r.Log.Failures)
	if r.Log.Skipped > 0 {
		fmt.Fprintf(w, "\n  left out, no link of the tree or no known begin and end: %d failures", r.Log.Skipped)
	}
	first, second, _ := strings.Cut(r.Times.String(), " clean")
	fmt.Fprintf(w, "\nnetwork: %s\ntimes: %s\n  clean%s\n  from %s\n", r.Setting.describe(), first, second, r.Source)
	fmt.Fprintf(w, "hold of fors+hold: %s\n", r.Hold)
	fmt.Fprintln(w, "a dead link stops all event building until tables lead around it and TCP tries again (retransmit, then twice as long …)")
}

func (r *Report) amounts(w io.Writer) {
	fmt.Fprintf(w, "\nTb of all servers; lost against the same without failures\n")
	r.rows(w, "policy\tbuilt\tlost\tshare\tstanding\tre-routed\tre-planned\tworst hour\tlost\t", func(x *Result) []any {
		worst, lost := "–", "–"
		if x.WorstHourLost > 0 {
			worst = r.Log.From.Add(time.Duration(x.WorstHour) * time.Hour).Format("2006-01-02 15:04")
			lost = amount(x.WorstHourLost)
		}
		return []any{
			amount(x.Built), amount(x.Lost), fmt.Sprintf("%.3f %%", 100*x.lostShare()),
			amount(x.LostStanding), amount(x.LostFirstAid), amount(x.LostReplanned), worst, lost,
		}
	})
	fmt.Fprintf(w, "\ntime in each plan, and links that were up but not used\n")
	r.rows(w, "policy\thealthy\tre-planned\tre-routed\tstanding\tstops\tswitches\tlinks\ttimes\tlink time\tlongest\t", func(x *Result) []any {
		return []any{
			duration(x.HealthySec), duration(x.ReplannedSec), duration(x.FirstAidSec), duration(x.StandingSec),
			x.Stops, x.Switches, x.UnusedLinks, x.UnusedTimes, duration(x.UnusedSec), duration(x.UnusedLongestSec),
		}
	})
}

// rows writes a table with a row for each policy.
func (r *Report) rows(w io.Writer, head string, cells func(*Result) []any) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, head)
	for _, x := range r.Results {
		fmt.Fprintf(t, "%s\t", x.Policy)
		for _, c := range cells(x) {
			fmt.Fprintf(t, "%v\t", c)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func (r *Report) oneLink(w io.Writer) {
	o := r.OneLink
	if o == nil {
		return
	}
	fmt.Fprintf(w, "\none dead link, Tbit/s of all servers: that which failed most often, %s, %d times, %.3g s in all\n", o.Link, o.Failures, o.DownSec)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	difference := o.Unsync - o.Sync
	fmt.Fprintln(t, "\tours\tthesis 4.4")
	for _, x := range []struct {
		what         string
		ours, thesis float64
	}{
		{"healthy", o.Healthy, 0},
		{"in phases, tables by min-hop", o.Sync, thesisSync},
		{"without phases, the same tables", o.Unsync, thesisUnsync},
		{"difference", difference, thesisUnsync - thesisSync},
		{"without phases, tables by spread", o.UnsyncOther, 0},
		{"FORS", o.FORS, 0},
	} {
		thesis := "not stated"
		if x.thesis > 0 {
			thesis = fmt.Sprintf("%.1f", x.thesis)
		}
		fmt.Fprintf(t, "%s\t%.1f\t%s\n", x.what, x.ours, thesis)
	}
	fmt.Fprintf(t, "difference over the time it was down, Tb\t%.2g\t%.2g\n", difference*o.DownSec, thesisLost)
	fmt.Fprintf(t, "lost in phases against healthy in that time, Tb\t%.2g\tnot stated\n", (o.Healthy-o.Sync)*o.DownSec)
	t.Flush()
	fmt.Fprintln(w, `the thesis' 1.1e6 Tb are 1.8 Tbit/s for the 6.1e5 s that one link of LHCb was down (it failed 861 times): what phases
lose against no phases, both measured, not what failures cost. Ours counts all links of this log, against a network
without failures, with what fail-over itself costs; in the model flows do not block each other, so that going without
phases gains more than it did on the testbed.`)
}

// amount writes whole Tb in groups of three digits, and small amounts to a tenth. Less
// than nothing is lost where a policy does better while links are dead.
func amount(tb float64) string {
	switch {
	case tb < -0.05:
		return "-" + amount(-tb)
	case tb < 99.95:
		return fmt.Sprintf("%.1f", max(tb, 0))
	}
	return show.Commas(int(math.RoundToEven(tb)))
}

func duration(sec float64) string {
	switch {
	case sec >= 2*86400:
		return fmt.Sprintf("%.2f d", sec/86400)
	case sec >= 2*3600:
		return fmt.Sprintf("%.2f h", sec/3600)
	case sec >= 120:
		return fmt.Sprintf("%.1f min", sec/60)
	}
	return fmt.Sprintf("%.3g s", sec)
}
