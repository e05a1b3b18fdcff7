package worker_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/testing/expect"
)

// Four servers build four events in 15 ms: three fragments of 5 ms each.
const inMemory = 4 / .015

// offeredCase is a case of four servers with a load.
func offeredCase(mode modes.Mode, l load.Load, d time.Duration) controller.Case {
	c := lasting(4, mode, d)
	c.Load = l
	return c
}

// Below what the network carries all events are built; above it the rest is refused, and what is offered is built or
// refused, exactly.
func TestClock(t *testing.T) {
	for _, mode := range allModes {
		loads := []load.Load{
			{Rate: .8 * inMemory, Arrival: load.Poisson}, {Rate: 1.1 * inMemory, Buffer: 32_000},
			{Rate: .5 * inMemory}, {Rate: .95 * inMemory}, {Rate: .5 * inMemory, Arrival: load.Bursts, Burst: 10},
			{Rate: 1.5 * inMemory, Buffer: 32_000}, {Rate: 1.5 * inMemory, Arrival: load.Poisson, Buffer: 64_000},
		}
		for _, l := range loads[:expect.Samples(len(loads), 2)] { // goroutines meet alike under each
			virtual(t, fmt.Sprint(mode, l), func(t *testing.T) {
				c := offeredCase(mode, l, 6*time.Second)
				sampled, aged := 0, 0.0
				c.OnSample = func(s results.Sample) {
					if b := s.Buffers; b != nil {
						sampled, aged = sampled+1, max(aged, s.LatencySec)
						expect.Equal(t, b.Waiting+b.Sending+b.Free, l.Room(c.Fragment), "%+v of a buffer", *b)
						expect.True(t, b.Offered >= b.Refused+b.Waiting+b.Sending, "%+v", *b)
					}
				}
				o := expect.Value(newRig(t, 4).start().ctl.RunCase(t.Context(), c))(t)
				x := o.Offered
				expect.True(t, sampled > 0 && aged > .0075 && aged <= x.Latency.Quantiles().Max, "%d samples, latency %v", sampled, aged)
				expect.Equal(t, []uint64{o.Events, o.Lost, o.Unfinished}, []uint64{x.Accepted, 0, 0}, "events, lost, unfinished")
				expect.Equal(t, x.Latency.Count(), x.Accepted, "latencies")
				expect.Equal(t, x.Waited.Count(), x.Accepted, "waits")
				share := l.Rate / inMemory
				dead := float64(x.Refused) / float64(x.Accepted+x.Refused)
				if share < 1 && x.Refused > 0 || share > 1 && mode == modes.Sync && math.Abs(dead-(1-1/share)) > .04 {
					t.Errorf("%.2f of what the network carries: %+v, dead %.3f", share, x.Counts, dead)
				}
				offered := float64(x.Accepted+x.Refused) / l.Rate
				expect.True(t, math.Abs(offered/6-1) < .06, "the clock ran %.2f s, not 6", offered)
				q := x.Latency.Quantiles()
				expect.True(t, q.P50 >= .0075 && q.Max >= q.P999 && x.Waited.Quantiles().P50 <= q.P50, "latency %+v, wait %+v", q, x.Waited.Quantiles())
				p := x.Parts.Times()
				mean := p.Buffer.Mean + p.Order.Mean + p.Wire.Mean + p.Builder.Mean
				expect.True(t, x.Parts[2].Count() == x.Accepted && math.Abs(mean/x.Latency.Mean()-1) < .002, "parts %+v of latency %v", p, x.Latency.Mean())
				expect.True(t, p.Wire.P50 >= .005 && (p.Wire.P50 < .035 || mode == modes.Ordered) && p.Builder.Max < 1e-6, "parts %+v", p)
				if room := float64(l.Buffer) / 1000; share > 1 { // the buffers are full: an event waits for as many as they hold
					expect.True(t, mode != modes.Sync || math.Abs(q.P50/(room/inMemory)-1) < .25, "latency %+v with room for %v", q, room)
				}
			})
		}
	}
}

// Each event of a trace has its own sizes, whether or not others were refused: of twelve that happen together, or 1 ms
// later, the buffers have room for eight, and when the others happen for all.
func TestTraceRefused(t *testing.T) {
	inModes(t, func(t *testing.T, mode modes.Mode) {
		trace, want := builder.Trace{}, uint64(0)
		for event := range 24 {
			at := [...]time.Duration{0, 0, time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second}[event/4]
			trace.Times = append(trace.Times, at)
			for range 4 {
				trace.Table = append(trace.Table, uint32(100<<(event/4)))
			}
			if event/4 != 2 && event < 20 {
				want += 3 * 100 << (event / 4)
			}
		}
		c := offeredCase(mode, load.Load{Rate: trace.Rate(), Arrival: load.Traced, Times: trace.Times, Held: 8}, 0)
		c.Exchanges = 4
		c.Sizes = builder.Distribution{By: builder.ByEvent, Scale: 1, Table: trace.From(4 * c.Warmup)}
		o := expect.Value(newRig(t, 4).start().ctl.RunCase(t.Context(), c))(t)
		got := uint64(0)
		for _, s := range o.Servers {
			got += s.ReceivedBytes
		}
		expect.Equal(t, []uint64{o.Events, o.Offered.Refused, o.CorruptFragments, got}, []uint64{16, 4, 0, want}, "built, refused, corrupt, bytes")
	})
}

// A quiet clock is no standstill, and exchanges may be counted instead of time.
func TestQuietClock(t *testing.T) {
	for _, mode := range allModes {
		virtual(t, string(mode), func(t *testing.T) {
			c := offeredCase(mode, load.Load{Rate: .25, Buffer: 64 * unit.Bytes(1<<20)}, 0) // the time-out is 4 s
			c.Exchanges = 5
			o := expect.Value(newRig(t, 4).start().ctl.RunCase(t.Context(), c))(t)
			expect.Equal(t, []uint64{o.Events, o.Offered.Accepted, o.Offered.Refused}, []uint64{20, 20, 0}, "events, accepted, refused")
			expect.True(t, o.Span > 60*time.Second, "span %v", o.Span)
		})
	}
}

// The end of a case that fails counts what was accepted and not built.
//
//gate:race
func TestClockOfFailure(t *testing.T) {
	virtual(t, "killed", func(t *testing.T) {
		r := newRig(t, 4).start()
		time.AfterFunc(3*time.Second, func() { r.kill[2]() })
		c := offeredCase(modes.Sync, load.Load{Rate: .5 * inMemory}, 20*time.Second)
		o, err := r.ctl.RunCase(t.Context(), c)
		expect.True(t, err != nil && o.Offered.Accepted > o.Events && o.Offered.Accepted >= 300, "%v: %+v of %+v", err, o.Events, o.Offered)
		r.stop(2)
	})
}
