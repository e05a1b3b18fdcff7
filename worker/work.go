package worker

import "time"

// A work is a complete event that a builder works on, or will, until it ends: see load.Load.Build.
type work struct {
	building
	ends time.Duration
}

// work has the builder work on an event, after those that it works on already. It stays one of those in flight.
func (u *unsynchronised) work(slot int, now time.Duration) {
	u.slots[slot].used = false
	begins, takes := now, u.c.Load.Builds(u.c.Peers[u.c.Rank].Server, u.slots[slot].event, u.c.Seed)
	if n := len(u.works); n > 0 {
		begins = max(now, u.works[n-1].ends) // the last may have ended since worked looked
	} else {
		u.timer.Reset(takes)
	}
	u.works = append(u.works, work{u.slots[slot], begins + takes})
}

// worked closes the events whose work is done.
func (u *unsynchronised) worked() {
	if len(u.works) == 0 {
		return
	}
	now, n := u.now(), 0
	for ; n < len(u.works) && u.works[n].ends <= now; n++ {
		u.ages.built(u.works[n].event, u.works[n].ends)
		u.end(u.works[n].building, now, false)
	}
	if u.works = append(u.works[:0], u.works[n:]...); n > 0 && len(u.works) > 0 {
		u.timer.Reset(u.works[0].ends - now)
	}
}
