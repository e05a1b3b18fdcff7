package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/transport"
)

// pairsCase is a case in which fragments differ in size and every pair counts.
func pairsCase(n int, mode modes.Mode) controller.Case {
	c := newCase(n, mode)
	c.Sizes.Spread, c.Pairs = 0.5, true
	return c
}

// checkPairs checks that what came by source makes what came, and that time was taken in the modes that can tell.
func checkPairs(t *testing.T, o controller.Outcome, mode modes.Mode) {
	t.Helper()
	for _, s := range o.Servers {
		expect.MustTrue(t, len(s.Sources) == len(o.Servers), "server %d counts %d sources", s.Server, len(s.Sources))
		var sum uint64
		for src, f := range s.Sources {
			sum += f.Bytes
			expect.True(t, (f.Bytes > 0 && mode != modes.FreeRunning) == (f.Took > 0) && f.Took <= s.LastReceive,
				"rank %d from %d: %+v of %v", s.Rank, src, f, s.LastReceive)
		}
		expect.True(t, sum == s.ReceivedBytes && s.Sources[s.Rank] == (wire.Source{}),
			"rank %d: %d bytes by source, received %d; of itself %+v", s.Rank, sum, s.ReceivedBytes, s.Sources[s.Rank])
	}
}

// In every mode the sources of each server make what it received.
func TestPairs(t *testing.T) {
	for _, mode := range allModes {
		for _, n := range []int{2, 5, 8} {
			virtual(t, fmt.Sprintf("%s/%d", mode, n), func(t *testing.T) {
				r := newRig(t, n).start()
				c := pairsCase(n, mode)
				samples := collect(&c)
				o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
				checkPairs(t, o, mode)
				var sampled, counted uint64
				for _, s := range *samples {
					sampled += s.PayloadBytes
				}
				for _, s := range o.Servers {
					for src, f := range s.Sources {
						counted += f.Bytes
						expect.False(t, src != s.Rank && f.Bytes < 6*500, "rank %d has %d bytes of %d in six events", s.Rank, f.Bytes, src)
					}
				}
				expect.Equal(t, sampled, counted, "bytes sampled, by source")
			})
		}
	}
}

// An interrupted case has what came until then.
//
//gate:race
func TestPairsInterrupted(t *testing.T) {
	inModes(t, func(t *testing.T, mode modes.Mode) {
		r := newRig(t, 4).start()
		c := pairsCase(4, mode)
		c.Exchanges, c.Duration = 0, time.Hour
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("interrupted"))
		defer cancel()
		o, err := r.ctl.RunCase(ctx, c)
		expect.True(t, err != nil && !o.Complete && o.Events != 0, "error %v, %+v", err, o)
		checkPairs(t, o, mode)
	})
}

// A laggard's fragments take longer from one source than from the others.
type laggard struct {
	transport.Endpoint
	of   int
	late time.Duration
	own  bool // its own sends are late instead, and it says when it had received
}

func (l laggard) Exchange(ctx context.Context, ops []transport.Op) error {
	err := l.Endpoint.Exchange(ctx, ops)
	at := time.Now()
	for i := range ops {
		op := &ops[i]
		if slow := op.Peer == l.of && (op.Kind == transport.Send) == l.own; slow {
			time.Sleep(l.late) // of virtual time
		}
		if l.own && op.Kind == transport.Recv {
			op.Done = at
		}
	}
	return err
}

// A slow pair is the slow one, and no other: neither those that wait for it at the
// barrier, nor the one whose receiver has a slow send meanwhile.
func TestSlowPair(t *testing.T) {
	const n, late = 5, 20 * time.Millisecond
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, n)
			r.only(2, func(ep transport.Endpoint) transport.Endpoint { return laggard{ep, 4, late, own} })
			r.start()
			o := expect.Value(r.ctl.RunCase(t.Context(), pairsCase(n, modes.Sync)))(t)
			for _, s := range o.Servers {
				for src, f := range s.Sources {
					want := 6 * linkTime
					switch {
					case src == s.Rank:
						want = 0
					case s.Rank == 2 && src == 4 && !own:
						want += 6 * late
					}
					expect.Equal(t, f.Took, want, "own sends late %v: %d to %d took", own, src, s.Rank)
				}
			}
		})
	}
}
