package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evbench/failover"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results"
	"evbench/study/failures"
	"evbench/topology"
)

type change struct {
	at   time.Duration // since the log begins
	link topology.Link
	up   bool
}

// A Log is the history of the links of a tree.
type Log struct {
	From     time.Time
	Span     time.Duration
	changes  []change // in order of time
	Failures int      // that it holds
	Skipped  int      // not links of the tree, or without a known begin and end
}

// FromFailures makes a log of failures. A failure that still lasts where the log ends counts until
// then. Failures without a known begin or end, and links outside the tree, are left out and
// counted.
func FromFailures(t *topology.Live, h *failures.History, fs []failures.Failure) Log {
	l := Log{From: h.From, Span: h.To.Sub(h.From)}
	for _, f := range fs {
		links, err := t.Links(h.Links[f.Link].Name)
		if err != nil || len(links) != 1 || !f.Known() && !f.Open {
			l.Skipped++
			continue
		}
		l.Failures++
		l.changes = append(l.changes,
			change{f.Down.Sub(h.From), links[0], false}, change{f.Up.Sub(h.From), links[0], true})
	}
	slices.SortStableFunc(l.changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return l
}

// counted says how many failures the log has, and how many of them are left out.
func (l Log) counted() string {
	text := show.Plural(l.Failures+l.Skipped, "failure", "failures")
	if l.Skipped > 0 {
		text += fmt.Sprintf(" (%d left out)", l.Skipped)
	}
	return text
}

// Moments counts the times at which something changes.
func (l Log) Moments() int {
	n := 0
	for i, c := range l.changes {
		if i == 0 || c.at > l.changes[i-1].at {
			n++
		}
	}
	return n
}

// Instant is a policy's timeline over a log if everything took no time: plan and tables always fit
// the dead links, and only servers without a path to each other wait.
func Instant(p failover.Policy, l Log, t *topology.Tree) (*Timeline, error) {
	s := &Timeline{Policy: p}
	down, begun, state := counts{}, time.Duration(0), State{}
	for i, c := range l.changes {
		if c.at >= l.Span {
			break
		}
		if c.at > begun {
			s.Intervals = append(s.Intervals, Interval{begun, c.at - begun, state})
			begun = c.at
		}
		down.change(c)
		if i+1 < len(l.changes) && l.changes[i+1].at == c.at {
			continue
		}
		alive, err := t.Without(down.links()...)
		if err != nil {
			return nil, err
		}
		dead := deadOf(down.links())
		state = State{stopped: alive.Connected() != nil, plan: dead, tables: dead}
	}
	if l.Span > begun {
		s.Intervals = append(s.Intervals, Interval{begun, l.Span - begun, state})
	}
	return s, nil
}

type worst struct {
	link     topology.Link
	failures int
	down     time.Duration // in all
}

// worst returns the link that failed most often; among equals the one that was down longest, then
// the first. ok is false if none failed.
func (l Log) worst() (w worst, ok bool) {
	all := map[topology.Link]worst{}
	since := map[topology.Link]time.Duration{}
	for _, c := range l.changes {
		of := all[c.link]
		if of.link = c.link; c.up {
			of.down += c.at - since[c.link]
		} else {
			of.failures++
			since[c.link] = c.at
		}
		all[c.link] = of
	}
	for _, of := range all {
		if !ok || cmp.Or(cmp.Compare(w.failures, of.failures), cmp.Compare(w.down, of.down), topology.Link.Compare(of.link, w.link)) < 0 {
			w, ok = of, true
		}
	}
	return w, ok
}

// counts holds how many failures of a link last now, without links that have none.
type counts map[topology.Link]int

func (n counts) change(c change) bool {
	if !c.up {
		n[c.link]++
		return n[c.link] == 1
	}
	if n[c.link]--; n[c.link] <= 0 {
		delete(n, c.link)
		return true
	}
	return false
}

func (n counts) links() []topology.Link {
	return slices.SortedFunc(maps.Keys(n), topology.Link.Compare)
}

// Times are the durations of the machine's actions.
type Times struct {
	Seen     time.Duration // from the change of a link to its event
	Debounce time.Duration // planning waits for more events
	Aid      time.Duration // to lead the tables around dead links
	Plan     time.Duration // to make a plan
	Verify   time.Duration // to judge it
	Install  time.Duration // to put its routes in place and read them back
	Update   time.Duration // until all workers have it
	Clean    time.Duration // to take the old routes away
	Exchange time.Duration // one exchange; 0: as long as one takes when nothing is dead
	// retransmit is how long TCP waits before it first resends lost data.
	retransmit time.Duration
}

const ms = time.Millisecond

// Stated are the required times of evbench in its lab: first aid 2 ms after the event, all workers
// on the new plan 20 ms after it and the exchange under way. The retransmission is the least that
// Linux waits.
func Stated() Times {
	return Times{
		Debounce: ms, Aid: 2 * ms, Plan: 14 * ms, Verify: ms, Install: 2 * ms, Update: 2 * ms, Clean: 5 * ms, retransmit: 200 * ms,
	}
}

// StatedSource is the source of Stated.
const StatedSource = "the figures evbench is held to in its lab: first aid 2 ms, all workers on the new plan 20 ms"

// Thesis are the same with the 1.5 s that LHCb's subnet manager needs for new routes (thesis
// 4.1.2), for first aid as for a plan.
func Thesis() Times {
	t := Stated()
	t.Aid, t.Install, t.Clean = 1500*ms, 1500*ms, 1500*ms
	return t
}

type timeField struct {
	name string
	at   *time.Duration
}

func (t *Times) fields() []timeField {
	return []timeField{
		{"seen", &t.Seen}, {"debounce", &t.Debounce}, {"aid", &t.Aid}, {"plan", &t.Plan}, {"verify", &t.Verify},
		{"install", &t.Install}, {"update", &t.Update}, {"clean", &t.Clean}, {"exchange", &t.Exchange}, {"retransmit", &t.retransmit},
	}
}

// set sets a time by its name: seen, debounce, aid, plan, verify, install, update, clean,
// exchange, retransmit.
func (t *Times) set(name, value string) error {
	names := lists.Map(t.fields(), func(f timeField) string { return f.name })
	i := slices.Index(names, name)
	if i < 0 {
		return fmt.Errorf("no time is called %q; there are %s", name, strings.Join(names, ", "))
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 || d > time.Hour {
		return fmt.Errorf("%s=%s: must be a time from 0s to 1h, such as 2ms", name, value)
	}
	*t.fields()[i].at = d
	return nil
}

// String lists the times, in the form of set.
func (t Times) String() string {
	return strings.Join(lists.Map(t.fields(), func(f timeField) string { return f.name + "=" + f.at.String() }), " ")
}

// ParseTimes reads times from a user: lab or thesis first, if first is set, then NAME=D, separated
// by commas. Other times stay as they are. source names the source of the times, before and after.
func ParseTimes(text string, times Times, source string, first bool) (Times, string, error) {
	for i, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok && i == 0 && first && name == "lab":
		case !ok && i == 0 && first && name == "thesis":
			times, source = Thesis(), "the lab, but LHCb's subnet manager takes 1.5 s for routes (thesis 4.1.2)"
		case !ok:
			return times, "", fmt.Errorf("%q: write lab or thesis first, or NAME=D, such as aid=2ms", part)
		default:
			if err := times.set(name, value); err != nil {
				return times, "", err
			}
			source = strings.TrimSuffix(source, "; --times on top") + "; --times on top"
		}
	}
	return times, source, nil
}

// Measured replaces the times by medians of a run, and returns the number of changes behind them.
// An exchange depends on the network and is not replaced.
func (t *Times) Measured(run *results.Run) int {
	n := 0
	took := map[*time.Duration][]float64{}
	add := func(to *time.Duration, from, until *float64) {
		if from != nil && until != nil && *until >= *from {
			took[to] = append(took[to], *until-*from)
		}
	}
	for _, f := range run.Summary.Failovers() {
		if f.SeenSec == nil || f.Superseded {
			continue
		}
		n++
		add(&t.Seen, f.SetSec, f.SeenSec)
		add(&t.Aid, f.SeenSec, f.AidedSec)
		add(&t.Plan, f.SeenSec, f.PlannedSec)
		add(&t.Verify, f.PlannedSec, f.VerifiedSec)
		add(&t.Install, f.VerifiedSec, f.InstalledSec)
		add(&t.Update, f.InstalledSec, f.UpdatedSec)
		add(&t.Clean, f.FirstNewSec, f.CleanedSec)
	}
	for to, sec := range took {
		*to = time.Duration(results.Middle(sec) * float64(time.Second))
	}
	if len(took[&t.Plan]) > 0 {
		t.Debounce = 0 // it is in the time until the plan is there
	}
	return n
}
