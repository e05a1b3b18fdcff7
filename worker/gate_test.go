package worker

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
)

// withBarrier is an endpoint whose transport has a barrier of its own.
type withBarrier struct {
	*transporttest.Endpoint
	b     *barrier.Barrier
	waits int
}

func (w *withBarrier) Barrier(ctx context.Context) error {
	w.waits++
	return w.b.Wait(ctx, w.Endpoint)
}

// With barrier mpi the exchanges of all ranks wait in the transport's own
// barrier, once a phase, and signal nobody.
func TestGateOfTheTransport(t *testing.T) {
	const n, events = 3, 4
	var g errgroup.Group
	var ends [n]*withBarrier
	for r, ep := range transporttest.New(n, nil) {
		b := expect.Value(barrier.New(barrier.Central, r, n))(t)
		ends[r] = &withBarrier{ep, b, 0}
		c := testCase(modes.Sync, n)
		c.Rank, c.Barrier, c.Row = r, wire.BarrierMPI, nil
		for p := 1; p < n; p++ {
			c.Row = append(c.Row, wire.Step{To: (r + p) % n, ToSpine: transport.Single, From: (r + n - p) % n, FromSpine: transport.Single})
		}
		g.Go(func() error {
			d := newMailbox()
			d.grant(events, nil)
			d.change(func(o *orders) { o.finish = true })
			s, err := newSynchronised(newLoop(c, Connections{Endpoint: ends[r], Signals: ends[r], Barrier: ends[r].Barrier}, d, newReporter(nil, c), nil))
			if err != nil {
				return err
			}
			return s.run(t.Context())
		})
	}
	expect.Must(t, g.Wait())
	for r, e := range ends {
		want := events * (n - 1)
		expect.True(t, e.waits == want, "rank %d waited %d times, want %d", r, e.waits, want)
	}
}

func TestGateRefuses(t *testing.T) {
	c := testCase(modes.Sync, 3)
	for _, tt := range []struct {
		kind string
		peer barrier.Peer
		want string
	}{
		{wire.BarrierMPI, transporttest.New(3, nil)[0], "mpi needs transport mpi"},
		{wire.BarrierMPI, nil, "no connections"},
		{"turnstile", transporttest.New(3, nil)[0], `no barrier "turnstile"`},
	} {
		c.Barrier = tt.kind
		_, err := newGate(c, &Connections{Signals: tt.peer})
		expect.Error(t, err, tt.want)
	}
}

// A loop is woken for events only if it needs them, and for all else always. What
// came before it waits, it is told of.
func TestDeskWakes(t *testing.T) {
	event := func(o *orders) { o.events = append(o.events, 1) }
	for _, tt := range []struct {
		name   string
		needs  bool
		change func(*orders)
		woken  bool
	}{
		{"events, needed", true, event, true},
		{"events, not needed", false, event, false},
		{"the end", false, func(o *orders) { o.finish = true }, true},
		{"measure", false, func(o *orders) { o.measure = true }, true},
		{"a grant", false, func(o *orders) { o.granted = true }, true},
	} {
		d, woken := newMailbox(), false
		d.onChange(func() { woken = true })
		expect.True(t, !d.expects(tt.needs), "%s: news before there are any", tt.name)
		d.change(tt.change)
		expect.Equal(t, woken, tt.woken, "%s: woken", tt.name)
		expect.True(t, d.expects(tt.needs), "%s: told of nothing new", tt.name)
		d.take(nil)
		expect.True(t, !d.expects(tt.needs), "%s: told twice", tt.name)
	}
}

// A part that is over before the sampler gets a processor is sampled all the same, from
// the moment at which it began.
func TestSamplerComesLate(t *testing.T) {
	over, stop := context.WithCancel(t.Context())
	stop()
	j := &job{loop: &loop{counting: make(chan reading, 1)}}
	r, ok := j.begun(over)
	expect.True(t, !ok, "nothing was counted, and sampling begins with %+v", r)
	j.loop.counting <- reading{at: 3, payload: 7}
	if r, ok := j.begun(over); !ok || r.at != 3 || r.payload != 7 {
		t.Errorf("began with %+v, %t", r, ok)
	}
}

// What stands still is told from what nobody looked at, and from what is allowed.
func TestWatch(t *testing.T) {
	type look struct {
		at    int // s
		moves uint64
		idle  bool
		still bool
	}
	for _, tt := range []struct {
		name    string
		allowed int // s
		looks   []look
	}{
		{"moves", 0, []look{{at: 1, moves: 1}, {at: 2, moves: 2}, {at: 3, moves: 3}, {at: 4, moves: 4}, {at: 5, moves: 5}, {at: 6, moves: 6}, {at: 7, moves: 7}, {at: 8, moves: 8}, {at: 9, moves: 9}}},
		{"still", 0, []look{{at: 1, moves: 1}, {at: 3, moves: 1}, {at: 5, moves: 1}, {at: 7, moves: 1}, {at: 8, moves: 1}, {at: 9, moves: 1, still: true}}},
		{"nothing to do", 0, []look{{at: 2, idle: true}, {at: 4, idle: true}, {at: 6, idle: true}, {at: 8, idle: true}, {at: 10, idle: true}, {at: 12}, {at: 14}, {at: 16}, {at: 18, still: true}}},
		{"stopped", 0, []look{{at: 1, moves: 1}, {at: 11, moves: 1}, {at: 13, moves: 1}, {at: 15, moves: 1}, {at: 17, moves: 1}, {at: 18, moves: 1}, {at: 19, moves: 1, still: true}}},
		{"stopped for ever and a day", 0, []look{{at: 1, moves: 1}, {at: 100000, moves: 1}, {at: 100001, moves: 2}}},
		{"allowed", 4, []look{{at: 1, moves: 1}, {at: 3, moves: 1}, {at: 5, moves: 1}, {at: 7, moves: 1}, {at: 9, moves: 1}, {at: 11, moves: 1}, {at: 12, moves: 1, still: true}}},
	} {
		w := newWatch(0, 8*time.Second)
		w.allowed = time.Duration(tt.allowed) * time.Second
		for _, l := range tt.looks {
			expect.Equal(t, w.still(time.Duration(l.at)*time.Second, l.moves, !l.idle), l.still, "%s: at %d s: still", tt.name, l.at)
		}
	}
}
