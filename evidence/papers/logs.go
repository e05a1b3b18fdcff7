package papers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evbench/failover"
	"evbench/internal/lists"
	"evbench/model/credit"
	"evbench/plan"
	"evbench/results"
	examples "evbench/scenarios"
	"evbench/study/failures"
	"evbench/study/policy"
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

// Cables returns the cables of FT(2;20,18) with the names and GUIDs that evbench gives its
// switches: the default map for reading a log.
func Cables() (*failures.Cables, error) {
	t, err := topology.New(lhcb())
	if err != nil {
		return nil, err
	}
	return failures.TreeCables(t.Shape)
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

type response struct {
	series string
	as     failover.Policy // whose states and rates it has
	held   bool            // a link that flaps stays out until it has been up for long enough
	slow   bool            // left out if quick
	plan   router
	rate   rater
}

var policies = []response{
	{"synchronised, Min-Hop", failover.MinHop, false, false, asToday, synchronised},
	{"non-synchronised", failover.Unsync, false, true, asToday, unsynchronised},
	{"FORS", failover.FORS, false, false, adapted, synchronised},
	{"FORS, flapping link held out", failover.FORS, true, false, adapted, synchronised},
}

func asToday(n *routedTree, t *topology.Tree, _ uint64) *plan.Plan { return n.current(t) }

func adapted(_ *routedTree, t *topology.Tree, seed uint64) *plan.Plan { return fors(t, seed) }

func recommendation(w *work) {
	l := w.openLog()
	n := newRoutedTree(lhcb())
	w.oneFailure(n)
	raw, _ := failures.Pair(l.history)
	raw = failures.Exclude(raw, w.Exclude)
	whole := policy.FromFailures(&n.tree.Live, l.history, raw)
	held := policy.FromFailures(&n.tree.Live, l.history, failures.Merge(raw, w.Merge))
	w.Setup = append(l.setup(),
		"throughput over FT(2;20,18), all ports, times 326; lost against the throughput without failures",
		fmt.Sprintf("re-routing: nothing is built for %g s after each change; of the log %d of %d failures left out (no link of the tree, or no end)", rerouteSec, whole.Skipped, len(raw)),
		fmt.Sprintf("held out: a link that fails again within %s counts as down from the first failure to the end of the last", w.Merge))
	if w.Quick {
		w.Setup = append(w.Setup, "quick: the log without the policy that does not synchronise")
	}
	rates := &policy.Rates{Work: n.policyRate(w.Seed)}
	for i, p := range policies {
		if p.slow && w.Quick {
			continue
		}
		log := whole
		if p.held {
			log = held
		}
		w.tell("%s: %d changes", p.series, log.Moments())
		timeline := must(policy.Instant(p.as, log, n.tree))
		check(rates.Learn(w, timeline))
		lost, rerouting := policy.AddUp(timeline, rates).Lost, float64(log.Moments())*rerouteSec*total(healthyGbit)
		x := float64(i + 1)
		w.add("lost while links were dead", x, p.series, "Tb", lost)
		w.add("lost while re-routing", x, p.series, "Tb", rerouting)
		w.add("lost", x, p.series, "Tb", lost+rerouting)
	}
}

// oneFailure is the computation of thesis 4.4 with our medians of fig4.8, and with packets and
// credits.
func (w *work) oneFailure(n *routedTree) {
	w.tell("one dead link")
	names := []string{"one dead link, synchronised", "one dead link, non-synchronised"}
	var medians [2]float64
	if !w.Quick {
		filled := newRoutedTree(topology.Options{Ports: 20, Leaves: 18, Fill: fillA})
		for i, rate := range []rater{phased(credit.First), unphased(credit.First)} {
			values := filled.rates(w, 1, creditDraws, w.Seed, series{plan: asToday, rate: rate})
			medians[i] = w.add(names[i]+", credit", 0, "total", tbit, lists.Map(values, total)...).Value(Median)
		}
		w.add("one dead link, difference, credit", 0, "total", tbit, medians[1]-medians[0])
	}
	for i, rate := range []rater{synchronised, unsynchronised} {
		values := n.rates(w, 1, w.draws(10, 2), w.Seed, series{plan: asToday, rate: rate})
		slices.Sort(values)
		medians[i] = total(results.Quantile(values, 0.5))
		w.add(names[i], 0, "total", tbit, medians[i])
	}
	difference := medians[1] - medians[0]
	w.add("one dead link, difference", 0, "total", tbit, difference)
	w.add("one dead link, difference over 6.1e5 s", 0, "total", "Tb", difference*6.1e5)
}

// policyRate returns a function for the rates of a policy while links are dead, in bit/s of all
// servers. Plans and tables always fit the dead links.
func (n *routedTree) policyRate(seed uint64) func(context.Context, failover.Policy, policy.Dead, []policy.Dead) ([]float64, error) {
	return func(ctx context.Context, as failover.Policy, _ policy.Dead, avoided []policy.Dead) (out []float64, err error) {
		p := policies[slices.IndexFunc(policies, func(p response) bool { return p.as == as })]
		rate := func(d policy.Dead) float64 {
			return total(p.rate(ctx, p.plan(n, must(d.Without(n.tree)), seed))) * 1e12
		}
		err = caught(func() { out = lists.Map(avoided, rate) })
		return out, err
	}
}
