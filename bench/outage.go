package bench

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"evbench/failover"
	"evbench/internal/lists"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

// held is how long a case does not use a link after its return.
func held(c scenario.Case) time.Duration {
	if policyOf(c) != failover.FORSHold {
		return 0
	}
	return c.Failover.Hold
}

// Unused returns when links of a case are unused because of its timed failures: each link by
// itself, without overlaps.
func Unused(c scenario.Case) []scenario.Timed { return outages(c.Timed, held(c), c.Duration) }

// outages returns when each link is unused: while it is dead, and for hold after that. Overlapping
// times are merged.
func outages(timed []scenario.Timed, hold, duration time.Duration) []scenario.Timed {
	byLink := map[topology.Link][]scenario.Timed{}
	for _, f := range timed {
		for _, l := range f.Links {
			one := scenario.Timed{Links: []topology.Link{l}, Name: l.String(), At: f.At}
			if f.For > 0 && f.At+f.For+hold < duration {
				one.For = f.For + hold
			}
			byLink[l] = append(byLink[l], one)
		}
	}
	links := slices.SortedFunc(maps.Keys(byLink), topology.Link.Compare)
	var out []scenario.Timed
	for _, l := range links {
		out = append(out, merged(byLink[l])...)
	}
	return out
}

func merged(all []scenario.Timed) []scenario.Timed {
	slices.SortFunc(all, func(a, b scenario.Timed) int { return cmp.Compare(a.At, b.At) })
	out := all[:1]
	for _, f := range all[1:] {
		switch last := &out[len(out)-1]; {
		case last.For == 0:
			return out // until the end
		case f.At > last.At+last.For:
			out = append(out, f)
		case f.For == 0:
			last.For = 0
		default:
			last.For = max(last.For, f.At+f.For-last.At)
		}
	}
	return out
}

func longestOutage(timed []scenario.Timed, duration time.Duration) time.Duration {
	return lists.MaxOf(timed, func(f scenario.Timed) time.Duration { return cmp.Or(f.For, duration-f.At) })
}

// A series is what all servers received in each interval of a case.
type series struct {
	each  float64 // s
	bytes []float64
}

func (s *series) add(x results.Sample) {
	if x.IntervalSec <= 0 {
		return
	}
	s.each = cmp.Or(s.each, x.IntervalSec)
	i := int(x.TSec/s.each+0.5) - 1
	for len(s.bytes) <= i {
		s.bytes = append(s.bytes, 0)
	}
	if i >= 0 {
		s.bytes[i] += float64(x.PayloadBytes)
	}
}

// rate is the received bytes per second between two moments, over the whole intervals between them,
// divided by unit; nil if there is no such interval.
func (s *series) rate(from, to time.Duration, unit float64) *float64 {
	sum, n := 0.0, 0
	for i, b := range s.bytes {
		if float64(i)*s.each >= from.Seconds() && float64(i+1)*s.each <= to.Seconds() {
			sum += b
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return new(sum / (float64(n) * s.each) / unit)
}

func (r *runner) failovers(m *measured, line *timeline) []results.Failover {
	event := float64(r.s.Tree.Messages()) * float64(r.s.Event.Fragment) // bytes of one event of each builder
	var out []results.Failover
	for i, x := range line.records {
		f := failoverOf(m, line, x)
		before, next := time.Duration(0), m.Duration
		if i > 0 {
			before = over(line.records[i-1])
		}
		if i+1 < len(line.records) {
			next = line.records[i+1].Seen
		}
		done := over(x)
		f.BeforeEventsPerSec = line.series.rate(before, x.Seen, event)
		f.DuringEventsPerSec = line.series.rate(x.Seen, done, event)
		f.AfterEventsPerSec = line.series.rate(done, next, event)
		out = append(out, f)
	}
	return out
}

func failoverOf(m *measured, line *timeline, x failover.Record) results.Failover {
	named := m.Plan.Tree.LinkNames
	f := results.Failover{
		Case: m.Name, Repeat: m.repeat, ID: x.ID, Down: named(x.Down), Up: named(x.Up), Dead: named(x.Dead), Held: named(x.Held),
		FailoverTimes: results.FailoverTimes{SetSec: line.setAt(x, policyOf(m.Case)), SeenSec: sec(x.Seen), AidedSec: sec(x.Aided), PlannedSec: sec(x.Planned), VerifiedSec: sec(x.Verified),
			InstalledSec: sec(x.Installed), UpdatedSec: sec(x.Updated), LastOldSec: sec(x.Switch.LastOld), FirstNewSec: sec(x.Switch.FirstNew), CleanedSec: sec(x.Cleaned)},
		Source: string(x.Source), Phases: x.Phases, PlanHash: x.Hash, From: x.Switch.From, Routes: x.AidRoutes + x.InstallRoutes,
		Attempts: x.Attempts, Superseded: x.Superseded, Reason: cmp.Or(x.Disjoint, x.Err),
	}
	if line.outside(x, policyOf(m.Case)) {
		f.Reason = strings.TrimSuffix(results.FromOutside+"; "+f.Reason, "; ")
	}
	return f
}

// over is when a change had been handled.
func over(x failover.Record) time.Duration { return max(x.Seen, x.Aided, x.Switch.FirstNew) }

func sec(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	return new(d.Seconds())
}

// setAt is when this run changed the links of a record; nil for other changes, and for links that
// had been held out.
func (l *timeline) setAt(x failover.Record, p failover.Policy) *float64 {
	if p == failover.FORSHold && len(x.Down) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.events) - 1; i >= 0; i-- {
		e := l.events[i]
		at := e.set.Sub(l.start)
		links := x.Down
		if e.up {
			links = x.Up
		}
		if at <= x.Seen && overlap(e.links, links) {
			return new(at.Seconds())
		}
	}
	return nil
}
