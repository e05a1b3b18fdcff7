package worker_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/failover"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
)

// A plan that changes in mid-run holds for every server from the same exchange
// on: path, order and epoch; no event is lost over it.
func TestPlanUpdate(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Sync, modes.FreeRunning} {
		virtual(t, string(mode), func(t *testing.T) {
			const n, later = 4, 9 // the new plan's spine
			var mu sync.Mutex
			var opened []int                                     // number of operations of each call
			newest, oldest := map[int]uint64{}, map[int]uint64{} // exchange, by path new or old
			r := newRig(t, n)
			r.extend = func(_ context.Context, ops []transport.Op) error {
				mu.Lock()
				defer mu.Unlock()
				opened = append(opened, len(ops))
				return nil
			}
			r.fault = func(m *transporttest.Message) transporttest.Action {
				h, _ := data(m)
				e := h.Event / n
				switch {
				case m.Path == later && h.Epoch == 5:
					if x, ok := oldest[later]; !ok || e < x {
						oldest[later] = e
					}
				case m.Path != later && h.Epoch == 0:
					newest[0] = max(newest[0], e)
				default:
					t.Errorf("exchange %d: path %d, epoch %d", e, m.Path, h.Epoch)
				}
				return transporttest.Deliver
			}
			r.start()
			c := lasting(n, mode, 2*time.Second)
			var sw failover.Switch
			var err error
			told := uint64(0)
			updated := make(chan struct{})
			c.OnMeasure = func() {
				time.AfterFunc(time.Second, func() {
					defer close(updated)
					p := controller.PlanChange{Epoch: 5, Rows: backwards(rows(n), later)}
					sw, err = r.ctl.Update(t.Context(), p, func(from uint64) { told = from })
				})
			}
			o, runErr := r.ctl.RunCase(t.Context(), c)
			<-updated
			expect.MustTrue(t, runErr == nil && err == nil, "%v %v", runErr, err)
			expect.True(t, o.Built == o.Assigned && o.StrayFragments == 0, "built %d of %d, %d stray", o.Built, o.Assigned, o.StrayFragments)
			if from := sw.From; from == 0 || told != from || oldest[later] != from || newest[0] != from-1 || o.Exchanges < from {
				t.Errorf("update from %d, %d: old plan until %d, new one from %d, %d exchanges", from, told, newest[0], oldest[later], o.Exchanges)
			}
			expect.True(t, slices.Equal(opened, []int{6, 6, 6, 6}), "opened %v; want the three sends and three receives of each server", opened)
		})
	}
}

// backwards is the same schedule with its phases reversed, through one spine.
func backwards(rows [][]wire.Step, spine int) [][]wire.Step {
	for _, row := range rows {
		slices.Reverse(row)
		for i := range row {
			row[i].ToSpine, row[i].FromSpine = spine, spine
		}
	}
	return rows
}

//gate:race
func TestPlanUpdateRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3).start()
		_, err := r.ctl.Update(t.Context(), controller.PlanChange{Epoch: 1}, nil)
		expect.Error(t, err, "no case is under way")
		c := lasting(3, modes.Sync, time.Hour)
		bad := rows(3)
		bad[1][0].From = 1
		c.OnMeasure = func() {
			time.AfterFunc(time.Second, func() { _, _ = r.ctl.Update(t.Context(), controller.PlanChange{Epoch: 1, Rows: bad}, nil) })
		}
		_, err = r.ctl.RunCase(t.Context(), c)
		expect.Error(t, err, "server 11: plan update: row: phase 0: receive from rank 1")
	})
}

// A counting endpoint follows which requests of this rank wait for an answer.
type counting struct {
	transport.Endpoint
	seen *outstanding
}

type outstanding struct {
	now, most map[uint64]int // by event
	order     map[uint64][]int
	inFlight  int // most events with a request out
}

func (c counting) Post(ops []transport.Op) error {
	for _, op := range ops {
		if op.Kind != transport.SendRequest {
			continue
		}
		h, err := builder.Parse(op.Head)
		if err != nil {
			return err
		}
		s := c.seen
		s.now[h.Event]++
		s.most[h.Event] = max(s.most[h.Event], s.now[h.Event])
		s.order[h.Event] = append(s.order[h.Event], op.Peer)
		s.inFlight = max(s.inFlight, len(s.now))
	}
	return c.Endpoint.Post(ops)
}

func (c counting) Poll(ctx context.Context, done []transport.Op) (int, error) {
	n, err := c.Endpoint.Poll(ctx, done)
	for _, op := range done[:n] {
		if op.Kind != transport.Recv {
			continue
		}
		h, perr := builder.Parse(op.Head)
		if perr != nil {
			return 0, perr
		}
		if c.seen.now[h.Event]--; c.seen.now[h.Event] == 0 && len(c.seen.order[h.Event]) == 5 {
			delete(c.seen.now, h.Event)
		}
	}
	return n, err
}

// An unsynchronised worker asks in the order of the ranks and has exactly as
// many requests of an event outstanding as it may.
func TestOutstandingRequests(t *testing.T) {
	for _, tt := range []struct{ sources, credits, want int }{{0, 1, 5}, {5, 2, 5}, {2, 1, 2}, {1, 3, 1}} {
		synctest.Test(t, func(t *testing.T) {
			const n = 6
			seen := outstanding{now: map[uint64]int{}, most: map[uint64]int{}, order: map[uint64][]int{}}
			r := newRig(t, n)
			r.only(2, func(ep transport.Endpoint) transport.Endpoint { return counting{ep, &seen} })
			r.start()
			c := newCase(n, modes.Unsync)
			c.Sources, c.Credits = tt.sources, tt.credits
			o, err := r.ctl.RunCase(t.Context(), c)
			expect.MustTrue(t, err == nil && o.Built == o.Assigned && len(seen.most) == 8,
				"%v; built %d of %d, rank 2 asked for %d events", err, o.Built, o.Assigned, len(seen.most))
			for event, most := range seen.most {
				expect.True(t, most == tt.want && slices.Equal(seen.order[event], []int{0, 1, 3, 4, 5}),
					"%+v: event %d: %d outstanding, asked %v", tt, event, most, seen.order[event])
			}
			expect.Equal(t, seen.inFlight, tt.credits, "%+v: events in flight", tt)
		})
	}
}

// Fragments of an unsynchronised case follow the plan's spines where there are
// any, and the tables where there are none.
func TestPathsOfRequests(t *testing.T) {
	for _, pinned := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			const n = 4
			r := newRig(t, n)
			c := newCase(n, modes.Unsync)
			want := func(src, dst int) int { return (dst - src + n - 1) % n % 3 }
			if !pinned {
				c.Rows = nil
				want = func(int, int) int { return transport.Single }
			}
			r.fault = func(m *transporttest.Message) transporttest.Action {
				src, dst := m.Src, m.Dst
				if m.Request { // it asks for what goes the other way
					src, dst = dst, src
				}
				expect.Equal(t, m.Path, want(src, dst), "%d to %d through", m.Src, m.Dst)
				return transporttest.Deliver
			}
			r.start()
			expect.OK(t, expect.Err(r.ctl.RunCase(t.Context(), c)))
		})
	}
}
