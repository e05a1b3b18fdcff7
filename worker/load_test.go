package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder/modes"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/worker"
)

// A watch is what some workers say of their machine: how long they have watched it. It keeps how often that began.
type watch struct {
	ranks []int

	mu    sync.Mutex
	began int
}

func (w *watch) options(rank int, o *worker.Options) {
	if !slices.Contains(w.ranks, rank) {
		return
	}
	o.Load = func() func() results.Load {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.began++
		from := time.Now()
		return func() results.Load {
			return results.Load{Host: fmt.Sprint("host", rank), Cores: 2, WallSec: time.Since(from).Seconds(), StealSec: new(float64)}
		}
	}
}

// Those that can say what their machine did say so, in order of rank, of the counted part of each case.
func TestLoads(t *testing.T) {
	inModes(t, func(t *testing.T, mode modes.Mode) {
		w := &watch{ranks: []int{2, 0}}
		r := newRig(t, 4)
		r.options = w.options
		r.start()
		for i := range 2 {
			o := expect.Value(r.ctl.RunCase(t.Context(), newCase(4, mode)))(t)
			expect.MustTrue(t, w.began == 2*(i+1) && len(o.Loads) == 2 && o.Loads[0].Host == "host0" && o.Loads[1].Host == "host2",
				"case %d: %d times begun, loads %+v", i, w.began, o.Loads)
			for j, l := range o.Loads {
				s := o.Servers[2*j]
				expect.True(t, l.WallSec >= s.LastReceive.Seconds() && l.WallSec <= s.LastReceive.Seconds()+1 && l.StealSec != nil && l.CPUSec == nil,
					"rank %d: %+v, its last receive was after %v", s.Rank, l, s.LastReceive)
			}
		}
	})
}

// A case that ends early has loads; one that does not begin has none, and nobody watches.
func TestLoadsOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watch{ranks: []int{0}}
		r := newRig(t, 3)
		r.options = w.options
		r.start()
		bad := newCase(3, modes.Sync)
		bad.Fragment = 0
		if o, err := r.ctl.RunCase(t.Context(), bad); err == nil || o.Loads != nil || w.began != 0 {
			t.Errorf("refused: %v, loads %+v, %d times begun", err, o.Loads, w.began)
		}
		long := lasting(3, modes.Sync, time.Hour)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("interrupted"))
		defer cancel()
		o, err := r.ctl.RunCase(ctx, long)
		expect.True(t, err != nil && len(o.Loads) == 1 && o.Loads[0].WallSec >= 0.5, "interrupted: %v, loads %+v", err, o.Loads)
		expect.True(t, o.Took.Exchanges != 0 && o.Took.Exchanges <= o.Events/3,
			"%d exchanges have a duration, %d events are built", o.Took.Exchanges, o.Events)
	})
}

// A machine that says what cannot be ends the case, with the name of the figure.
func TestLoadRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3)
		r.options = func(rank int, o *worker.Options) {
			o.Load = func() func() results.Load {
				return func() results.Load { return results.Load{WallSec: 1, OthersSec: new(float64(rank - 1))} }
			}
		}
		r.start()
		o, err := r.ctl.RunCase(t.Context(), newCase(3, modes.Sync))
		expect.Error(t, err, "server 10: load: others_s: -1, must be 0..1e+09")
		expect.True(t, len(o.Loads) <= 2 && o.Servers[0].Load == nil, "loads %+v", o.Loads)
	})
}

// In every mode the durations add up to the time from the first send to the last receive,
// however many exchanges an entry stands for.
func TestTook(t *testing.T) {
	for _, mode := range allModes {
		for _, exchanges := range []uint64{6, 1500} {
			virtual(t, fmt.Sprint(mode, exchanges), func(t *testing.T) {
				r := newRig(t, 3).start()
				c := newCase(3, mode)
				c.Exchanges, c.Interval = exchanges, time.Minute
				o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
				var mean, sum float64
				for _, s := range o.Servers {
					var all time.Duration
					for _, d := range s.Took.Durations {
						all += d
					}
					expect.True(t, all == s.LastReceive-s.FirstSend && s.Took.Events == exchanges,
						"rank %d: %d durations make %v, from first to last are %v", s.Rank, s.Took.Events, all, s.LastReceive-s.FirstSend)
					mean += all.Seconds() / 3
				}
				var first uint64
				for _, e := range o.Took.Times() {
					expect.MustTrue(t, e.Exchange == first && e.Exchanges >= 1, "%+v, want exchange %d", e, first)
					first += uint64(e.Exchanges)
					sum += e.DurationSec
				}
				expect.True(t, first == exchanges && sum >= mean*(1-1e-9) && sum <= mean*(1+1e-9),
					"%d exchanges in %v s, want %d in %v s", first, sum, exchanges, mean)
			})
		}
	}
}
