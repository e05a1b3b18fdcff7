package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
	"evbench/worker"
)

// ordered is a case of n servers, three exchanges to a window.
func ordered(n int) controller.Case {
	c := newCase(n, modes.Ordered)
	c.Credits, c.Exchanges = 3, 20
	return c
}

// Windows of several spines, with fragments of many sizes: every event is built once, and
// tokens are fewer than three to a fragment.
func TestOrdered(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			n := 2 + int(seed)%7
			r := newRig(t, n).start()
			c := ordered(n)
			c.Sizes.Spread, c.Credits, c.Seed = 0.9, 1+int(seed)%4, seed
			c.Windows = &worker.Drawn{Servers: n, PerLeaf: 1 + int(seed)%3, Spines: 3, Seed: seed}
			o, err := r.ctl.RunCase(t.Context(), c)
			expect.True(t, err == nil && o.Complete && o.Built == uint64(22*n) && o.Events == uint64(20*n) && o.Lost+o.Duplicate+o.Unknown == 0,
				"seed %d: %v, outcome %+v", seed, err, o)
			most := 3 * 20 * uint64(n*(n-1))
			expect.False(t, o.Tokens == 0 && n > 2 || o.Tokens > most, "seed %d: %d tokens, at most %d", seed, o.Tokens, most)
		})
	}
}

// early hands most receives back before they are done, too.
type early struct {
	transport.Endpoint
	n    int
	held []transport.Op
}

func (e *early) Poll(ctx context.Context, done []transport.Op) (int, error) {
	if len(e.held) > 0 {
		n := copy(done, e.held)
		e.held = e.held[n:]
		return n, nil
	}
	n, err := e.Endpoint.Poll(ctx, done)
	for i := range done[:n] {
		if e.n++; done[i].Kind == transport.Recv && done[i].Near > 0 && e.n%4 > 0 {
			e.held = append(e.held, done[i])
			done[i].Coming = true
		}
	}
	return n, err
}

// Tokens may be sent a little before a fragment is there: nobody is told twice.
//
//gate:race
func TestOrderedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 6
		r := newRig(t, n)
		r.wrap = func(_ int, ep transport.Endpoint) transport.Endpoint { return &early{Endpoint: ep} }
		r.start()
		c := ordered(n)
		c.Windows = &worker.Drawn{Servers: n, PerLeaf: 2, Spines: 2}
		o, err := r.ctl.RunCase(t.Context(), c)
		expect.True(t, err == nil && o.Built == o.Assigned && o.Events == 20*n && o.CorruptFragments+o.DuplicateFragments == 0,
			"%v, outcome %+v", err, o)
	})
}

// token returns the header of a token on its way, and whether it is one.
func token(m *transporttest.Message) (builder.Header, bool) {
	h, err := builder.Parse(m.Head)
	return h, err == nil && h.Kind == builder.Token
}

// Tokens that are damaged, sent twice or meant for another window are found and counted;
// where the right one is lost with it, the case ends in time and says which.
func TestDamagedTokens(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(m *transporttest.Message) transporttest.Action
		lost  bool
	}{
		{"twice", func(*transporttest.Message) transporttest.Action { return transporttest.Duplicate }, false},
		{"lost", func(*transporttest.Message) transporttest.Action { return transporttest.Drop }, true},
		{"bit", func(m *transporttest.Message) transporttest.Action { m.Head[9] ^= 1; return transporttest.Deliver }, true},
		{"other send", func(m *transporttest.Message) transporttest.Action {
			h, _ := token(m)
			h.Size += 1000
			h.Append(m.Head[:0])
			return transporttest.Deliver
		}, true},
		{"other source", func(m *transporttest.Message) transporttest.Action {
			h, _ := token(m)
			h.Source++
			h.Append(m.Head[:0])
			return transporttest.Deliver
		}, true},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			r := newRig(t, 5)
			done := false
			var from, to int
			r.fault = func(m *transporttest.Message) transporttest.Action {
				if h, ok := token(m); !ok || done || h.Event < 4 {
					return transporttest.Deliver
				}
				done, from, to = true, 10+m.Src, 10+m.Dst
				return tt.fault(m)
			}
			r.start()
			began := time.Now()
			c := ordered(5)
			o, err := r.ctl.RunCase(t.Context(), c)
			if tt.lost {
				var ce *controller.CaseError
				expect.True(t, errors.As(err, &ce) && slices.Equal(ce.Servers, []int{to}) && ce.Stuck, "error %#v; want server %d at fault", ce, to)
				expect.Error(t, err, fmt.Sprintf("server %d: for 4s no token from ", to), fmt.Sprintf("; server %d sent it", from))
				d := time.Since(began)
				expect.True(t, d <= c.Timeout*3/2, "ended after %v, time-out %v", d, c.Timeout)
			} else if err != nil || o.Built != o.Assigned || o.CorruptFragments != 1 {
				t.Errorf("%v, outcome %+v", err, o)
			}
		})
	}
}

// Plans that cannot be made, or that workers cannot rely on, end the case with the reason.
//
//gate:race
func TestBadWindows(t *testing.T) {
	for want, windows := range map[string]controller.Windows{
		"plan of exchanges 5 to 7: no path": bad(func(from uint64, _ []wire.Window) error { return failAt(from, 5) }),
		"window: exchange 2: event 10: no fragment of rank 1 is planned, which has 1000 bytes": bad(func(from uint64, w []wire.Window) error {
			if from == 2 {
				w[2].Takes = slices.DeleteFunc(w[2].Takes, func(x wire.Take) bool { return x.Exchange == 0 && x.From == 1 })
				w[2].Tells = nil
			}
			return nil
		}),
		"window: send 0: exchange 7":          bad(func(_ uint64, w []wire.Window) error { w[3].Sends[0].Exchange = 7; return nil }),
		"window: token 0: after receive 9999": bad(func(_ uint64, w []wire.Window) error { w[2].Tells[0].After = 9999; return nil }),
	} {
		virtual(t, want, func(t *testing.T) {
			r := newRig(t, 4).start()
			c := ordered(4)
			c.Windows = windows
			_, err := r.ctl.RunCase(t.Context(), c)
			expect.Error(t, err, want)
		})
	}
}

// bad plans as drawn does, and has what comes of it changed.
type bad func(from uint64, w []wire.Window) error

func (b bad) Next(from uint64, count int, quiet bool) ([]wire.Window, error) {
	d := drawn(4)
	w, err := d.Next(from, count, true)
	for i := range w {
		w[i].Quiet = true
	}
	return w, errors.Join(err, b(from, w))
}

func failAt(from, at uint64) error {
	if from >= at {
		return errors.New("no path")
	}
	return nil
}

// Another plan takes over between two windows, at any moment, and every event is built once.
func TestOrderedReplan(t *testing.T) {
	for seed := range 12 {
		synctest.Test(t, func(t *testing.T) {
			const n = 5
			r := newRig(t, n).start()
			c := ordered(n)
			c.Exchanges, c.Duration = 0, time.Duration(1+seed)*4*97*time.Millisecond+2*time.Second
			ended := make(chan error, 1)
			c.OnMeasure = func() {
				go func() {
					for epoch := range uint32(4) {
						time.Sleep(time.Duration(1+seed) * 97 * time.Millisecond)
						p := controller.PlanChange{Epoch: 1 + epoch, Mode: modes.Ordered, Windows: &worker.Drawn{
							Servers: n, PerLeaf: 2, Spines: 2 + int(epoch), Seed: uint64(epoch)}}
						if _, err := r.ctl.Update(t.Context(), p, nil); err != nil {
							ended <- err
							return
						}
					}
					ended <- nil
				}()
			}
			o, err := r.ctl.RunCase(t.Context(), c)
			if err := errors.Join(err, <-ended); err != nil || !o.Complete || o.Built != o.Assigned || o.Events != n*o.Exchanges ||
				o.Lost+o.Duplicate+o.CorruptFragments+o.StrayFragments+o.LateFragments != 0 {
				t.Errorf("seed %d: %v, outcome %+v", seed, err, o)
			}
		})
	}
}

// Sources that have nothing for an event send nothing, and it is complete all the same, also
// where nobody has anything.
//
//gate:race
func TestOrderedFanout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 6
		r := newRig(t, n).start()
		c := ordered(n)
		c.Sizes.Fanout = 1
		c.Windows = &worker.Drawn{Servers: n, PerLeaf: 2, Spines: 2, Skip: func(exchange uint64, src, dst int) bool {
			s := c.Case
			s.Peers = make([]wire.Peer, n)
			return s.FragmentSizes().Of(exchange*n+uint64(dst), src) == 0
		}}
		o, err := r.ctl.RunCase(t.Context(), c)
		expect.True(t, err == nil && o.Built == o.Assigned && o.Events == 20*n && o.Servers[0].SentBytes == 20*1000, "%v, outcome %+v", err, o)
	})
}
