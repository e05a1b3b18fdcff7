package worker

import (
	"time"

	"evbench/builder/load"
	"evbench/controller/wire"
)

// Ages records how old the events of a case with a load are when their transfer begins, and when they are built; nil:
// they have no clock. Only the loop uses it.
type ages struct {
	due             map[uint64]int64 // when each assigned or granted event happened, ns since 1970
	zero            int64            // when the time of the loop was 0
	waited, latency *load.Latency
}

func newAges(c wire.Configure, base time.Time) *ages {
	if !c.Load.On() {
		return nil
	}
	return &ages{due: map[uint64]int64{}, zero: base.UnixNano(), waited: load.NewLatency(), latency: load.NewLatency()}
}

// A happened event, and when.
type happened struct {
	event uint64
	at    int64 // ns since 1970
}

func (a *ages) add(events []happened) {
	for _, h := range events {
		a.due[h.event] = h.at
	}
}

// begun notes that the transfer of an event begins.
func (a *ages) begun(event uint64, now time.Duration) {
	if a == nil {
		return
	}
	if at, ok := a.due[event]; ok {
		a.waited.Record(time.Duration(a.zero + int64(now) - at))
	}
}

// built notes that an event is complete.
func (a *ages) built(event uint64, now time.Duration) {
	if a == nil {
		return
	}
	if at, ok := a.due[event]; ok {
		a.latency.Record(time.Duration(a.zero + int64(now) - at))
		delete(a.due, event)
	}
}

// has reports whether an event has happened by the clock, and is not built.
func (a *ages) has(event uint64) bool {
	if a == nil {
		return false
	}
	_, ok := a.due[event]
	return ok
}

func (a *ages) forget(event uint64) {
	if a != nil {
		delete(a.due, event)
	}
}

// report adds the times to the totals of a worker.
func (a *ages) report(t *wire.Totals) {
	if a != nil {
		t.Waited, t.Latency = a.waited.Bars(), a.latency.Bars()
	}
}

// granted are the events of this worker that a grant says to have happened.
func (j *job) granted(g wire.Grant) (out []happened) {
	for i, at := range g.Due {
		out = append(out, happened{j.c.Roles().Event(g.From+uint64(i), j.c.Rank), at})
	}
	return out
}

// assigned are the events of an assignment, where they have happened by a clock.
func assigned(a wire.Assign) (out []happened) {
	for i, at := range a.Due[:min(len(a.Due), len(a.Events))] {
		out = append(out, happened{a.Events[i], at})
	}
	return out
}
