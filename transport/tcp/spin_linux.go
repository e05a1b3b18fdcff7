package tcp

import (
	"time"

	"golang.org/x/sys/unix"
)

// A spinner looks again and again, for a short while, before a thread sleeps. To
// wake a thread, and the processor that has gone idle under it, takes tens of
// microseconds in a virtual machine and several elsewhere: as long as a phase of
// small fragments. Between two looks it lets others run.
//
// Where waits are long it stops trying but for now and then: after each miss
// twice as many waits go by without it.
type spinner struct {
	misses int // in a row
	skip   int // waits that go by
}

const (
	spinFor   = 200 * time.Microsecond
	maxMisses = 6 // then one wait in 2^6 is tried
)

// until returns true as soon as ready does, and false when that takes too long
// or was not tried.
func (s *spinner) until(ready func() bool) bool {
	if s.skip > 0 {
		s.skip--
		return false
	}
	for began := time.Now(); time.Since(began) < spinFor; {
		if ready() {
			s.misses = 0
			return true
		}
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	s.misses = min(s.misses+1, maxMisses)
	s.skip = 1<<s.misses - 1
	return false
}
