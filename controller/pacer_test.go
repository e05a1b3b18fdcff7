package controller

import (
	"testing"
	"time"
)

// An exchange that is known to take longer than the measurement is granted alone; where
// nothing is known, or exchanges are short, a few are.
func TestPacerExpects(t *testing.T) {
	for _, tt := range []struct {
		expected time.Duration
		want     uint64
	}{{0, 2}, {2 * time.Minute, 1}, {50 * time.Second, 2}, {10 * time.Millisecond, 2}} {
		p := newPacer(0, Case{Duration: time.Minute, Expected: tt.expected})
		p.measure(0, time.Second)
		if until, last := p.extend(time.Second, 0); until != tt.want || last {
			t.Errorf("expected to take %v: %d exchanges granted, the last: %v; want %d", tt.expected, until, last, tt.want)
		}
		if until, last := p.extend(62*time.Second, 1); until != 1 || !last {
			t.Errorf("expected to take %v, when the time is over: %d granted, the last: %v", tt.expected, until, last)
		}
	}
}
