package failures

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
)

// A mark is a figure stated in the text of thesis §4.1, for the links between leaves and spines of
// one network of 360 servers in March and April 2024.
type mark struct {
	what      string
	published string
	of        func(g Group) string
}

// marks are the figures of the text of §4.1. There each port counts on its own.
// The text says "nearly 70 %" are flaps: 1778 of 2605, of which 549 were tests;
// of the 2056 real failures it is 86 %.
var marks = []mark{
	{"failures, as logged", "2056", func(g Group) string { return strconv.Itoa(g.Raw.Failures) }},
	{"… of them flaps", "1778 (86 %)", func(g Group) string { return fmt.Sprintf("%d (%s)", g.Flaps, show.Percent(g.FlapShare)) }},
	{"… isolated", "278", func(g Group) string { return strconv.Itoa(g.Isolated) }},
	{"flapping periods", "287", func(g Group) string { return strconv.Itoa(g.Periods) }},
	{"failures, flaps merged", "565", func(g Group) string { return strconv.Itoa(g.Merged.Failures) }},
	{"flap interval < 10 min", "90 %", func(g Group) string { return share(g.Intervals, 600) }},
	{"duration < 10 s", "33 %", func(g Group) string { return share(g.Raw.Durations, 10) }},
	{"duration < 1 min", "88 %", func(g Group) string { return share(g.Raw.Durations, 60) }},
	{"duration < 10 min", "97 %", func(g Group) string { return share(g.Raw.Durations, 600) }},
	{"longest", "about 3 days", func(g Group) string { return g.Raw.known(g.Raw.LongestS) }},
	{"merged: duration < 1 min", "24 %", func(g Group) string { return share(g.Merged.Durations, 60) }},
	{"merged: duration < 10 min", "60 %", func(g Group) string { return share(g.Merged.Durations, 600) }},
	{"links that failed", "150", func(g Group) string { return strconv.Itoa(g.Links) }},
	{"days without failure", "28 of 61", func(g Group) string { return fmt.Sprintf("%d of %d", g.QuietDays, g.AllDays) }},
	{"… in a row, at most", "6", func(g Group) string { return strconv.Itoa(g.LongestQuiet) }},
	{"failures of a link on a day, at most", "more than 200", func(g Group) string { return strconv.Itoa(g.worstDay()) }},
}

func share(c CDF, x float64) string {
	if len(c) == 0 {
		return "–"
	}
	return show.Percent(c.Below(x))
}

func (g Group) worstDay() int {
	return lists.MaxOf(g.Days, func(d DayCount) int { return d.Failures })
}

func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case s >= 2*86400:
		return fmt.Sprintf("%.1f days", s/86400)
	case s >= 60:
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// known writes a time that only failures with a duration give.
func (s Series) known(x float64) string {
	if s.Known == 0 {
		return "–"
	}
	return seconds(x)
}

func (r Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s to %s, %s observed\n", r.From.Format(time.DateTime), r.To.Format(time.DateTime), seconds(r.ObservedS))
	if !r.Mapped {
		fmt.Fprintln(t, "no cable map: each port counts as a link, a cable that both its ends report counts twice")
	}
	if r.Excluded > 0 {
		fmt.Fprintf(t, "%d failures began in excluded periods and are left out\n", r.Excluded)
	}
	for i, g := range r.Groups {
		if g.Raw.Failures == 0 {
			fmt.Fprintf(t, "\n%s links\n  no failures of the %d links in this time\n", g.Class, g.Observed)
			continue
		}
		fmt.Fprintf(t, "\n%s links\t", g.Class)
		if i == 0 {
			fmt.Fprint(t, "here\tthesis 4.1")
		}
		fmt.Fprintln(t)
		g.writeText(t, i == 0)
	}
	if len(r.Groups) == 0 {
		fmt.Fprintln(t, "\nno failures in this time")
	}
	r.Losses.writeText(t)
	return t.Flush()
}

func (g Group) writeText(t io.Writer, published bool) {
	for _, m := range marks {
		if published {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", m.what, m.of(g), m.published)
		} else {
			fmt.Fprintf(t, "  %s\t%s\n", m.what, m.of(g))
		}
	}
	for _, s := range []struct {
		name string
		Series
	}{{"as logged", g.Raw}, {"merged", g.Merged}} {
		fmt.Fprintf(t, "  %s: with a known duration\t%d\n", s.name, s.Known)
		fmt.Fprintf(t, "  %s: MTTR\t%s\n", s.name, s.known(s.MTTRS))
		fmt.Fprintf(t, "  %s: MTBF of a link\t%s\n", s.name, seconds(s.MTBFS))
		fmt.Fprintf(t, "  %s: a failure every\t%s\n", s.name, seconds(s.EveryS))
		fmt.Fprintf(t, "  %s: down at once, at most\t%d\n", s.name, s.MostDown)
		for _, x := range s.Together {
			if x.Share < 0.0005 {
				continue // the messages of a switch that dies come one after the other
			}
			fmt.Fprintf(t, "    %d links down\t%s\t%s of the time\n", x.Links, seconds(x.Seconds), show.Percent(x.Share))
		}
	}
	g.writeDays(t)
}

func (g Group) writeDays(w io.Writer) {
	var days []string
	count := map[DayCount]int{}
	for _, d := range g.Days { // in order of days
		if len(days) == 0 || days[len(days)-1] != d.Day {
			days = append(days, d.Day)
		}
		count[DayCount{Day: d.Day, Link: d.Link}] = d.Failures
	}
	width := lists.MaxOf(g.Failed, func(l FailedLink) int { return len(l.Name) })
	fmt.Fprintf(w, "  failures of each link by day\n  %5s %-*s", "", width, "")
	for _, d := range days {
		fmt.Fprintf(w, " %s", d[len("2024-"):])
	}
	for _, l := range g.Failed {
		fmt.Fprintf(w, "\n  %5d %-*s", l.ID, width, l.Name)
		for _, d := range days {
			cell := "."
			if n := count[DayCount{Day: d, Link: l.ID}]; n > 0 {
				cell = strconv.Itoa(n)
			}
			fmt.Fprintf(w, " %5s", cell)
		}
	}
	fmt.Fprintln(w)
}

// counted writes each nonzero count with its text: "3 ups lost".
func counted(rows []count) (lines []string) {
	for _, r := range rows {
		if r.n > 0 {
			lines = append(lines, fmt.Sprintf("%d %s", r.n, r.what))
		}
	}
	return lines
}

type count struct {
	n    int
	what string
}

func (l Losses) writeText(t io.Writer) {
	lines := counted([]count{
		{l.Cut, "lines cut short, skipped"},
		{l.Duplicate, "events that two logs hold, counted once"},
		{l.ClockSteps, "times the clock was set back"},
		{l.Vague, "events at a time that is not known, therefore: they count, but give no duration"},
		{l.Rollovers, "turns of the year"},
		{l.LostUps, "ups lost (two downs in a row): the failure counts, its duration does not"},
		{l.LostDowns, "downs lost (an up alone): a failure without a duration"},
		{l.OneEnd, "failures that one end of the cable only reported"},
		{l.DownAtStart, "links down before the log begins, not counted"},
		{l.OpenAtEnd, "links down where the log ends: they count, but give no duration"},
		{l.Inferred, "events inferred, as upstream OpenSM names no port that comes up"},
		{l.Unresolved, "notices of switches that name no port; run opensm with -D 0x47, and give the cables"},
		{l.UnknownPorts, "ports that the cable map does not have: links of their own, unclassified"},
	})
	if len(lines) > 0 {
		fmt.Fprintf(t, "\nwhat the logs lack\n  %s\n", strings.Join(lines, "\n  "))
	}
}

func (r Report) Table() *answer.Table {
	t := answer.Plain("class", "table", "series", "link", "x", "value")
	t.Add("", "summary", "", "", "observed_s", r.ObservedS)
	t.Add("", "summary", "", "", "failures_excluded", float64(r.Excluded))
	for _, g := range r.Groups {
		g.rows(func(table, series, link, x string, v float64) { t.Add(g.Class, table, series, link, x, v) })
	}
	return t
}

func (g Group) rows(put func(table, series, link, x string, v float64)) {
	for _, v := range []struct {
		name  string
		value int
	}{
		{"links_failed", g.Links}, {"links_observed", g.Observed}, {"flaps", g.Flaps}, {"flapping_periods", g.Periods},
		{"isolated", g.Isolated}, {"days", g.AllDays}, {"days_without_failure", g.QuietDays},
		{"most_consecutive_days_without_failure", g.LongestQuiet},
	} {
		put("summary", "", "", v.name, float64(v.value))
	}
	g.Raw.rows("raw", put)
	g.Merged.rows("merged", put)
	for _, p := range g.Intervals {
		put("flap_interval_cdf", "raw", "", number(p.X), p.Share)
	}
	for _, d := range g.Days {
		put("link_day", "raw", d.Name, d.Day, float64(d.Failures))
	}
}

func (s Series) rows(name string, put func(table, series, link, x string, v float64)) {
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"failures", float64(s.Failures)}, {"with_duration", float64(s.Known)}, {"median_s", s.MedianS}, {"longest_s", s.LongestS},
		{"down_s", s.DownS}, {"mttr_s", s.MTTRS}, {"mtbf_link_s", s.MTBFS}, {"mtbf_network_s", s.EveryS}, {"most_down", float64(s.MostDown)},
	} {
		put("summary", name, "", v.name, v.value)
	}
	for _, p := range s.Durations {
		put("duration_cdf", name, "", number(p.X), p.Share)
	}
	for _, x := range s.Together {
		put("simultaneous", name, "", strconv.Itoa(x.Links), x.Seconds)
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
