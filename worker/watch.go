package worker

import "time"

// A watch tells a case that stands still from one that was only not checked. It has no clock: the
// caller passes the time and the progress at each check.
type watch struct {
	timeout time.Duration // longest time without progress
	every   time.Duration // between two checks
	last    time.Duration // last check
	moves   uint64        // at the last check
	since   time.Duration // of the last progress
	away    time.Duration // end of the last gap in checking
	allowed time.Duration // until then no progress is expected
}

// leastAway is the least delay of a check that shows that the process, or its machine, was stopped.
// Busy processors cause less.
const leastAway = 100 * time.Millisecond

func newWatch(now, timeout time.Duration) *watch {
	return &watch{timeout: timeout, every: max(timeout/8, time.Millisecond), last: now, since: now, away: now}
}

// still checks, and reports whether there was no progress for too long. While busy is false nothing
// is pending. After a late check, as of a stopped process, the time begins anew: other servers may
// have stopped with it.
func (w *watch) still(now time.Duration, moves uint64, busy bool) bool {
	if now-w.last > max(2*w.every, leastAway) {
		w.away = now
	}
	w.last = now
	if moves != w.moves || !busy {
		w.moves, w.since = moves, now
	}
	return w.judges(now) && now-w.since >= w.timeout
}

// judges reports whether there was enough time in which progress was possible.
func (w *watch) judges(now time.Duration) bool { return now-max(w.away, w.allowed) >= w.timeout }
