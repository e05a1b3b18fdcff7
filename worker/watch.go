package worker

import "time"

// A watch tells what stands still from what was only not looked at. It has no clock: it is
// told the time and how far things have come, every so often.
type watch struct {
	timeout time.Duration // for which nothing may move
	every   time.Duration // between two looks
	last    time.Duration // look
	moves   uint64        // then
	since   time.Duration // nothing has moved
	away    time.Duration // nobody looked until then
	allowed time.Duration // until then nothing need move
}

// leastAway is how much later than it should a look has to come at least to say that the
// process, or its machine, was stopped. Busy processors do less.
const leastAway = 100 * time.Millisecond

func newWatch(now, timeout time.Duration) *watch {
	return &watch{timeout: timeout, every: max(timeout/8, time.Millisecond), last: now, since: now, away: now}
}

// still looks, and reports whether nothing has moved for too long. While busy is false there
// is nothing to be done. After a look that comes late, as of a process that was stopped, the
// time begins anew: the others may have been stopped with it.
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

// judges reports whether things have had enough time in which they could move.
func (w *watch) judges(now time.Duration) bool { return now-max(w.away, w.allowed) >= w.timeout }
