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
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

// settle is how long before and after a timed failure lost packets are its own
// doing.
const settle = time.Second

// A step is one thing to do at a moment of a case with timed failures.
type step struct {
	at     time.Duration // since the measured part began
	links  []topology.Link
	change bool // links go down or up; otherwise counters are read
	up     bool
	open   bool // reading: a window of excused drops begins, else ends
}

// steps puts the timed failures of a case in order: for each change of a link a
// reading of the counters before, the change, and a reading after. Windows that
// overlap are one.
func steps(timed []scenario.Timed, duration time.Duration) []step {
	return windows(changes(timed, duration), settle)
}

// stepsOf are those of one case. Where nothing is done about dead links, what is sent to
// them is lost for as long as they are dead: that is one window.
func stepsOf(c scenario.Case) []step {
	if policyOf(c) != failover.None {
		return steps(c.Timed, c.Duration)
	}
	all := changes(c.Timed, c.Duration)
	out := windows(all, c.Duration)
	if last := len(all) - 1; last >= 0 && !all[last].up {
		out[len(out)-1].at = c.Duration + settle // the end of the case closes it
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

// windows puts readings around changes; those with less than apart to either side of
// their windows share one.
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

// A timeline plays the steps of one case on a fabric and keeps what happened.
type timeline struct {
	fabric  fabric.Fabric
	tell    func(Event)
	start   time.Time
	excused uint64     // drops within a window
	mu      sync.Mutex // of events, while the case goes on
	events  []linkEvent
	series  series
	records []failover.Record // what was done about them
	waits   string            // which dead links messages wait for in the end, in words
	cut     string            // which cables somebody else has taken down, in words: see blameCables
}

type linkEvent struct {
	links []topology.Link
	up    bool
	set   time.Time
}

// play runs until the last step is done or ctx ends; a window that is open then
// is closed by a last reading.
func (l *timeline) play(ctx context.Context, steps []step) error {
	var before uint64
	for _, s := range steps {
		timer := time.NewTimer(time.Until(l.start.Add(s.at)))
		select {
		case <-ctx.Done():
			timer.Stop()
			if s.change || s.open {
				return nil
			}
		case <-timer.C:
		}
		var err error
		switch {
		case s.change:
			err = l.set(ctx, s)
		case s.open:
			before, err = l.drops()
		default:
			var after uint64
			after, err = l.drops()
			l.excused += after - before
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// set changes links. A change that the end of the case cuts short is no error: what comes
// next on the fabric sets all links.
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

// drops reads the counters. It does not obey the context of the case: the last
// window is closed when the case is over.
func (l *timeline) drops() (uint64, error) {
	counts, err := l.fabric.Counters(context.Background())
	return drops(counts), err
}

// answer returns the record that tells what was done about a change of these links: the
// first that was seen after it, with the routes of a later one where another change came
// before its own were in place.
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
				break // it has changed again
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

// blame puts the links first where messages waited for them in the end: no server behind
// them is at fault for standing still. Cables that others have taken down come first in any
// case: where one server gives up on another, it closes its connections to all.
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

// results returns one row for each link that changed, and what is odd about it. It is
// called when nothing plays any more. Where nothing is done about a dead link, or a link
// that is back is held out, no answer is none missing.
func (l *timeline) results(p failover.Policy) (rows []results.LinkEvent, warnings []string) {
	for _, e := range l.events {
		r, found := l.answer(e)
		for _, link := range e.links {
			row := results.LinkEvent{Link: link.String(), Up: e.up, TSec: e.set.Sub(l.start).Seconds()}
			switch routed := repaired(r); {
			case found && routed > 0 && (p != failover.FORSHold || !e.up): // else it was held first
				row.SeenSec = (r.Seen - e.set.Sub(l.start)).Seconds()
				row.RoutesSec = (routed - r.Seen).Seconds()
				row.Routes = r.AidRoutes + r.InstallRoutes
			case found && r.Err != "":
				warnings = append(warnings, link.String()+": "+r.Err)
			case p != failover.None && p != failover.FORSHold:
				warnings = append(warnings, link.String()+": the change of the link was not answered by new routes")
			}
			rows = append(rows, row)
		}
	}
	return rows, warnings
}

// repaired is when the first routes were in place that lead around what is dead, or lead
// through what is alive again.
func repaired(r failover.Record) time.Duration {
	for _, t := range []time.Duration{r.Aided, r.Installed, r.Cleaned} {
		if t > 0 {
			return t
		}
	}
	return 0
}
