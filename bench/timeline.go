package bench

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

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
	var changes []step
	for _, f := range timed {
		changes = append(changes, step{at: f.At, links: f.Links, change: true})
		if f.For > 0 && f.At+f.For < duration {
			changes = append(changes, step{at: f.At + f.For, links: f.Links, change: true, up: true})
		}
	}
	slices.SortStableFunc(changes, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	var out []step
	for i, c := range changes {
		if i == 0 || c.at-settle > changes[i-1].at+settle {
			out = append(out, step{at: max(0, c.at-settle), open: true})
		}
		out = append(out, c)
		if i == len(changes)-1 || changes[i+1].at-settle > c.at+settle {
			out = append(out, step{at: c.at + settle})
		}
	}
	return out
}

// A timeline plays the steps of one case on a fabric and keeps what happened.
type timeline struct {
	fabric  Fabric
	start   time.Time
	excused uint64 // drops within a window

	mu     sync.Mutex
	events []linkEvent
}

type linkEvent struct {
	links []topology.Link
	up    bool
	set   time.Time
	route *RouteChange
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

func (l *timeline) set(ctx context.Context, s step) error {
	l.mu.Lock()
	l.events = append(l.events, linkEvent{links: s.links, up: s.up, set: time.Now()})
	l.mu.Unlock()
	return l.fabric.SetLinks(ctx, s.links, s.up)
}

// drops reads the counters. It does not obey the context of the case: the last
// window is closed when the case is over.
func (l *timeline) drops() (uint64, error) {
	counts, err := l.fabric.Counters(context.Background())
	return drops(counts), err
}

// follow notes what the fabric did about each change, until changes is closed.
func (l *timeline) follow(changes <-chan RouteChange) {
	for c := range changes {
		l.mu.Lock()
		l.answer(c, c.Down, false)
		l.answer(c, c.Up, true)
		l.mu.Unlock()
	}
}

// answer finds the last change of the given links before it was seen. When both
// ends of a link report it and are handled apart, the later routes count.
func (l *timeline) answer(c RouteChange, links []topology.Link, up bool) {
	for i := len(l.events) - 1; i >= 0; i-- {
		e := &l.events[i]
		if e.up == up && overlap(e.links, links) && !e.set.After(c.Seen) {
			if e.route == nil || c.Done.After(e.route.Done) {
				e.route = &c
			}
			return
		}
	}
}

func overlap(a, b []topology.Link) bool {
	return slices.ContainsFunc(a, func(x topology.Link) bool { return slices.Contains(b, x) })
}

// results returns one row for each link that changed, and what is odd about it.
func (l *timeline) results() (rows []results.LinkEvent, warnings []string) {
	for _, e := range l.events {
		for _, link := range e.links {
			row := results.LinkEvent{Link: link.String(), Up: e.up, TSec: e.set.Sub(l.start).Seconds()}
			switch {
			case e.route == nil:
				warnings = append(warnings, link.String()+": the change of the link was not answered by new routes")
			case e.route.Err != nil:
				warnings = append(warnings, link.String()+": "+e.route.Err.Error())
			default:
				row.SeenSec = e.route.Seen.Sub(e.set).Seconds()
				row.RoutesSec = e.route.Done.Sub(e.route.Seen).Seconds()
				row.Routes = e.route.Changed
			}
			rows = append(rows, row)
		}
	}
	return rows, warnings
}
