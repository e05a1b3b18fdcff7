package worker_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/testing/expect"
)

// whole checks that what was accepted is built or closed, exactly, and that the clock ran as long as it should.
func whole(t *testing.T, c controller.Case, o controller.Outcome) {
	t.Helper()
	x := o.Offered
	expect.Equal(t, x.Accepted, o.Events+x.Closed, "accepted: built and closed")
	expect.Equal(t, []uint64{o.Lost, o.Unfinished, o.Assigned}, []uint64{0, 0, o.Built}, "lost, unfinished, assigned")
	ran := float64(x.Accepted+x.Refused) / c.Load.Rate
	expect.True(t, ran > c.Duration.Seconds()-.4 && ran < c.Duration.Seconds()+.6, "the clock ran %.2f s, not %v", ran, c.Duration)
}

// peersOfAll are those of a rig: a case among them has places for servers that have not joined.
func peersOfAll(n int) (out []wire.Peer) {
	for rank := range n {
		out = append(out, wire.Peer{Server: 10 + rank})
	}
	return out
}

// A server that was lost joins again, in the middle of the case: the events that have happened are built without it, all
// later ones with it, and none is lost by that. It may happen again, and in the next case all take part.
func TestBack(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Sync, modes.Unsync, modes.FreeRunning} {
		for _, l := range []load.Load{{Rate: .5 * inMemory, Buffer: 1 << 20}, {Rate: 2 * inMemory, Buffer: 40_000, Arrival: load.Poisson}} {
			virtual(t, fmt.Sprint(mode, l), func(t *testing.T) {
				r := newRig(t, 4)
				r.returns = true
				r.start()
				c := offeredCase(mode, l, 8*time.Second)
				c.Load.GoesOn, c.Peers = true, peersOfAll(4)
				for i := range 2 {
					time.AfterFunc(time.Duration(2+3*i)*time.Second, func() { r.ctl.Lose(12) })
					time.AfterFunc(time.Duration(3+3*i)*time.Second, func() { r.ctl.Admit(12) })
				}
				o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
				whole(t, c, o)
				expect.True(t, o.Complete && o.Offered.Closed > 0 && o.Offered.Closed <= 120, "%d closed of %d", o.Offered.Closed, o.Offered.Accepted)
				expect.MustTrue(t, len(o.Away) == 2, "away: %+v", o.Away)
				for i, a := range o.Away {
					from := time.Duration(2+3*i) * time.Second // less the warm-up
					expect.True(t, a.Server == 12 && a.Back && a.From > from-time.Second && a.From <= from && a.To > a.From+.8*1e9 && a.To < a.From+2*time.Second, "%d: %+v", i, a)
					expect.True(t, a.Event > 0 && a.Event < o.Offered.Accepted && (i == 0 || a.Event > o.Away[0].Event), "%d: %+v", i, a)
				}
				o = expect.Value(r.ctl.RunCase(t.Context(), c))(t)
				expect.True(t, len(o.Away) == 0 && o.Offered.Closed == 0 && o.Events == o.Offered.Accepted, "the next case: %+v, %+v", o.Away, o.Offered)
				r.stop()
			})
		}
	}
}

// A freezer stands a server still, as SIGSTOP does: neither its control connection nor its data moves.
type freezer struct {
	mu   sync.Mutex
	open chan struct{} // closed while it runs
}

func newFreezer() *freezer {
	f := &freezer{open: make(chan struct{})}
	close(f.open)
	return f
}

func (f *freezer) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = make(chan struct{})
}

func (f *freezer) run() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.open)
}

func (f *freezer) wait() {
	f.mu.Lock()
	open := f.open
	f.mu.Unlock()
	<-open
}

type frozen struct {
	net.Conn
	f *freezer
}

func (c frozen) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.f.wait()
	return n, err
}

func (c frozen) Write(p []byte) (int, error) {
	c.f.wait()
	return c.Conn.Write(p)
}

// still has one rank of a rig stand still whenever its freezer stops it.
func (r *rig) still(rank int) *freezer {
	f := newFreezer()
	r.hold(rank, func(context.Context) error {
		f.wait()
		return nil
	})
	r.freezes = func(of int, c net.Conn) net.Conn {
		if of == rank {
			return frozen{c, f}
		}
		return c
	}
	return f
}

// A server that stands still for the time-out is lost to a case that goes on, and joins again when it moves; one that
// stands still for less delays the others.
//
//gate:race
func TestStill(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Sync, modes.Unsync} {
		for _, tt := range []struct {
			name string
			for_ time.Duration
			lost bool
		}{{"long", 7 * time.Second, true}, {"short", 2 * time.Second, false}, {"as long as the time-out", 4100 * time.Millisecond, true}} {
			virtual(t, fmt.Sprint(mode, " ", tt.name), func(t *testing.T) {
				r := newRig(t, 4)
				r.returns = true
				f := r.still(2)
				r.start()
				c := offeredCase(mode, load.Load{Rate: .1 * inMemory, Buffer: 1 << 18, GoesOn: true}, 14*time.Second)
				c.Peers = peersOfAll(4)
				time.AfterFunc(2*time.Second, f.stop)
				time.AfterFunc(2*time.Second+tt.for_, f.run)
				o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
				whole(t, c, o)
				for _, a := range o.Away {
					expect.True(t, a.Server == 12 && a.Back && a.Event > 0, "%+v", a)
				}
				expect.True(t, tt.lost || len(o.Away) == 0, "away: %+v", o.Away)
				r.stop()
			})
		}
	}
}

// Servers that are lost and come back all the time, each in its own rhythm, lose no event: what is offered is built,
// closed or refused.
//
//gate:race
func TestBackOverlapping(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Sync, modes.Unsync} {
		virtual(t, string(mode), func(t *testing.T) {
			r := newRig(t, 5)
			r.returns = true
			r.start()
			c := offeredCase(mode, load.Load{Rate: .1 * inMemory, Buffer: 1 << 18, GoesOn: true}, 8*time.Second)
			c.Rows, c.Peers = rows(5), peersOfAll(5)
			for rank, every := range []time.Duration{1700, 2300, 3100} {
				every *= time.Millisecond
				for at := every; at < 8*time.Second; at += every {
					time.AfterFunc(at, func() { r.ctl.Lose(10 + rank) })
					time.AfterFunc(at+every/3, func() { r.ctl.Admit(10 + rank) })
				}
			}
			o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
			whole(t, c, o)
			expect.True(t, len(o.Away) > 5, "away: %+v", o.Away)
			r.stop()
		})
	}
}
