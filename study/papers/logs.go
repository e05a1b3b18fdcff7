package papers

import (
	"errors"
	"fmt"
	"strings"

	examples "evbench/scenarios"
	"evbench/study/failures"
	"evbench/topology"
)

type logged struct {
	history *failures.History
	report  failures.Report
	group   failures.Group
	source  string
}

const shippedNote = "scenarios/failures-lhcb.log, drawn with counts of thesis 4.1, not LHCb's log: put in are how many failures and flaps there are, " +
	"how long, and those of the worst link and day; counted are periods, what merging does, links, and days without failures"

// Cables returns the cables of FT(2;20,18) by the names and GUIDs that evbench
// gives its switches: what a log is read with unless it comes with a map of its own.
func Cables() (*failures.Cables, error) {
	t, err := topology.New(lhcb())
	if err != nil {
		return nil, err
	}
	return failures.TreeCables(t)
}

func (o *Options) openLog() *logged {
	l := &logged{history: o.Log, source: "the given log"}
	if l.history == nil {
		log := must(failures.Read(strings.NewReader(examples.FailuresLHCb), "failures-lhcb.log"))
		l.history = must(failures.Join([]*failures.Log{log}, failures.Options{Cables: must(Cables())}))
		l.source = shippedNote
	}
	l.report = failures.Summarise(l.history, failures.Settings{Merge: o.Merge, Exclude: o.Exclude})
	for i, g := range l.report.Groups {
		if i == 0 || g.Class == failures.Fabric {
			l.group = g
		}
	}
	if len(l.report.Groups) == 0 {
		check(errors.New("the log has no failure"))
	}
	return l
}

func (l *logged) setup() []string {
	unit := "each port by itself"
	if l.report.Mapped {
		unit = "each cable once"
	}
	return []string{
		l.source,
		fmt.Sprintf("%s to %s; links: %s, %s", l.report.From.Format("2006-01-02"), l.report.To.Format("2006-01-02"), l.group.Class, unit),
	}
}

var marks = []struct {
	seconds float64
	label   string
}{{10, "10 s"}, {60, "1 min"}, {600, "10 min"}, {3600, "1 h"}, {86400, "1 day"}}

// distribution adds the shares below the marks, and all points as detail.
func (f *Figure) distribution(series string, c failures.CDF) {
	if len(c) == 0 {
		f.Setup = append(f.Setup, series+": the log has none")
		return
	}
	for _, m := range marks {
		f.add(series, m.seconds, "< "+m.label, "%", 100*c.Below(m.seconds))
	}
	for _, p := range c {
		f.add(series+", all", p.X, fmt.Sprintf("%g s", p.X), "%", 100*p.Share).Detail = true
	}
}

func flapIntervals(w *work) {
	l := w.openLog()
	w.Setup = append(l.setup(), "intervals from an up to the next down of the same link, of less than a day (the thesis picked flapping periods by hand)")
	w.distribution("interval", l.group.Intervals)
}

func durations(w *work) {
	l := w.openLog()
	g := l.group
	w.Setup = append(l.setup(), fmt.Sprintf("corrected: failures of a link less than %s apart are one", w.Merge))
	w.distribution("as logged", g.Raw.Durations)
	w.distribution("corrected", g.Merged.Durations)
	for _, c := range []struct {
		series, unit string
		value        float64
	}{
		{"failures", "", float64(g.Raw.Failures)}, {"flaps", "", float64(g.Flaps)}, {"flapping periods", "", float64(g.Periods)},
		{"isolated", "", float64(g.Isolated)}, {"share of flaps", "%", 100 * g.FlapShare},
		{"longest", "days", g.Raw.LongestS / 86400},
	} {
		w.add(c.series, 0, "all", c.unit, c.value)
	}
}

func days(w *work) {
	l := w.openLog()
	g := l.group
	w.Setup = append(l.setup(), "details (CSV): failures of each link on each day, links numbered by switch and port")
	most, worst := 0, ""
	for _, d := range g.Days {
		w.add(d.Name, float64(d.Link), d.Day, "failures", float64(d.Failures)).Detail = true
		if d.Failures > most {
			most, worst = d.Failures, d.Day
		}
	}
	w.add("links that failed", 0, "all", "", float64(g.Links))
	w.add("days without failures", 0, "all", "days", float64(g.QuietDays))
	w.add("consecutive days without failures, at most", 0, "all", "days", float64(g.LongestQuiet))
	w.add("failures of a link on a day, at most", 0, worst, "", float64(most))
}
