package load

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/testing/expect"
)

func TestParseRate(t *testing.T) {
	for _, tt := range []struct {
		text        string
		rate, share float64
	}{
		{"200Hz", 200, 0}, {"10kHz", 1e4, 0}, {"1.5 MHz", 1.5e6, 0}, {"80%", 0, .8}, {"110 %", 0, 1.1}, {"1e3Hz", 1000, 0},
		{"", 0, 0}, {"10", 0, 0}, {"0Hz", 0, 0}, {"-1kHz", 0, 0}, {"NaNHz", 0, 0}, {"1e300MHz", 0, 0}, {"10kkHz", 0, 0}, {"10GHz", 0, 0}, {"x%", 0, 0},
	} {
		rate, share, err := ParseRate(tt.text)
		expect.Equal(t, [2]float64{rate, share}, [2]float64{tt.rate, tt.share}, "%q", tt.text)
		expect.Equal(t, err == nil, tt.rate+tt.share > 0, "%q: %v", tt.text, err)
	}
}

// Clocks keep their rate without drift, never run backwards, and are the same for the same seed.
func TestClocks(t *testing.T) {
	for _, l := range []Load{{Rate: 1000, Arrival: Periodic}, {Rate: 1000, Arrival: Poisson}, {Rate: 1000, Arrival: Bursts, Burst: 10}} {
		c, same := NewClock(l, 7), NewClock(l, 7)
		const n = 200_000
		last, squares, sum := time.Duration(0), 0.0, 0.0
		for range n {
			at := c.Next()
			expect.Equal(t, same.Next(), at, "%v", l)
			if at < last {
				t.Fatalf("%v: %v after %v", l, at, last)
			}
			gap := (at - last).Seconds() * l.Rate
			sum, squares, last = sum+gap, squares+gap*gap, at
		}
		expect.True(t, math.Abs(last.Seconds()*l.Rate/n-1) < .01, "%v: %d events in %v", l, n, last)
		variance := squares/n - (sum/n)*(sum/n)
		want := map[string]float64{Periodic: 0, Poisson: 1, Bursts: 9}[l.Arrival] // of gaps in units of the mean
		expect.True(t, math.Abs(variance-want) < .03*max(1, want), "%v: variance of gaps %.3f, want %.1f", l, variance, want)
	}
}

// A second version of the trigger over a network that builds a group in a fixed time, event by event.
func TestTrigger(t *testing.T) {
	const group, room = 4, 16
	for _, l := range []Load{{Rate: 900}, {Rate: 1100}, {Rate: 2000}, {Rate: 900, Arrival: Poisson}, {Rate: 1500, Arrival: Poisson}, {Rate: 950, Arrival: Bursts, Burst: 20}} {
		build := 4 * time.Millisecond // 1,000 events/s
		x := NewTrigger(Options{Clock: NewClock(l, 3), Room: room, Group: group, For: 20 * time.Second})
		var begun, built, taken uint64
		ends := time.Duration(math.MaxInt64) // of the group being built
		var stamps []time.Duration
		now := time.Duration(0)
		for !x.Over() || built < x.Accepted {
			x.Run(now, built)
			if now >= ends {
				built, ends = built+group, math.MaxInt64
				x.Run(now, built)
			}
			if ends == math.MaxInt64 && x.Accepted >= begun+group {
				begun, ends = begun+group, now+build
				stamps = append(stamps, x.Take(group)...)
				taken += group
			}
			now += 50 * time.Microsecond
		}
		expect.Equal(t, []uint64{built, taken, uint64(len(stamps)), x.Waiting()}, []uint64{x.Accepted, x.Accepted, x.Accepted, 0}, "%v: built, taken, stamps, waiting", l)
		expect.True(t, slices.IsSorted(stamps), "%v: %v", l, stamps)
		accepted, refused := replay(l, stamps)
		expect.Equal(t, []uint64{x.Accepted, x.Refused}, []uint64{accepted, refused}, "%v: accepted, refused", l)
		expect.True(t, (x.Times > 0) == (refused > 0) && (x.Longest > 0) == (refused > 0) && x.Times <= refused, "%v: %+v", l, x.Counts)
		if l.Rate > 1000 { // more than the network builds: dead time = 1 − bound/offered
			dead := float64(x.Refused) / float64(x.Accepted+x.Refused)
			expect.True(t, math.Abs(dead-(1-1000/l.Rate)) < .02, "%v: dead %v", l, dead)
		}
		if l.Arrival == "" && l.Rate < 1000 {
			expect.Equal(t, x.Refused, uint64(0), "%v", l)
		}
	}
}

// replay counts what a clock offers up to the last accepted event.
func replay(l Load, stamps []time.Duration) (accepted, refused uint64) {
	of := map[time.Duration]int{}
	for _, s := range stamps {
		of[s]++
	}
	c, last := NewClock(l, 3), max(stamps[len(stamps)-1], 20*time.Second)
	for at := c.Next(); at <= last; at = c.Next() {
		if of[at] > 0 {
			of[at]--
			accepted++
		} else {
			refused++
		}
	}
	return accepted, refused
}

// Latencies of servers add up exactly.
func TestLatency(t *testing.T) {
	all, sum := NewLatency(), NewLatency()
	for server := range 3 {
		l := NewLatency()
		for i := range 1000 {
			d := time.Duration(i*(server+1)) * 37 * time.Microsecond
			l.Record(d)
			all.Record(d)
		}
		expect.Must(t, sum.Add(l.Bars()))
	}
	expect.Equal(t, sum.Bars(), all.Bars(), "bars")
	expect.Equal(t, sum.Quantiles(), all.Quantiles(), "quantiles")
	q := all.Quantiles()
	expect.True(t, q.P50 <= q.P99 && q.P99 <= q.P999 && q.P999 <= q.Max && math.Abs(q.Max-.110889) < .0002, "%+v", q)
	all.Record(-1)
	all.Record(2 * time.Hour)
	expect.True(t, math.Abs(all.Quantiles().Max-3600) < 4, "%v", all.Quantiles())
	expect.Equal(t, NewLatency().Quantiles(), Quantiles{}, "empty")
	for _, bad := range [][]Bar{{{-1, 1}}, {{int64(longest) + 1, 1}}, {{1, 1 << 60}}} {
		expect.True(t, sum.Add(bad) != nil, "%v", bad)
	}
}

// A search over a network with a limit finds it within its steps, whatever the first guess, and beside measurements of
// which some are wrong it finds it or says that it did not.
func TestSearch(t *testing.T) {
	const finest = .01
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 0))
		limit := math.Exp(12 * random.Float64())
		s := &Search{First: limit * (.8 + random.Float64()), Finest: finest, Most: 12}
		wrong := float64(seed%4) / 40 // share of measurements that the machine disturbed
		steps, disturbed := 0, 0
		for rate, more := s.Next(); more; rate, more = s.Next() {
			steps++
			taken := rate <= limit
			if taken && random.Float64() < wrong {
				taken = false
				disturbed++
			}
			s.Tell(rate, taken, min(rate, limit)*.98)
		}
		lo, hi := s.Limits()
		expect.True(t, steps <= 12, "%d: %d steps", seed, steps)
		switch {
		case disturbed == 0:
			expect.True(t, s.Doubt() == "" && lo <= limit && limit < hi && hi <= lo*(1+finest), "%d: %g of %g in %d steps: %g to %g, %q", seed, s.First, limit, steps, lo, hi, s.Doubt())
		case s.Doubt() == "" && disturbed == 1: // one disturbance does not make a wrong limit known
			expect.True(t, lo <= limit && limit < hi*(1+2*finest), "%d: %g: %g to %g", seed, limit, lo, hi)
		}
	}
}

// What a search says while it does not know.
func TestSearchDoubt(t *testing.T) {
	for _, tt := range []struct {
		taken func(rate float64, n int) bool
		want  string
	}{
		{func(float64, int) bool { return true }, "all of 12 rates were taken, the highest"},
		{func(float64, int) bool { return false }, "none of 12 rates was taken, the lowest"},
		{func(_ float64, n int) bool { return n%2 == 0 }, "12 measurements were not enough"},
	} {
		s := &Search{First: 1000, Finest: .01, Most: 12}
		n := 0
		for rate, more := s.Next(); more; rate, more = s.Next() {
			s.Tell(rate, tt.taken(rate, n), rate)
			n++
		}
		expect.True(t, strings.HasPrefix(s.Doubt(), tt.want), "%q; want %q", s.Doubt(), tt.want)
	}
}

// What waits grows where more is offered than is built, before any event is refused; and not where all is built.
func TestGrowth(t *testing.T) {
	for _, tt := range []struct{ rate, want float64 }{{900, 0}, {990, 0}, {1020, .0196}, {1100, .0909}, {1500, .3333}} {
		x := NewTrigger(Options{Clock: NewClock(Load{Rate: tt.rate}, 1), Room: 1 << 40, Group: 4, For: 20 * time.Second})
		for now := time.Duration(0); !x.Over(); now += 4 * time.Millisecond { // four events
			x.Run(now, min(x.Accepted/4*4, 4*uint64(now/(4*time.Millisecond))))
		}
		expect.True(t, math.Abs(x.Growth()-tt.want) < .005 && math.Abs(x.Carried()-min(1, 1000/tt.rate)) < .01, "%g: %.3f, %.3f: %v", tt.rate, x.Growth(), x.Carried(), x.Counts)
	}
}
