package worker_test

import (
	"fmt"
	"testing"
	"time"

	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/testing/expect"
)

// A case goes on when a server is lost: its events are counted, all others are built, the clock does not stop, and
// cases after it go without the server. A server that only builds costs only its own events.
func TestLost(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Sync, modes.Unsync, modes.FreeRunning} {
		for _, tt := range []struct {
			name   string
			l      load.Load
			builds bool // server 12 only builds
			most   uint64
		}{
			{"half", load.Load{Rate: .5 * inMemory, Buffer: 1 << 20}, false, 30},
			{"poisson", load.Load{Rate: .5 * inMemory, Buffer: 1 << 20, Arrival: load.Poisson}, false, 30},
			{"too much", load.Load{Rate: 2 * inMemory, Buffer: 40_000}, false, 60},
			{"builder", load.Load{Rate: .5 * inMemory, Buffer: 1 << 20}, true, 10},
			{"builder, too much", load.Load{Rate: 2 * inMemory, Buffer: 40_000}, true, 20},
		} {
			virtual(t, fmt.Sprint(mode, " ", tt.name), func(t *testing.T) {
				r := newRig(t, 4).start()
				c := offeredCase(mode, tt.l, 6*time.Second)
				c.Load.GoesOn = true
				for rank := range 4 {
					c.Peers = append(c.Peers, wire.Peer{Server: 10 + rank})
				}
				if tt.builds {
					c.Readers, c.Builders = []int{0, 1, 3}, []int{0, 1, 2, 3}
					for rank, row := range c.Rows {
						for i := range row {
							if rank == 2 {
								row[i].To = -1
							}
							if row[i].From == 2 {
								row[i].From = -1
							}
						}
					}
				}
				time.AfterFunc(3*time.Second, func() { r.ctl.Lose(12) })
				o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
				x := o.Offered
				expect.Equal(t, x.Accepted, o.Events+x.Closed, "accepted: built and closed")
				expect.Equal(t, []uint64{o.Lost, o.Unfinished, o.Assigned}, []uint64{0, 0, o.Built}, "lost, unfinished, assigned")
				expect.True(t, x.Closed > 0 && x.Closed <= tt.most, "%d closed of %d", x.Closed, x.Accepted)
				expect.Equal(t, x.Absent, map[int]uint64{12: x.Closed}, "of server 12")
				offered := float64(x.Accepted+x.Refused) / c.Load.Rate
				expect.True(t, offered > 5.6 && offered < 6.4, "the clock ran %.2f s, not 6", offered)
				expect.True(t, mode != modes.Sync || (x.Refused > 0) == (c.Load.Rate > inMemory), "%d refused", x.Refused)
				expect.True(t, o.Complete && len(o.Servers) == 4 && o.Servers[2].Events > 0 && !o.Servers[2].Reported, "servers %+v", o.Servers[2])

				o = expect.Value(r.ctl.RunCase(t.Context(), c))(t)
				expect.Equal(t, []uint64{o.Offered.Accepted, o.Offered.Closed, o.Servers[2].Events}, []uint64{o.Events, 0, 0}, "without the server: accepted, closed, of server 12")
				c.Load.GoesOn = false
				_, err := r.ctl.RunCase(t.Context(), c)
				expect.True(t, err != nil, "a case that does not go on has run without a server")
				r.stop(2)
			})
		}
	}
}

// Events lack each of the servers that are lost together, and what these built before counts as theirs.
//
//gate:race
func TestLostTogether(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Sync, modes.Unsync, modes.FreeRunning} {
		virtual(t, string(mode), func(t *testing.T) {
			r := newRig(t, 5).start()
			c := lasting(5, mode, 4*time.Second)
			c.Load = load.Load{Rate: .5 * inMemory, GoesOn: true}
			time.AfterFunc(2*time.Second, func() {
				r.ctl.Lose(11)
				r.ctl.Lose(13)
			})
			o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
			x := o.Offered
			expect.Equal(t, x.Accepted, o.Events+x.Closed, "accepted: built and closed")
			expect.Equal(t, x.Absent, map[int]uint64{11: x.Closed, 13: x.Closed}, "of servers 11 and 13")
			sum := uint64(0)
			for _, s := range o.Servers {
				sum += s.Events
			}
			expect.True(t, sum == o.Events && o.Servers[1].Events > 20 && o.Servers[3].Events > 20, "%d events: %+v", o.Events, o.Servers)
			r.stop(1, 3)
		})
	}
}

// Without servers to build, or to read, nothing goes on; and a server may be lost before the clock begins.
func TestLostAll(t *testing.T) {
	virtual(t, "warm-up", func(t *testing.T) {
		r := newRig(t, 4).start()
		c := offeredCase(modes.Sync, load.Load{Rate: .5 * inMemory, GoesOn: true}, 2*time.Second)
		began := 0
		c.OnMeasure = func() { began++ }
		time.AfterFunc(20*time.Millisecond, func() { r.ctl.Lose(10) })
		o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
		expect.Equal(t, []uint64{o.Offered.Accepted, o.Offered.Closed, uint64(began)}, []uint64{o.Events, 0, 1}, "accepted, closed, begun")
		r.stop(0)
	})
	virtual(t, "all", func(t *testing.T) {
		r := newRig(t, 3).start()
		c := offeredCase(modes.Unsync, load.Load{Rate: .5 * inMemory, GoesOn: true}, 4*time.Second)
		c.Rows = rows(3)
		for i := range 2 {
			time.AfterFunc(time.Duration(1+i)*time.Second, func() { r.ctl.Lose(10 + i) })
		}
		o, err := r.ctl.RunCase(t.Context(), c)
		expect.True(t, err != nil && o.Events > 0 && o.Offered.Accepted == o.Events+o.Offered.Closed, "%v: %+v", err, o.Offered)
		r.stop(0, 1)
	})
}
