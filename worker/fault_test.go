package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/worker"
)

// data returns the header of a fragment on its way, and whether it is one.
func data(m *transporttest.Message) (builder.Header, bool) {
	h, err := builder.Parse(m.Head)
	return h, err == nil && h.Kind == builder.Data
}

// once applies a fault to one fragment: the first from rank 1 to rank 2 after the warm-up.
func once(f func(m *transporttest.Message) transporttest.Action) func(m *transporttest.Message) transporttest.Action {
	var done bool
	return func(m *transporttest.Message) transporttest.Action {
		if h, ok := data(m); !ok || done || m.Src != 1 || m.Dst != 2 || h.Event < 12 {
			return transporttest.Deliver
		}
		done = true
		return f(m)
	}
}

// Each kind of damage is found, and counted as what it is, in every mode.
//
//gate:race
func TestDamage(t *testing.T) {
	window := builder.NewWindow(func(n int) []byte { return make([]byte, n) }, 1000, 1)
	for _, tt := range []struct {
		name                    string
		check                   string
		fault                   func(m *transporttest.Message) transporttest.Action
		lost                    uint64
		duplicate, corrupt, odd uint64
	}{
		{"payload bit", builder.CheckPayload, func(m *transporttest.Message) transporttest.Action {
			m.Body[500] ^= 1
			return transporttest.Deliver
		}, 1, 0, 1, 0},
		{"header bit", builder.CheckHeader, func(m *transporttest.Message) transporttest.Action {
			m.Head[9] ^= 1
			return transporttest.Deliver
		}, 1, 0, 1, 0},
		{"cut short", builder.CheckHeader, func(m *transporttest.Message) transporttest.Action {
			m.Body = m.Body[:999]
			return transporttest.Deliver
		}, 1, 0, 1, 0},
		{"swapped payload", builder.CheckPayload, func(m *transporttest.Message) transporttest.Action {
			h, _ := data(m)
			copy(m.Body, window.Payload(h.Event+1, m.Src, 1000))
			return transporttest.Deliver
		}, 1, 0, 1, 0},
		// Here header and payload agree with each other, but not with the event.
		{"swapped before the checksum", builder.CheckPayload, func(m *transporttest.Message) transporttest.Action {
			h, _ := data(m)
			copy(m.Body, window.Payload(h.Event+1, m.Src, 1000))
			h.Sum = builder.Checksum(m.Body)
			h.Append(m.Head[:0])
			return transporttest.Deliver
		}, 1, 0, 1, 0},
		{"other source", builder.CheckHeader, func(m *transporttest.Message) transporttest.Action {
			h, _ := data(m)
			h.Source = 0
			h.Append(m.Head[:0])
			return transporttest.Deliver
		}, 1, 0, 1, 0},
		{"other epoch", builder.CheckHeader, func(m *transporttest.Message) transporttest.Action {
			h, _ := data(m)
			h.Epoch++
			h.Append(m.Head[:0])
			return transporttest.Deliver
		}, 1, 0, 0, 1},
		{"twice", builder.CheckHeader, func(*transporttest.Message) transporttest.Action { return transporttest.Duplicate }, 0, 1, 0, 0},
	} {
		for _, mode := range allModes {
			virtual(t, tt.name+"/"+string(mode), func(t *testing.T) {
				const n = 4
				r := newRig(t, n)
				r.fault = once(tt.fault)
				r.start()
				c := newCase(n, mode)
				c.Check = tt.check
				o := expect.Value(r.ctl.RunCase(t.Context(), c))(t)
				if !o.Complete || o.Lost != tt.lost || o.Built != o.Assigned-tt.lost || o.Duplicate != 0 ||
					o.DuplicateFragments != tt.duplicate || o.CorruptFragments != tt.corrupt || o.StrayFragments != tt.odd {
					t.Errorf("outcome %+v", o)
				}
				expect.Equal(t, o.Servers[2].Lost, tt.lost, "server 12 lost")
			})
		}
	}
}

// With check: header a changed payload is not seen; that is what the name says.
func TestHeaderCheckTrustsThePayload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4)
		r.fault = once(func(m *transporttest.Message) transporttest.Action { m.Body[0] ^= 1; return transporttest.Deliver })
		r.start()
		c := newCase(4, modes.Sync)
		c.Check = builder.CheckHeader
		o, err := r.ctl.RunCase(t.Context(), c)
		expect.True(t, err == nil && o.Built == o.Assigned && o.CorruptFragments == 0, "outcome %+v, %v", o, err)
	})
}

// A fragment that never comes ends the case with an error that names both ends.
//
//gate:race
func TestLostFragment(t *testing.T) {
	inModes(t, func(t *testing.T, mode modes.Mode) {
		r := newRig(t, 4)
		r.fault = once(func(*transporttest.Message) transporttest.Action { return transporttest.Drop })
		r.start()
		c := lasting(4, mode, time.Hour)
		began := time.Now()
		o, err := r.ctl.RunCase(t.Context(), c)
		want, lost := "server 12: nothing for 4s from server 11", uint64(1)
		if mode == modes.Ordered { // servers cannot tell what is lost from what waits its turn
			want, lost = "no fragment from server 11; server 11 sent it", 0
		}
		expect.Error(t, err, "measurement", want)
		d := time.Since(began)
		expect.True(t, d <= c.Timeout*3/2, "ended after %v, time-out %v", d, c.Timeout)
		expect.True(t, !o.Complete && o.Lost == lost && o.Servers[2].Lost == lost, "outcome %+v; want %d events lost", o, lost)
	})
}

// A worker that dies is named at once, with who waited for it, and the next case says that it is not there.
//
//gate:race
func TestKilledWorker(t *testing.T) {
	inModes(t, func(t *testing.T, mode modes.Mode) {
		r := newRig(t, 5).start()
		c := lasting(5, mode, time.Hour)
		samples := collect(&c)
		c.OnMeasure = func() { time.AfterFunc(time.Second, r.kill[3]) }
		began := time.Now()
		o, err := r.ctl.RunCase(t.Context(), c)
		expect.Error(t, err, "measurement", "server 13: control connection lost")
		var ce *controller.CaseError
		expect.True(t, errors.As(err, &ce) && slices.Equal(ce.Servers, []int{13}) && len(ce.Waiting) != 0,
			"error %#v; want server 13 at fault, and who waits for it", ce)
		d := time.Since(began)
		expect.True(t, d <= 2*time.Second, "ended after %v", d)
		expect.True(t, !o.Complete && len(*samples) != 0 && !o.Servers[3].Reported && o.Servers[0].Reported, "outcome %+v", o)
		_, err = r.ctl.RunCase(t.Context(), withPeers(c))
		expect.Error(t, err, "not connected: server 13")
		r.stop(3)
	})
}

func withPeers(c controller.Case) controller.Case {
	n := len(c.Rows)
	if d, ok := c.Windows.(*worker.Drawn); ok {
		n = d.Servers
	}
	for rank := range n {
		c.Peers = append(c.Peers, wire.Peer{Server: 10 + rank})
	}
	return c
}

// A worker that hangs, but whose control connection still answers, is named soon after the time-out.
//
//gate:race
func TestHungWorker(t *testing.T) {
	inModes(t, func(t *testing.T, mode modes.Mode) {
		r := newRig(t, 5)
		var calls atomic.Int64
		freed := make(chan struct{})
		r.hold(3, func(context.Context) error { // whatever its context says
			if calls.Add(1) > 100 {
				<-freed
			}
			return nil
		})
		r.start()
		c := lasting(5, mode, time.Hour)
		began := time.Now()
		_, err := r.ctl.RunCase(t.Context(), c)
		expect.Error(t, err, "server 13: does not answer", "waited for by")
		var ce *controller.CaseError
		expect.True(t, errors.As(err, &ce) && slices.Equal(ce.Servers, []int{13}), "error %#v; want server 13 at fault", ce)
		d := time.Since(began)
		expect.True(t, d <= c.Timeout*3/2, "ended after %v, time-out %v", d, c.Timeout)
		close(freed)
	})
}
