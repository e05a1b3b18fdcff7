package controller

import (
	"fmt"
	"maps"
	"math"
	"time"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/results"
)

// A loading is what a clock offers in the counted part of a case. The controller is the experiment's busy logic: it
// accepts events while all sources have room, and tells each builder when its events happened. Its knowledge of what
// is built is as old as the workers' reports: some milliseconds, for which the buffers must be larger than they need be.
type loading struct {
	trigger *load.Trigger
	began   time.Duration // of the clock
	events  uint64        // of an exchange
	sent    uint64        // exchanges below it have told when their events happened
	builder int           // unsynchronised: place of the builder of the next event
	gaps    []load.Gap    // of a trace, by the ids of events; without a schedule ids are left out instead
	told    int           // gaps below it are granted
	skipped uint64        // ids left out

	// Of a case that goes on when servers are lost: when events happened that were granted or assigned, from the one
	// with number first on, and how many of those before were built and closed.
	out                  []time.Duration
	first, built, closed uint64
	id                   uint64 // of event 0, where the ledger has them
	earlier              *earlier

	// Of a part that ends because a server is back: how many events of the trigger it has; 0: not known yet.
	parts bool
	until uint64
}

// part has this part of a case end with the events that have happened: servers have joined again, which the next has.
func (m *machine) part(now time.Duration) {
	m.parting = true
	m.advance(now)
}

// later is how many events are left to the next part.
func (l *loading) later() uint64 {
	if !l.parts {
		return 0
	}
	return l.trigger.Due() - l.until
}

// clockEvery is the least time between two looks at the clock: events that are closer are granted together.
const clockEvery = time.Millisecond

// startClock starts the clock of a case with a load.
func (m *machine) startClock(now time.Duration) {
	l := m.c.Load
	if !l.On() {
		return
	}
	events := uint64(m.roles.Events())
	if b := m.before; b != nil {
		b.trigger.Regroup(events)
		m.loading = &loading{began: b.began.Sub(m.zero), events: events, sent: m.pace.until, trigger: b.trigger, earlier: b}
		m.shift = now - m.loading.began
		return
	}
	m.loading = &loading{began: now, events: events, sent: m.pace.until, trigger: load.NewTrigger(load.Options{
		Clock: load.NewClock(l, m.c.Seed), Room: l.Room(m.c.Fragment), Group: events, For: m.c.Duration, Most: m.c.Exchanges * events,
	})}
}

// clock lets events happen until now, while as many are built as is known. It is called before that number rises.
func (m *machine) clock(now time.Duration) {
	l := m.loading
	if l == nil || m.state != measuring && (m.state != draining || !m.parting) {
		return
	}
	l.forget(m)
	l.trigger.Run(now-l.began, m.built())
	for _, g := range l.trigger.Gaps[len(l.gaps):] {
		l.gaps = append(l.gaps, load.Gap{Event: m.c.Warmup*l.events + g.Event, Refused: g.Refused})
	}
	if m.parting && !l.parts {
		l.parts, l.until = true, l.trigger.Due()
	}
}

// built is how many counted events have left all sources.
func (m *machine) built() uint64 {
	least, sum, counted := uint64(1<<63), uint64(0), func(w *worker) uint64 { return w.done - min(w.done, m.c.Warmup) }
	for i := range m.workers {
		w := &m.workers[i]
		if w.builds {
			sum += counted(w)
		}
		least = min(least, counted(w))
	}
	if m.section.mode == modes.Unsync {
		return sum
	}
	return least * m.loading.events
}

// wakes is how long after now the clock has an event, at least clockEvery, if it runs.
func (m *machine) wakes(now time.Duration) (time.Duration, bool) {
	if m.loading == nil || m.state != measuring {
		return 0, false
	}
	next, ok := m.loading.trigger.Next()
	return max(m.loading.began+next-now, clockEvery), ok
}

// happened is the limit of exchanges whose events have all happened, and whether these are all.
func (m *machine) happened(now time.Duration) (until uint64, last bool) {
	m.clock(now)
	t := m.loading.trigger
	if m.parting {
		return max(m.pace.until, m.c.Warmup+m.loading.until/m.loading.events), true
	}
	return max(m.pace.until, m.c.Warmup+t.Due()/m.loading.events), t.Over()
}

// grantUntil lets all workers run to an exchange, and tells the builders when their events happened.
func (m *machine) grantUntil(until uint64) {
	l := m.loading
	if l == nil || until <= l.sent {
		m.broadcast(wire.Grant{Run: m.run, Until: until})
		return
	}
	from, times := l.sent, l.trigger.Take((until-l.sent)*l.events)
	l.sent = until
	l.keep(m, times)
	told := l.told
	for l.told < len(l.gaps) && l.gaps[l.told].Event < until*l.events {
		l.told++
	}
	for rank := range m.workers {
		g := wire.Grant{Run: m.run, Until: until, From: from, Gaps: l.gaps[told:l.told]}
		for at := m.roles.Place(rank); m.workers[rank].builds && at < len(times); at += int(l.events) {
			g.Due = append(g.Due, m.due(rank, times[at]))
		}
		m.send(rank, g)
	}
}

// keep keeps when events happened that a lost server may need to have built again by another.
func (l *loading) keep(m *machine, times []time.Duration) {
	if m.c.Load.GoesOn {
		l.out = append(l.out, times...)
	}
}

// due is a time of the clock by the clock of a worker.
func (m *machine) due(rank int, at time.Duration) int64 {
	return m.zero.UnixNano() + int64(m.loading.began+at) + m.workers[rank].ahead()
}

// ahead returns how far a worker's clock is ahead of the controller's, in ns; 0 where the travel time of the messages
// alone may explain the difference, as on one machine.
func (w *worker) ahead() int64 {
	if w.way == 0 || max(w.offset, -w.offset) <= w.way {
		return 0
	}
	return w.offset
}

// ponged learns the difference of clocks from the quickest answer to a ping.
func (w *worker) ponged(unix int64, p wire.Pong) {
	if p.Sent == 0 || p.Clock == 0 || unix < p.Sent {
		return
	}
	if way := max(1, (unix-p.Sent)/2); w.way == 0 || way < w.way {
		w.way, w.offset = way, p.Clock-(p.Sent+way)
	}
}

// assignHappened assigns the events that have happened. Where a builder that is next has a full buffer, they wait in those
// of the sources.
func (m *machine) assignHappened(now time.Duration) {
	m.clock(now)
	l := m.loading
	byRank := make([]wire.Assign, len(m.workers))
	if l.first+uint64(len(l.out)) == 0 {
		l.id = m.ledger.next()
	}
	for l.trigger.Waiting() > l.later() {
		place, free := m.nextBuilder()
		if !free {
			break
		}
		l.builder = (place + 1) % int(l.events)
		n := l.trigger.Accepted - l.trigger.Waiting()
		skip := load.Row(l.trigger.Gaps, n) - n - l.skipped // of a trace, whose sizes follow the ids
		l.skipped += skip
		times, rank, id := l.trigger.Take(1), m.roles.Builder(place), m.ledger.reserve(1+int(skip))+skip
		l.keep(m, times)
		m.ledger.assign(rank, id)
		m.workers[rank].assigned++
		byRank[rank].Events, byRank[rank].Due = append(byRank[rank].Events, id), append(byRank[rank].Due, m.due(rank, times[0]))
	}
	for rank, a := range byRank {
		if len(a.Events) > 0 {
			a.Run = m.run
			m.send(rank, a)
		}
	}
}

// nextBuilder is the place of the builder that gets the next event, and whether it has room: one after the other, so that
// each gets equally many, or the one that has fewest.
func (m *machine) nextBuilder() (place int, free bool) {
	l, room := m.loading, uint64(math.MaxUint64)
	switch {
	case m.c.Load.Builder > 0:
		room = uint64(m.c.Load.Builder) / uint64(m.c.Fragment*m.roles.Sources())
	case m.c.Assign == builder.AssignFree:
		room = m.c.inFlight()
	}
	return load.Place(l.builder, int(l.events), m.c.Assign == builder.AssignFree, room, func(place int) uint64 {
		w := &m.workers[m.roles.Builder(place)]
		return w.assigned - min(w.assigned, w.done)
	})
}

// awaitsClock reports whether all that has happened is done: then no server need move.
func (m *machine) awaitsClock() bool {
	return m.loading != nil && m.state == measuring && m.allDo(func(w *worker) bool {
		if m.section.mode == modes.Unsync {
			return w.done >= w.assigned
		}
		return w.done >= m.pace.until
	})
}

// buffers is what the clock has offered so far, and how the buffer of each source stands; nil while there is no clock.
func (m *machine) buffers() *results.Buffers {
	if m.loading == nil || m.state != measuring {
		return nil
	}
	t, begun, inFlight := m.loading.trigger, uint64(0), uint64(m.c.Credits)
	if m.section.mode == modes.Sync {
		inFlight = 1
	}
	for i := range m.workers {
		if w := &m.workers[i]; w.builds {
			begun += min(m.mayDo(i)-min(m.mayDo(i), w.done), inFlight)
		}
	}
	used := t.Due() - min(t.Due(), m.built())
	begun = min(begun, used)
	return &results.Buffers{
		Offered: t.Accepted + t.Refused, Refused: t.Refused, DeadSec: float64(t.Refused) / m.c.Load.Rate,
		Waiting: used - begun, Sending: begun, Free: max(m.c.Load.Room(m.c.Fragment), used) - used,
	}
}

// An Offered is what became of the events that a clock offered.
type Offered struct {
	load.Account
	ClockError time.Duration // by which times between two servers may be wrong, at most
	// Closed are events that were closed without some fragments, Absent the positions of the sources of these, and how
	// many events lack each.
	Closed uint64
	Absent map[int]uint64
}

// An Away is the time in which a case went on without a server, since the clock began.
type Away struct {
	Server   int // position
	From, To time.Duration
	Event    uint64 // accepted, from 0: from this one on the server takes part again
	Back     bool   // else it was away until the end, and there is no To and no Event
}

// offered adds up what the workers reported. Classes were checked when they came.
func (m *machine) offered() *Offered {
	if m.loading == nil {
		return nil
	}
	o := &Offered{Account: load.NewAccount(), Absent: map[int]uint64{}}
	if b := m.loading.earlier; b != nil {
		o.Add(b.offered.Account)
		o.Closed, o.ClockError = b.offered.Closed, b.offered.ClockError
		maps.Copy(o.Absent, b.offered.Absent)
	}
	o.Counts = m.loading.trigger.Counts
	for i := range m.workers {
		w := &m.workers[i]
		o.ClockError = max(o.ClockError, time.Duration(w.way))
		if w.totals != nil {
			o.Closed += w.totals.Incomplete
			for source, n := range w.totals.Absent[:min(len(w.totals.Absent), len(m.workers))] {
				if n > 0 {
					o.Absent[m.workers[source].server] += n
				}
			}
			_, _ = o.Latency.Add(w.totals.Latency), o.Waited.Add(w.totals.Waited)
			for i, bars := range w.totals.Parts {
				_ = o.Parts[i].Add(bars)
			}
		}
	}
	return o
}

// checkLatency returns an error if the times of events are none, or of more events than were granted.
func (m *machine) checkLatency(t wire.Totals, events uint64) error {
	for _, bars := range append(t.Parts[:], t.Latency, t.Waited) {
		n := uint64(0)
		for _, b := range bars {
			n += min(b.N, 1<<62)
			if n > events || b.N == 0 {
				return fmt.Errorf("reports %d times of events, %d were granted", n, events)
			}
		}
		if err := load.NewLatency().Add(bars); err != nil {
			return fmt.Errorf("times of events: %w", err)
		}
	}
	return nil
}
