package worker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder/modes"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/transport"
)

// Who writes samples may stand still for longer than any time-out: the case goes on, and all
// samples are there in the end.
func TestSamplesAreWrittenBesideTheCase(t *testing.T) {
	inModes(t, func(t *testing.T, mode modes.Mode) {
		r := newRig(t, 4).start()
		c := newCase(4, mode)
		c.Exchanges, c.Duration, c.Timeout = 0, 3*time.Second, time.Second
		all := collect(&c)
		write := c.OnSample
		c.OnSample = func(s results.Sample) {
			if len(*all) == 20 {
				time.Sleep(3 * c.Timeout)
			}
			write(s)
		}
		o, err := r.ctl.RunCase(t.Context(), c)
		expect.True(t, err == nil && o.Complete && o.Samples == len(*all) && o.Samples != 0,
			"%d samples written of %d, complete %v: %v", len(*all), o.Samples, o.Complete, err)
	})
}

// Setting up a case may take longer than any time-out, as long as it gets on.
//
//gate:race
func TestOpeningTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4)
		c := newCase(4, modes.Sync)
		c.Timeout = 10 * time.Second
		r.opening = func(moved func()) {
			for range 20 {
				time.Sleep(c.Timeout / 4)
				moved()
			}
		}
		o, err := r.start().ctl.RunCase(t.Context(), c)
		expect.True(t, err == nil && o.Complete, "complete %v: %v", o.Complete, err)
	})
}

// A server is cut off for longer than the time-out. Where that is allowed the case goes on once
// it is back, and nothing is lost; where it is not back by then, the time-out begins.
func TestPatience(t *testing.T) {
	for _, mode := range allModes {
		for _, back := range []bool{true, false} {
			t.Run(fmt.Sprint(mode, " back ", back), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { bearing(t, mode, back) })
			})
		}
	}
}

func bearing(t *testing.T, mode modes.Mode, back bool) {
	const n, cut = 4, 5 * time.Second
	r := newRig(t, n)
	var dead atomic.Bool
	again := make(chan struct{})
	r.hold(2, func(ctx context.Context) error {
		if !dead.Load() {
			return nil
		}
		select {
		case <-again:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	r.start()
	c := newCase(n, mode)
	c.Exchanges, c.Duration, c.Timeout = 0, 6500*time.Millisecond, time.Second
	c.OnMeasure = func() {
		time.AfterFunc(time.Second, func() {
			dead.Store(true)
			r.ctl.Allow(cut)
			if time.Sleep(cut); back {
				close(again)
			}
		})
	}
	began := time.Now()
	o, err := r.ctl.RunCase(t.Context(), c)
	switch d := time.Since(began); {
	case !back:
		expect.Error(t, err, "measurement", "server 12")
		expect.True(t, d >= cut && d <= cut+3*c.Timeout, "ended after %v", d)
	case err != nil || !o.Complete || o.Lost != 0 || o.Built != o.Assigned || d < c.Duration:
		t.Errorf("after %v, outcome %+v, %v", d, o, err)
	}
}

// A trickle is an endpoint whose bytes move all the time, as seen by those that look at one peer.
type trickle struct {
	transport.Endpoint
	of func(peer int) bool
}

func (t trickle) Moved(peer int) (m transport.Movement) {
	if t.of(peer) {
		m.Out = uint64(time.Now().UnixMilli())
		m.In = m.Out
	}
	return m
}

// Slow is not lost: fragments of a server take three time-outs, and its bytes move; the others wait
// for it. If its bytes do not move, it is lost.
//
//gate:race
func TestSlowIsNotLost(t *testing.T) {
	for _, mode := range allModes {
		for _, moves := range []bool{true, false} {
			virtual(t, fmt.Sprint(mode, " moves ", moves), func(t *testing.T) { trickling(t, mode, moves) })
		}
	}
}

func trickling(t *testing.T, mode modes.Mode, moves bool) {
	const slow = 2
	r := newRig(t, 4)
	c := newCase(4, mode)
	c.Exchanges = 60
	calls := 0
	r.wrap = func(rank int, ep transport.Endpoint) transport.Endpoint {
		if rank == slow {
			ep = held{ep, func(context.Context) error {
				if calls++; calls == 30 {
					time.Sleep(3 * c.Timeout)
				}
				return nil
			}}
		}
		of := func(peer int) bool { return rank == slow || mode == modes.Unsync && peer == slow }
		if moves {
			return trickle{ep, of}
		}
		return ep
	}
	r.start()
	began := time.Now()
	o, err := r.ctl.RunCase(t.Context(), c)
	if !moves {
		expect.Error(t, err, "measurement", "server 12")
		return
	}
	expect.True(t, err == nil && o.Complete && o.Lost == 0 && o.Built == o.Assigned, "outcome %+v, %v", o, err)
	expect.True(t, time.Since(began) > 3*c.Timeout, "nothing took long")
}
