package worker

import (
	"time"

	"evbench/builder"
	"evbench/controller/wire"
	"evbench/transport"
)

// An absence counts what events lack that are closed without some fragments; see load.Load.After.
type absence struct {
	events  uint64
	sources []uint64 // by rank: events without its fragment
}

func (a *absence) add(missing []int, servers int) {
	if a.sources == nil {
		a.sources = make([]uint64, servers)
	}
	a.events++
	for _, source := range missing {
		a.sources[source]++
	}
}

// report adds the events to the totals of a worker; they were given up on purpose, so none is lost.
func (a *absence) report(t *wire.Totals) {
	t.Incomplete, t.Absent = a.events, a.sources
	t.Lost -= min(t.Lost, a.events)
}

// closeLate closes the events of the clock that have waited for too long. A source is asked again once all that it
// owes has come: until then events are built without it, and the memory of fragments under way stays bounded.
func (u *unsynchronised) closeLate() {
	if !u.late.Swap(false) {
		return
	}
	now := u.now()
	for slot := range u.slots {
		if b := &u.slots[slot]; b.used && now-b.began > u.c.Load.After && u.ages.has(b.event) {
			u.inbox.owe(slot)
			u.giveUp(slot, now)
		}
	}
}

// giveUp closes an event without the fragments that it lacks.
func (u *unsynchronised) giveUp(slot int, now time.Duration) {
	event := u.slots[slot].event
	u.fragments.absence.add(u.fragments.asm.Missing(event), u.n)
	u.fragments.asm.Abandon(event)
	u.ages.forget(event)
	u.close(slot, now, true)
}

// owe notes that the event of a slot no longer waits for its receives, which stay posted.
func (b *inbox) owe(slot int) {
	for i := range b.awaits {
		if w := &b.awaits[i]; w.used && !w.owed && w.slot == slot {
			w.owed = true
			b.owes[w.source]++
		}
	}
	b.left[slot] = 0
}

// came ends the receive of a fragment that its event no longer waits for, and reports whether it was one.
func (b *inbox) came(i int, op *transport.Op) bool {
	w := &b.awaits[i]
	if b.owes[w.source] == 0 {
		return false
	}
	h, err := builder.Parse(op.Head)
	switch {
	case err != nil && !w.owed, err == nil && !b.owed(w, h):
		return false
	case err == nil && h.Event != w.event:
		b.swap(w, h.Event)
	}
	b.owes[w.source]--
	w.used, w.owed = false, false
	b.free = append(b.free, i)
	return true
}

// owed reports whether a fragment is one that the source of w owes.
func (b *inbox) owed(w *await, h builder.Header) bool {
	for i := range b.awaits {
		if o := &b.awaits[i]; o.used && o.owed && o.event == h.Event && o.source == w.source && int(h.Source) == w.source {
			return true
		}
	}
	return false
}
