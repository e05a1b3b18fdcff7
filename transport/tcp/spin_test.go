package tcp

import (
	"testing"

	"evbench/internal/expect"
)

func TestSpinnerGivesUpWhereWaitsAreLong(t *testing.T) {
	var s spinner
	looks := 0
	never := func() bool { looks++; return false }
	// tried[i]: whether wait i looked at all. After k misses in a row 2^k-1 waits go by.
	want := []bool{true, false, true, false, false, false, true}
	for i, w := range want {
		before := looks
		expect.MustTrue(t, !s.until(never), "it is never ready")
		expect.Equal(t, looks > before, w, "wait %d: tried", i)
	}
	for range 1000 {
		s.until(never)
	}
	waits := 1 // until the next that is tried
	for before := looks; ; waits++ {
		if s.until(never); looks > before {
			break
		}
	}
	expect.True(t, waits <= 1<<maxMisses, "%d waits go by without a try, want at most %d", waits, 1<<maxMisses)
}

func TestSpinnerComesBack(t *testing.T) {
	var s spinner
	s.until(func() bool { return false }) // a miss: the next wait goes by
	ready := func() bool { return true }
	expect.True(t, !s.until(ready), "the wait after a miss was tried")
	for i := range 3 {
		expect.True(t, s.until(ready), "wait %d after a hit was not tried", i)
	}
}
