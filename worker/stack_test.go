package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"evbench/barrier"
	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/transport"
)

// Every mode builds exactly the events that it should, on few servers and many.
func TestModes(t *testing.T) {
	for _, mode := range allModes {
		for _, n := range []int{2, 5, 8} {
			virtual(t, fmt.Sprintf("%s/%d", mode, n), func(t *testing.T) {
				r := newRig(t, n).start()
				c := newCase(n, mode)
				samples := collect(&c)
				paused := 0
				c.OnMeasure = func() { paused++ }
				o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
				expect.Equal(t, paused, 1, "calls of OnMeasure")
				checkOutcome(t, o, n, mode)
				checkSamples(t, *samples, o)
			})
		}
	}
}

func checkOutcome(t *testing.T, o controller.Outcome, n int, mode modes.Mode) {
	t.Helper()
	all := uint64(8 * n) // six exchanges or events of each server count, two warm up
	expect.True(t, o.Complete && o.Assigned == all && o.Built == all && o.Lost+o.Duplicate+o.Unknown+o.Unfinished == 0,
		"outcome %+v; want %d assigned and built", o, all)
	expect.True(t, o.LateFragments+o.DuplicateFragments+o.CorruptFragments+o.StrayFragments == 0, "damaged fragments: %+v", o)
	want := map[bool]uint64{true: 0, false: 6}[mode == modes.Unsync]
	expect.True(t, o.Exchanges == want, "%d exchanges, want %d", o.Exchanges, want)
	for _, s := range o.Servers {
		peers := uint64(n - 1)
		expect.False(t, s.Server != 10+s.Rank || s.Events != 6 || s.ReceivedBytes != 6*peers*1000 || s.SentBytes != s.ReceivedBytes || s.EventBytes != 6*(peers+1)*1000,
			"server %+v; want 6 events of %d fragments", s, n)
		expect.True(t, s.FirstSend >= 0 && s.LastReceive > s.FirstSend && s.LastReceive-s.FirstSend <= o.Span,
			"server %d: %v to %v, span %v", s.Server, s.FirstSend, s.LastReceive, o.Span)
		expect.True(t, s.EventMin > 0 && s.EventMin <= s.EventMean && s.EventMean <= s.EventMax,
			"server %d: event time %v, %v, %v", s.Server, s.EventMin, s.EventMean, s.EventMax)
	}
}

// The samples of an undisturbed case add up to its totals.
func checkSamples(t *testing.T, all []results.Sample, o controller.Outcome) {
	t.Helper()
	var events, payload uint64
	span := map[int]float64{}
	for _, s := range all {
		events += s.Events
		payload += s.PayloadBytes
		span[s.Server] += s.IntervalSec
		if diff := s.TSec - span[s.Server]; diff < -1e-9 || diff > 1e-9 {
			t.Errorf("server %d: sample ends at %v, intervals make %v", s.Server, s.TSec, span[s.Server])
		}
		expect.False(t, s.Events > 0 && s.EventBytes != uint64(len(o.Servers))*1000, "sample %+v: event bytes", s)
	}
	var received uint64
	for _, s := range o.Servers {
		received += s.ReceivedBytes
	}
	expect.True(t, events == o.Events && payload == received && o.Samples == len(all) && len(all) != 0,
		"%d samples with %d events, %d bytes; want %d samples with %d, %d", len(all), events, payload, o.Samples, o.Events, received)
}

// One session runs different cases one after the other.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4
		r := newRig(t, n).start()
		for _, tt := range []struct {
			name   string
			mode   modes.Mode
			change func(*controller.Case)
		}{
			{"central barrier", modes.Sync, func(c *controller.Case) { c.Barrier = barrier.Central }},
			{"dissemination barrier", modes.Sync, func(c *controller.Case) { c.Barrier = barrier.Dissemination }},
			{"discard", modes.Sync, func(c *controller.Case) { c.Deliver = builder.DeliverDiscard }},
			{"unequal", modes.FreeRunning, func(c *controller.Case) { c.Sizes.Spread = 0.5 }},
			{"unequal and asked for", modes.Unsync, func(c *controller.Case) { c.Sizes.Spread = 0.9; c.Credits = 3 }},
			{"discard what is asked for", modes.Unsync, func(c *controller.Case) {
				c.Deliver, c.Check = builder.DeliverDiscard, builder.CheckHeader
			}},
			{"no warm-up", modes.FreeRunning, func(c *controller.Case) { c.Warmup = 0 }},
			{"no warm-up, no schedule", modes.Unsync, func(c *controller.Case) { c.Warmup, c.Rows = 0, nil }},
		} {
			c := newCase(n, tt.mode)
			c.Name = tt.name
			tt.change(&c)
			o, err := r.ctl.RunCase(t.Context(), c)
			want := n * (c.Warmup + c.Exchanges)
			expect.True(t, err == nil && o.Built == want && o.Assigned == want && o.Events == n*c.Exchanges,
				"%s: %v; built %d of %d, want %d; %d counted", tt.name, err, o.Built, o.Assigned, want, o.Events)
			expect.True(t, o.CorruptFragments+o.StrayFragments == 0, "%s: damaged fragments: %+v", tt.name, o)
		}
	})
}

// differing are all ways in which sizes of fragments for 4 servers differ.
var differing = []builder.Distribution{
	{Spread: 0.5},
	{Kind: builder.Exponential, By: builder.BySource},
	{Kind: builder.LogNormal, Sigma: 1, By: builder.BySourceEvent},
	{Kind: builder.Exponential, Fanout: 1},
	{By: builder.ByExchange, Scale: 1, Table: []uint32{1, 0, 3000, 4, 0, 0, 0, 0, 5000, 1, 1, 0}},
}

// Every event is complete and right, however sizes differ: a fragment of no bytes is a message without a body.
//
//gate:race
func TestSizesDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4
		r := newRig(t, n).start()
		for _, d := range differing {
			for _, mode := range allModes {
				for _, deliver := range []string{builder.DeliverBuffer, builder.DeliverDiscard} {
					c := newCase(n, mode)
					c.Name, c.Sizes, c.Deliver, c.Pairs = fmt.Sprintf("%+v %s %s", d, mode, deliver), d, deliver, true
					if deliver == builder.DeliverDiscard && mode != modes.Sync {
						c.Check = builder.CheckHeader
					}
					o, err := r.ctl.RunCase(t.Context(), c)
					want := n * (c.Warmup + c.Exchanges)
					if err != nil || o.Built != want || o.Assigned != want || o.Events != n*c.Exchanges || o.CorruptFragments+o.StrayFragments != 0 {
						t.Errorf("%s: %v; %+v", c.Name, err, o)
						continue
					}
					if mode != modes.Unsync {
						checkBytes(t, c, o)
					}
				}
			}
		}
	})
}

// checkBytes holds what came of each source against the sizes of the counted exchanges.
func checkBytes(t *testing.T, c controller.Case, o controller.Outcome) {
	t.Helper()
	n := uint64(len(o.Servers))
	sizes := c.FragmentSizes()
	sizes.Servers = int(n)
	for rank, s := range o.Servers {
		for src, got := range s.Sources {
			want := uint64(0)
			for e := c.Warmup; src != rank && e < c.Warmup+c.Exchanges; e++ {
				want += uint64(sizes.Of(e*n+uint64(rank), src))
			}
			expect.True(t, got.Bytes == want, "%s: rank %d got %d bytes of %d, want %d", c.Name, rank, got.Bytes, src, want)
		}
	}
}

// By duration, all servers run the same number of whole exchanges, and the last ends soon after the time is over.
func TestDuration(t *testing.T) {
	inModes(t, func(t *testing.T, mode modes.Mode) {
		const n = 4
		r := newRig(t, n).start()
		c := lasting(n, mode, time.Second)
		o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
		expect.True(t, o.Built == o.Assigned && o.Span >= 900*time.Millisecond && o.Span <= 1100*time.Millisecond,
			"built %d of %d in %v, want 1s", o.Built, o.Assigned, o.Span)
		for _, s := range o.Servers {
			expect.False(t, mode != modes.Unsync && (s.Events != o.Exchanges || s.Totals.Exchanges != o.Exchanges || len(s.Done) != 1),
				"server %d: %d events of %d exchanges, done %v", s.Server, s.Events, o.Exchanges, s.Done)
		}
	})
}

// What the workers refuse names the field, and leaves them fit for the next case.
func TestRefusedConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3).start()
		for _, tt := range []struct {
			want   string
			change func(*controller.Case)
		}{
			{"fragment: 0 bytes", func(c *controller.Case) { c.Fragment = 0 }},
			{`no barrier "b"`, func(c *controller.Case) { c.Barrier = "b" }},
			{"rank 1 is left out", func(c *controller.Case) { c.Rows[0][0].To = -1 }},
		} {
			c := newCase(3, modes.Sync)
			tt.change(&c)
			_, err := r.ctl.RunCase(t.Context(), c)
			expect.Error(t, err, tt.want)
		}
		expect.OK(t, expect.Err(r.ctl.RunCase(t.Context(), newCase(3, modes.Sync))), "after the refusals")
	})
}

// Ctrl-C ends a case within two seconds and keeps what was measured.
//
//gate:race
func TestInterrupt(t *testing.T) {
	inModes(t, func(t *testing.T, mode modes.Mode) {
		r := newRig(t, 4).start()
		c := lasting(4, mode, time.Hour)
		samples := collect(&c)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("interrupted"))
		defer cancel()
		began := time.Now()
		o, err := r.ctl.RunCase(ctx, c)
		if err == nil || err.Error() != "interrupted" || time.Since(began) > 3*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		expect.False(t, o.Complete || o.Events == 0 || len(*samples) == 0 || o.Lost != 0 || o.Built+o.Unfinished != o.Assigned && mode != modes.Unsync,
			"outcome %+v", o)
	})
}

// A mute endpoint does not confirm its last fragment to each peer.
type mute struct {
	transport.Endpoint
	each int // fragments to a peer in all
	sent map[int]int
}

func (m mute) Poll(ctx context.Context, done []transport.Op) (int, error) {
	for {
		n, err := m.Endpoint.Poll(ctx, done)
		told := slices.DeleteFunc(done[:n:n], func(op transport.Op) bool {
			if op.Kind == transport.Send {
				m.sent[op.Peer]++
			}
			return op.Kind == transport.Send && m.sent[op.Peer] == m.each
		})
		if err != nil || n == 0 || len(told) > 0 {
			return len(told), err
		}
	}
}

// The last fragment that a server sends is never confirmed: its builder has it, so the case ends, and counts it.
func TestUnconfirmedSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4)
		r.only(1, func(ep transport.Endpoint) transport.Endpoint { return mute{ep, 8, map[int]int{}} })
		r.start()
		checkOutcome(t, expect.Value(r.ctl.RunCase(t.Context(), newCase(4, modes.Unsync)))(t), 4, modes.Unsync)
	})
}
