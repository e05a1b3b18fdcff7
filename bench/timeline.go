package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"evbench/controller"
	"evbench/fabric"
	"evbench/failover"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

// settle is how long before and after a timed failure lost packets count as its effect.
const settle = time.Second

// A step is one action at a moment of a case with timed failures.
type step struct {
	at     time.Duration // since the measured part began
	links  []topology.Link
	change bool // links go down or up; otherwise counters are read
	up     bool
	open   bool // reading: starts a window of excused drops, else ends it
}

// steps puts the timed failures of a case in order: for each change of a link a reading of the
// counters before, the change, and a reading after. Overlapping windows are merged.
func steps(timed []scenario.Timed, duration time.Duration) []step {
	return windows(changes(timed, duration), settle)
}

// stepsOf are the steps of one case. If its policy does nothing about dead links, packets to them
// are lost as long as they are dead: that is one window.
func stepsOf(c scenario.Case) []step {
	if policyOf(c) != failover.None {
		return steps(c.Timed, c.Duration)
	}
	all := changes(c.Timed, c.Duration)
	out := windows(all, c.Duration)
	if last := len(all) - 1; last >= 0 && !all[last].up {
		out[len(out)-1].at = c.Duration + settle // the end of the case closes the window
	}
	return out
}

func changes(timed []scenario.Timed, duration time.Duration) []step {
	var out []step
	for _, f := range timed {
		out = append(out, step{at: f.At, links: f.Links, change: true})
		if f.For > 0 && f.At+f.For < duration {
			out = append(out, step{at: f.At + f.For, links: f.Links, change: true, up: true})
		}
	}
	slices.SortStableFunc(out, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return out
}

// windows puts readings settle before and after changes. A change shares the window of the one
// before if its own window would begin at most apart after that change.
func windows(changes []step, apart time.Duration) []step {
	var out []step
	for i, c := range changes {
		if i == 0 || c.at-settle > changes[i-1].at+apart {
			out = append(out, step{at: max(0, c.at-settle), open: true})
		}
		out = append(out, c)
		if i == len(changes)-1 || changes[i+1].at-settle > c.at+apart {
			out = append(out, step{at: c.at + settle})
		}
	}
	return out
}

// A timeline plays the steps of one case on a fabric and records the results.
type timeline struct {
	fabric  fabric.Fabric
	tree    *topology.Tree // which names links
	tell    func(Event)
	start   time.Time
	excused uint64     // drops within a window
	mu      sync.Mutex // guards events during the case
	events  []linkEvent
	missed  []step // changes that were due, but the case ended while an earlier one was made
	series  series
	records []failover.Record // of the reactions
	plan    *plan.Plan        // in use at the end, if it has changed
	waits   string            // dead links that messages wait for at the end, in words
	cut     string            // cables taken down from outside, in words: see blameCables
}

type linkEvent struct {
	links []topology.Link
	up    bool
	set   time.Time
}

// play runs until the last step is done or ctx ends; a final reading closes an open window.
func (l *timeline) play(ctx context.Context, steps []step) error {
	var before uint64
	open := false
	for _, s := range steps {
		timer := time.NewTimer(time.Until(l.start.Add(s.at)))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
		var err error
		switch over := ctx.Err() != nil; {
		case s.change && over:
			l.missed = append(l.missed, s)
		case s.change:
			err = l.set(ctx, s)
		case s.open && !over:
			before, err = l.drops()
			open = true
		case !s.open && open:
			var after uint64
			after, err = l.drops()
			l.excused += after - before
			open = false
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// set changes links. A change interrupted by the end of the case is no error: the next user of the
// fabric sets all links.
func (l *timeline) set(ctx context.Context, s step) error {
	l.mu.Lock()
	l.events = append(l.events, linkEvent{links: s.links, up: s.up, set: time.Now()})
	l.mu.Unlock()
	switch err := l.fabric.SetLinks(ctx, s.links, s.up); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	case s.up:
		l.tell(LinksChanged{Up: s.links})
	default:
		l.tell(LinksChanged{Down: s.links})
	}
	return nil
}

// drops reads the counters. It ignores the context of the case: the last window closes after the
// case.
func (l *timeline) drops() (uint64, error) {
	counts, err := l.fabric.Counters(context.Background())
	return drops(counts), err
}

// answer returns the record of the reaction to a change of these links: the first record after it,
// with the routes of a later one if another change came before its own were in place.
func (l *timeline) answer(e linkEvent) (failover.Record, bool) {
	set := e.set.Sub(l.start)
	for i, r := range l.records {
		links := r.Down
		if e.up {
			links = r.Up
		}
		if r.Seen < set || !overlap(e.links, links) {
			continue
		}
		for _, later := range l.records[i:] {
			if overlap(e.links, later.Dead) == e.up {
				break // the links have changed again
			}
			if repaired(later) > 0 {
				later.Seen = r.Seen
				return later, true
			}
		}
		return r, true
	}
	return failover.Record{}, false
}

// blame puts the links that messages waited for at the end first: the servers behind them are not
// to blame. Cables taken down from outside come first in any case: if one server gives up on
// another, it closes its connections to all.
func (l *timeline) blame(err error) error {
	ce, ok := errors.AsType[*controller.CaseError](err)
	why := strings.Join(slices.DeleteFunc([]string{l.cut, l.waits}, func(s string) bool { return s == "" }), "; ")
	switch {
	case !ok || why == "":
		return err
	case ce.Stuck:
		return fmt.Errorf("case %q: %s: %s", ce.Case, ce.During, why)
	case l.cut != "":
		return fmt.Errorf("case %q: %s: %s; %s", ce.Case, ce.During, why, strings.Join(ce.Reasons, "; "))
	}
	return fmt.Errorf("%w (%s)", err, why)
}

func (l *timeline) outside(x failover.Record, p failover.Policy) bool {
	return l.setAt(x, p) == nil && (p != failover.FORSHold || len(x.Down) > 0)
}

func (l *timeline) anyOutside(p failover.Policy) bool {
	return slices.ContainsFunc(l.records, func(x failover.Record) bool { return l.outside(x, p) })
}

func overlap(a, b []topology.Link) bool {
	return slices.ContainsFunc(a, func(x topology.Link) bool { return slices.Contains(b, x) })
}

// results returns one row for each link that changed, and irregularities. It is called when the
// timeline has ended. If nothing is done about a dead link, or a returned link is held out, a
// missing answer is no irregularity.
func (l *timeline) results(p failover.Policy) (rows []results.LinkEvent, warnings []string) {
	for _, e := range l.events {
		r, found := l.answer(e)
		for _, link := range e.links {
			name := l.tree.LinkName(link)
			row := results.LinkEvent{Link: name, Up: e.up, TSec: e.set.Sub(l.start).Seconds()}
			switch routed := repaired(r); {
			case found && routed > 0 && (p != failover.FORSHold || !e.up): // else it was held first
				row.SeenSec = (r.Seen - e.set.Sub(l.start)).Seconds()
				row.RoutesSec = (routed - r.Seen).Seconds()
				row.Routes = r.AidRoutes + r.InstallRoutes
			case found && r.Err != "":
				warnings = append(warnings, name+": "+r.Err)
			case p != failover.None && p != failover.FORSHold:
				warnings = append(warnings, name+": the change of the link was not answered by new routes")
			}
			rows = append(rows, row)
		}
	}
	for _, s := range l.missed {
		way := "gone down"
		if s.up {
			way = "come up"
		}
		for _, link := range s.links {
			warnings = append(warnings, fmt.Sprintf("%s: it should have %s after %v; the case ended before", l.tree.LinkName(link), way, s.at))
		}
	}
	return rows, warnings
}

// repaired is when the first routes around the dead links, or through the returned ones, were in
// place.
func repaired(r failover.Record) time.Duration { return cmp.Or(r.Aided, r.Installed, r.Cleaned) }
