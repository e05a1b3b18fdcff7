package worker_test

import (
	"context"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
)

// An event without a fragment is closed after a while and its source is named; the run goes on, and what is offered is
// complete, incomplete or refused.
func TestIncomplete(t *testing.T) {
	for _, tt := range []struct {
		name           string
		check, deliver string
		sources        int
		rate           float64
		silent         bool // rank 1 stands still for two of six seconds, else one of its fragments never comes
		fewest, most   uint64
		refused        bool
	}{
		{"silent", builder.CheckPayload, builder.DeliverBuffer, 0, .3, true, 60, 320, false},
		{"silent, header", builder.CheckHeader, builder.DeliverDiscard, 0, .3, true, 60, 320, false},
		{"silent, one source at a time", builder.CheckPayload, builder.DeliverBuffer, 1, .2, true, 40, 220, false},
		{"lost fragment", builder.CheckPayload, builder.DeliverBuffer, 0, .3, false, 90, 130, false},
		{"too much", builder.CheckPayload, builder.DeliverBuffer, 0, 3, true, 60, 2000, true},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			r := newRig(t, 4)
			if began := time.Now(); tt.silent {
				r.hold(1, func(context.Context) error {
					if at := time.Since(began); at > 2*time.Second && at < 4*time.Second {
						time.Sleep(4*time.Second - at)
					}
					return nil
				})
			} else {
				r.fault = once(func(*transporttest.Message) transporttest.Action { return transporttest.Drop })
			}
			r.start()
			c := offeredCase(modes.Unsync, load.Load{Rate: tt.rate * inMemory, Buffer: 100_000, After: 200 * time.Millisecond}, 6*time.Second)
			c.Check, c.Deliver, c.Sources = tt.check, tt.deliver, tt.sources
			o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
			x := o.Offered
			expect.Equal(t, x.Accepted, o.Events+x.Closed, "accepted")
			expect.Equal(t, []uint64{o.Lost, o.Unfinished, o.LateFragments, o.CorruptFragments, o.StrayFragments}, make([]uint64, 5), "lost and damaged")
			expect.True(t, x.Closed >= tt.fewest && x.Closed <= tt.most, "%d of %d closed", x.Closed, x.Accepted)
			expect.True(t, x.Refused > 0 == tt.refused, "refused %d", x.Refused)
			expect.Equal(t, x.Latency.Count(), o.Events, "latencies")
			expect.True(t, x.Absent[11] >= tt.fewest && x.Absent[11] <= x.Closed, "of server 11: %v", x.Absent)
			if !tt.silent {
				expect.Equal(t, x.Absent, map[int]uint64{11: x.Closed}, "absent")
				expect.Equal(t, o.Servers[2].Incomplete, x.Closed, "at server 12")
			}
		})
	}
}
