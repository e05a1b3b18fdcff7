package watch

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"evbench/bench"
	"evbench/results/attribution"
	"evbench/testing/expect"
)

var began = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// A cause is told of when two bursts show it, once, until none of the last shows it; disturbed bursts change nothing.
func TestTake(t *testing.T) {
	five := attribution.Cause{Kind: attribution.OfServer, Name: "server5 or its cable to leaf1", Parts: []string{"server5", "server5-leaf1"}, Share: .5, Found: 1}
	stop := attribution.Cause{Kind: attribution.OfServer, Name: "server9", Parts: []string{"server9"}, Stops: 1, Stood: 2, Longest: 2, First: .5, Found: 2}
	twice := func(c attribution.Cause) attribution.Cause { c.Found = 2; return c }
	type burst struct {
		causes   []attribution.Cause
		rejected string
		want     string
	}
	var s State
	for i, b := range []burst{
		{nil, "", ""},
		{[]attribution.Cause{five}, "", ""},
		{[]attribution.Cause{twice(five)}, "", "SLOW server5 or its cable to leaf1 carries half its usual rate"},
		{[]attribution.Cause{twice(five)}, "", ""},
		{nil, "servers waited", "DISTURBED servers waited"},
		{nil, "servers waited", ""},
		{[]attribution.Cause{twice(five), stop}, "", "SLOW server9 stood still for 2.0 s at 0.5 s"},
		{[]attribution.Cause{five, stop}, "", ""}, // one burst of the last still shows server5
		{[]attribution.Cause{stop}, "", "WELL server5 or its cable to leaf1, after 12s"},
		{nil, "servers waited", "DISTURBED servers waited"},
		{nil, "", "WELL server9, after 8s"},
		{[]attribution.Cause{twice(five)}, "", "SLOW server5 or its cable to leaf1 carries half its usual rate"},
	} {
		at := began.Add(time.Duration(2*i) * time.Second)
		var got []string
		for _, e := range s.Take(at, bench.Burst{Causes: b.causes, Rejected: b.rejected, Sec: 1}) {
			text, ok := strings.CutPrefix(e.String(), at.Format(time.RFC3339)+" ")
			expect.True(t, ok && (e.Cause != nil) == (e.Word == Slow), "%v", e)
			got = append(got, text)
		}
		expect.Equal(t, strings.Join(got, "; "), b.want, "burst %d", i)
	}
	expect.Equal(t, s.Answer(16).String(), "BAD: server5 or its cable to leaf1 carries half its usual rate.", "answer")

	now, all := five, twice(five)
	now.Share, s = .25, State{}
	s.Take(began, bench.Burst{Causes: []attribution.Cause{all}, Alone: []attribution.Cause{now}})
	expect.Equal(t, s.Answer(16).String(), "BAD: server5 or its cable to leaf1 carries a quarter of its usual rate.", "as it is now")
}

func TestAnswer(t *testing.T) {
	var s State
	expect.Equal(t, s.Answer(4).String(), "NOT KNOWN: No burst was measured.", "before the first burst")
	s.Take(began, bench.Burst{Rejected: "servers waited"})
	expect.Equal(t, s.Answer(4).String(), "NOT KNOWN: Servers were disturbed in every burst: watch again when they are idle.", "disturbed")
	s.Take(began, bench.Burst{})
	expect.Equal(t, s.Answer(4).String(), "GOOD: None of 4 servers and no cable is slower than usual, in 1 burst.", "well")
}

// With its pause a burst keeps links busy for no more than its share of the time, and comes no more often than asked for.
func TestPause(t *testing.T) {
	for _, tt := range []struct {
		every, took, busy, want time.Duration
		share                   float64
	}{
		{2 * time.Second, 10 * time.Millisecond, 10 * time.Millisecond, 1990 * time.Millisecond, .01},
		{2 * time.Second, 100 * time.Millisecond, 100 * time.Millisecond, 9900 * time.Millisecond, .01},
		{2 * time.Second, 100 * time.Millisecond, 20 * time.Millisecond, 1900 * time.Millisecond, .01},
		{2 * time.Second, 3 * time.Second, 2 * time.Second, 0, 1},
		{0, time.Second, time.Second, time.Second, .5},
	} {
		got := new(State).Pause(tt.every, tt.took, tt.busy, tt.share)
		expect.Equal(t, got, tt.want, "every %s, took %s", tt.every, tt.took)
		expect.True(t, float64(tt.busy) <= (tt.share+1e-9)*float64(tt.took+got), "more than its share")
	}
}

// A fault at any time has a line 5 s later, and over a whole watch links are busy for their share, also where hiccups
// of new servers ask for more bursts.
func TestPauseOfDoubt(t *testing.T) {
	const every, took, busy, share = 2 * time.Second, 400 * time.Millisecond, 20 * time.Millisecond, .01
	cause := func(name string, found int) []attribution.Cause {
		return []attribution.Cause{{Kind: attribution.OfServer, Name: name, Parts: []string{name}, Share: .5, Found: found}}
	}
	for fault := time.Duration(0); fault < 2*every; fault += every / 20 {
		var s State
		now, shown := 60*time.Second, 0
		for s.slow == nil {
			b := bench.Burst{Sec: .1}
			if now >= 60*time.Second+fault {
				shown++
				b.Alone, b.Causes = cause("server5", 1), cause("server5", shown)
			}
			now += took
			s.Take(began.Add(now), b)
			now += s.Pause(every, took, busy, share)
		}
		late := s.slow[0].since.Sub(began) - 60*time.Second - fault
		expect.True(t, late <= 5*time.Second, "fault at %s: line after %s", fault, late)
	}
	var s State
	var all, sum time.Duration
	for i := range 100 {
		s.Take(began.Add(all), bench.Burst{Alone: cause("server"+strconv.Itoa(i), 1)})
		all, sum = all+took+s.Pause(every, took, busy, share), sum+busy
	}
	expect.True(t, float64(sum) <= share*float64(all+s.owed), "busy for %s of %s", sum, all)
}
