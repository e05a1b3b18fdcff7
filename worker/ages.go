package worker

import (
	"cmp"
	"time"

	"evbench/builder/load"
	"evbench/controller/wire"
)

// Ages records how old the events of a case with a load are when their transfer begins, and when they are built, and the
// parts of that; nil: they have no clock. Only the loop uses it.
type ages struct {
	of              map[uint64]age // of the events assigned or granted
	base            time.Time      // when the time of the loop was 0
	meter           *meter
	works           bool // builders work on events that are complete
	waited, latency *load.Latency
	parts           load.Parts
}

// An age is the way of one event: its times by the clock of the loop.
type age struct{ due, told, begun, came time.Duration }

func newAges(c wire.Configure, base time.Time, m *meter) *ages {
	if !c.Load.On() {
		return nil
	}
	return &ages{of: map[uint64]age{}, base: base, meter: m, works: c.Load.Build > 0, waited: load.NewLatency(), latency: load.NewLatency(), parts: load.NewParts()}
}

// A happened event, when, and when the worker heard of it.
type happened struct {
	event uint64
	at    int64 // ns since 1970
	told  time.Time
}

func (a *ages) add(events []happened) {
	for _, h := range events {
		a.of[h.event] = age{due: time.Duration(h.at - a.base.UnixNano()), told: h.told.Sub(a.base)}
	}
}

// begun notes that the transfer of an event begins.
func (a *ages) begun(event uint64, now time.Duration) {
	if a.has(event) {
		x := a.of[event]
		x.begun = now
		a.of[event] = x
		a.waited.Record(now - x.due)
	}
}

// complete notes that an event is complete. It is built when the work on it is done.
func (a *ages) complete(event uint64, now time.Duration) {
	if !a.has(event) {
		return
	}
	x := a.of[event]
	x.begun, x.came = cmp.Or(x.begun, now), now // an event without fragments of others is complete when it begins
	if a.of[event] = x; !a.works {
		a.built(event, now)
	}
}

// built notes that an event is built.
func (a *ages) built(event uint64, now time.Duration) {
	if !a.has(event) {
		return
	}
	x := a.of[event]
	a.parts.Record(x.due, x.told, x.begun, x.came, now)
	a.latency.Record(now - x.due)
	add(&a.meter.aged, 1)
	a.meter.latency.Store(a.meter.latency.Load() + int64(now-x.due))
	delete(a.of, event)
}

// has reports whether an event has happened by the clock, and is not built.
func (a *ages) has(event uint64) bool {
	if a == nil {
		return false
	}
	_, ok := a.of[event]
	return ok
}

func (a *ages) forget(event uint64) {
	if a != nil {
		delete(a.of, event)
	}
}

// report adds the times to the totals of a worker.
func (a *ages) report(t *wire.Totals) {
	if a == nil {
		return
	}
	t.Waited, t.Latency = a.waited.Bars(), a.latency.Bars()
	for i := range a.parts {
		t.Parts[i] = a.parts[i].Bars()
	}
}

// granted are the events of this worker that a grant says to have happened.
func (j *job) granted(g wire.Grant) (out []happened) {
	now := time.Now()
	for i, at := range g.Due {
		out = append(out, happened{j.c.Roles().Event(g.From+uint64(i), j.c.Rank), at, now})
	}
	return out
}

// assigned are the events of an assignment, where they have happened by a clock.
func assigned(a wire.Assign) (out []happened) {
	now := time.Now()
	for i, at := range a.Due[:min(len(a.Due), len(a.Events))] {
		out = append(out, happened{a.Events[i], at, now})
	}
	return out
}
