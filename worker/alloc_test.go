package worker

import (
	"bytes"
	"context"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/transport"
)

// A mirror is an endpoint whose peers answer at once and rightly. It allocates
// nothing, so that what is allocated is the worker's.
type mirror struct {
	rank, n int
	sizes   *builder.Sizes
	window  *builder.Window
	next    []uint64 // by peer: the exchange of its next fragment
	waiting []transport.Op
	done    []transport.Op
	asked   bool // fragments come on request only
}

func newMirror(c wire.Configure) *mirror {
	m := &mirror{
		rank: c.Rank, n: len(c.Peers), sizes: c.FragmentSizes(), next: make([]uint64, len(c.Peers)), asked: c.Mode == modes.Unsync,
		waiting: make([]transport.Op, 0, 1000), done: make([]transport.Op, 0, 1000),
	}
	m.window = builder.NewWindow(m.Alloc, m.sizes.Max(), windowSeed)
	return m
}

func (m *mirror) fill(op *transport.Op, event uint64) {
	size := m.sizes.Of(event, op.Peer)
	h := builder.Header{
		Kind: builder.Data, Event: event, Source: uint32(op.Peer), Dest: uint32(m.rank), Size: uint64(size),
		Sum: m.window.Sum(event, op.Peer, size),
	}
	h.Append(op.Head[:0])
	if op.N = copy(op.Body, m.window.Payload(event, op.Peer, size)); op.Drop > 0 {
		op.N = size
	}
}

func (m *mirror) fillNext(op *transport.Op) {
	m.fill(op, m.next[op.Peer]*uint64(m.n)+uint64(m.rank))
	m.next[op.Peer]++
}

func (m *mirror) Exchange(_ context.Context, ops []transport.Op) error {
	for i := range ops {
		if ops[i].Kind == transport.Recv {
			m.fillNext(&ops[i])
		}
	}
	return nil
}

func (m *mirror) Post(ops []transport.Op) error {
	for _, op := range ops {
		switch {
		case op.Kind == transport.RecvRequest: // nobody asks
		case op.Kind == transport.Recv && m.asked:
			m.waiting = append(m.waiting, op)
		case op.Kind == transport.Recv:
			m.fillNext(&op)
			m.done = append(m.done, op)
		case op.Kind == transport.SendRequest:
			m.answer(op)
			m.done = append(m.done, op)
		default:
			m.done = append(m.done, op)
		}
	}
	return nil
}

func (m *mirror) answer(ask transport.Op) {
	h, err := builder.Parse(ask.Head)
	if err != nil {
		panic(err)
	}
	for i := range m.waiting {
		if op := m.waiting[i]; op.Peer == ask.Peer {
			m.waiting = append(m.waiting[:i], m.waiting[i+1:]...)
			m.fill(&op, h.Event)
			m.done = append(m.done, op)
			return
		}
	}
}

func (m *mirror) Poll(_ context.Context, done []transport.Op) (int, error) {
	n := copy(done, m.done)
	m.done = append(m.done[:0], m.done[n:]...)
	return n, nil
}

func (m *mirror) Wake()                                           {}
func (m *mirror) Alloc(n int) []byte                              { return make([]byte, n) }
func (m *mirror) Rank() int                                       { return m.rank }
func (m *mirror) Retransmits() uint64                             { return 0 }
func (m *mirror) Moved(int) transport.Movement                    { return transport.Movement{} }
func (m *mirror) Close() error                                    { return nil }
func (m *mirror) Signal(_ context.Context, _ int, _ uint64) error { return nil }
func (m *mirror) Await(_ context.Context, _ int, _ uint64) error  { return nil }

func testCase(mode modes.Mode, n int) wire.Configure {
	c := wire.Configure{Rank: 1, Case: wire.Case{
		Setting: builder.Setting{Mode: mode, Barrier: "tournament", Credits: 2}, Peers: make([]wire.Peer, n), Fragment: 10000, Sizes: builder.Distribution{Spread: 0.2},
		Common: builder.Common{Deliver: builder.DeliverBuffer, Check: builder.CheckPayload, Timeout: time.Second, Interval: time.Second}, Pairs: true,
	}}
	for p := 1; p < n; p++ {
		c.Row = append(c.Row, wire.Step{To: (1 + p) % n, ToSpine: -1, From: (1 + n - p) % n, FromSpine: -1})
	}
	return c
}

func oneOf(tb testing.TB, c wire.Configure) (build func(), l *loop) {
	expect.Must(tb, check(c, 0))
	ep, d := newMirror(c), newMailbox()
	l = newLoop(c, Connections{Endpoint: ep, Signals: ep}, d, newReporter(nil, c), nil)
	ctx := tb.Context()
	must := func(err error) {
		expect.Must(tb, err)
	}
	switch c.Mode {
	case modes.Sync:
		s, err := newSynchronised(l)
		must(err)
		return func() {
			d.grant(s.done+1, nil)
			granted, err := s.wait(ctx)
			if must(err); !granted {
				tb.Fatal("no exchange may begin")
			}
			must(s.exchange(ctx))
		}, l
	case modes.FreeRunning:
		f, until := newFreeRunning(l), uint64(0)
		return func() {
			until++
			for d.grant(until, nil); f.done < until; {
				must(f.turn(ctx, f))
			}
		}, l
	}
	u, id := newUnsynchronised(l), uint64(0)
	return func() {
		for d.change(func(o *orders) { o.events = append(o.events, id) }); l.meter.events.Load() <= id; {
			must(u.turn(ctx))
		}
		l.report.built = l.report.built[:0] // as its goroutine does
		id++
	}, l
}

// In steady state nothing is allocated, whatever the mode and whatever becomes of
// the fragments. Those that nobody looks into have no buffers at all; others hold the worker's own, too.
func TestLoopsAllocateNothing(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Sync, modes.Unsync, modes.FreeRunning} {
		for _, deliver := range []string{builder.DeliverBuffer, builder.DeliverDiscard} {
			c := testCase(mode, 8)
			if c.Deliver = deliver; deliver == builder.DeliverDiscard {
				c.Check = builder.CheckHeader
			}
			build, l := oneOf(t, c)
			for range 5 {
				build()
			}
			expect.Equal(t, testing.AllocsPerRun(200, build), 0, "%s, %s: allocations per event of 8 fragments", mode, deliver)
			got := l.meter.events.Load()
			expect.True(t, got == 206 && l.fragments.asm.Count(builder.Corrupt) == 0, "%s, %s: built %d, want 206", mode, deliver, got)
			expect.True(t, (l.fragments.bufs == nil) == (deliver == builder.DeliverDiscard),
				"%s, %s: buffers for %d events", mode, deliver, len(l.fragments.bufs))
			if deliver == builder.DeliverBuffer {
				id := l.id(got - 1)
				if mode == modes.Unsync {
					id = got - 1
				}
				size := l.fragments.sizes.Of(id, c.Rank)
				expect.True(t, bytes.Equal(l.fragments.bufs[0][c.Rank][:size], l.fragments.window.Payload(id, c.Rank, size)),
					"%s: the last event lacks the worker's own fragment", mode)
			}
		}
	}
}
