package papers

import (
	"context"
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

func shipped() (*failures.History, error) {
	log, err := failures.Read(strings.NewReader(examples.FailuresLHCb), "failures-lhcb.log")
	if err != nil {
		return nil, err
	}
	cables, err := Cables()
	if err != nil {
		return nil, err
	}
	return failures.Join([]*failures.Log{log}, failures.Options{Cables: cables})
}

func (o *Options) openLog() (*logged, error) {
	l := &logged{history: o.Log, source: "the given log"}
	if l.history == nil {
		var err error
		if l.history, err = shipped(); err != nil {
			return nil, err
		}
		l.source = shippedNote
	}
	l.report = failures.Summarise(l.history, failures.Settings{Merge: o.Merge, Exclude: o.Exclude})
	for i, g := range l.report.Groups {
		if i == 0 || g.Class == failures.Fabric {
			l.group = g
		}
	}
	if len(l.report.Groups) == 0 {
		return nil, fmt.Errorf("the log has no failure")
	}
	return l, nil
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

// ofLog makes a figure of a log.
func ofLog(fill func(*Figure, *logged, *Options)) func(context.Context, *Options, *Figure) error {
	return func(_ context.Context, o *Options, f *Figure) error {
		l, err := o.openLog()
		if err == nil {
			fill(f, l, o)
		}
		return err
	}
}

func flapIntervals(f *Figure, l *logged, o *Options) {
	f.Setup = append(l.setup(), "intervals from an up to the next down of the same link, of less than a day (the thesis picked flapping periods by hand)")
	f.distribution("interval", l.group.Intervals)
}

func durations(f *Figure, l *logged, o *Options) {
	g := l.group
	f.Setup = append(l.setup(), fmt.Sprintf("corrected: failures of a link less than %s apart are one", o.Merge))
	f.distribution("as logged", g.Raw.Durations)
	f.distribution("corrected", g.Merged.Durations)
	for _, c := range []struct {
		series, unit string
		value        float64
	}{
		{"failures", "", float64(g.Raw.Failures)}, {"flaps", "", float64(g.Flaps)}, {"flapping periods", "", float64(g.Periods)},
		{"isolated", "", float64(g.Isolated)}, {"share of flaps", "%", 100 * g.FlapShare},
		{"longest", "days", g.Raw.LongestS / 86400},
	} {
		f.add(c.series, 0, "all", c.unit, c.value)
	}
}

func days(f *Figure, l *logged, o *Options) {
	g := l.group
	f.Setup = append(l.setup(), "details (CSV): failures of each link on each day, links numbered by switch and port")
	most, worst := 0, ""
	for _, d := range g.Days {
		f.add(d.Name, float64(d.Link), d.Day, "failures", float64(d.Failures)).Detail = true
		if d.Failures > most {
			most, worst = d.Failures, d.Day
		}
	}
	f.add("links that failed", 0, "all", "", float64(g.Links))
	f.add("days without failures", 0, "all", "days", float64(g.QuietDays))
	f.add("consecutive days without failures, at most", 0, "all", "days", float64(g.LongestQuiet))
	f.add("failures of a link on a day, at most", 0, worst, "", float64(most))
}
