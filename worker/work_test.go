package worker_test

import (
	"math"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/testing/expect"
)

// Events by free buffers go past a builder that works at half speed, which holds up all others where each gets equally
// many; a full builder leaves events with the sources. Four builders, 25 events/s each, one 12.5: of 85 events/s offered
// the one takes all, the other what four slow builders do.
func TestSlowBuilder(t *testing.T) {
	run := func(t *testing.T, assign string, l load.Load) controller.Outcome {
		c := offeredCase(modes.Unsync, l, 60*time.Second)
		c.Assign = assign
		o := expect.Value(newRig(t, 4).start().ctl.RunCase(t.Context(), c))(t)
		expect.Equal(t, []uint64{o.Events, o.Lost}, []uint64{o.Offered.Accepted, 0}, "%s: built, lost", assign)
		return o
	}
	virtual(t, "", func(t *testing.T) {
		l := load.Load{Rate: 85, Buffer: 20_000, Build: 40 * time.Millisecond, Slow: []int{13}}
		next, free := run(t, builder.AssignNext, l), run(t, builder.AssignFree, l)
		if ratio := float64(free.Events) / float64(next.Events); ratio < 1.6 {
			t.Errorf("free builds %d events, next %d: %.2f times", free.Events, next.Events, ratio)
		}
		expect.Equal(t, free.Offered.Refused, 0, "refused by free buffers")
		p := free.Offered.Parts.Times()
		expect.True(t, p.Builder.P50 >= .0399 && math.Abs((p.Buffer.Mean+p.Order.Mean+p.Wire.Mean+p.Builder.Mean)/free.Offered.Latency.Mean()-1) < .002, "parts %+v", p)
		share := float64(free.Servers[3].Events) / float64(free.Servers[0].Events)
		expect.True(t, share > .4 && share < .6, "the slow builder has %.2f of the events of another", share)
		l.Varies, l.Slow = load.Variation{Kind: load.Exponential}, nil
		varies := run(t, builder.AssignFree, l)
		p = varies.Offered.Parts.Times()
		expect.True(t, p.Builder.P50 >= .01 && varies.Offered.Refused < 100 && varies.Events > 5000 && p.Builder.P99 > .15, "work varies: %d events of %+v, parts %+v", varies.Events, varies.Offered.Counts, p)
		l.Varies, l.Slow = load.Variation{}, []int{13}
		l.Builder = 8000 // two events
		held := run(t, builder.AssignNext, l)
		expect.True(t, held.Events < next.Events+20 && held.Offered.Waited.Quantiles().P50 > .1, "%d events, next %d without a limit", held.Events, next.Events)
	})
}
