package builder_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evbench/builder"
	"evbench/testing/expect"
)

const me = 1 // the rank of every assembler here

// frag is the header of a good fragment of epoch 0 for me.
func frag(event uint64, source uint32) builder.Header {
	return builder.Header{Kind: builder.Data, Event: event, Source: source, Dest: me}
}

func with(h builder.Header, change func(*builder.Header)) builder.Header {
	change(&h)
	return h
}

func TestAdd(t *testing.T) {
	type step struct {
		h      builder.Header
		broken bool
		want   builder.Verdict
	}
	for _, tt := range []struct {
		name  string
		begin []uint64
		steps []step
	}{
		{"complete", []uint64{7}, []step{{frag(7, 0), false, builder.Accepted}, {frag(7, 1), false, builder.Complete}}},
		{"interleaved", []uint64{7, 8}, []step{
			{frag(7, 0), false, builder.Accepted}, {frag(8, 0), false, builder.Accepted},
			{frag(8, 1), false, builder.Complete}, {frag(7, 1), false, builder.Complete},
		}},
		{"duplicate in an open event", []uint64{7}, []step{
			{frag(7, 0), false, builder.Accepted}, {frag(7, 0), false, builder.Duplicate}, {frag(7, 1), false, builder.Complete},
		}},
		{"duplicate of a complete event", []uint64{7}, []step{
			{frag(7, 0), false, builder.Accepted}, {frag(7, 1), false, builder.Complete}, {frag(7, 1), false, builder.Duplicate},
		}},
		{"payload broken", []uint64{7}, []step{
			{frag(7, 0), true, builder.Corrupt}, {frag(7, 0), false, builder.Accepted}, {frag(7, 1), false, builder.Complete},
		}},
		{"wrong event", []uint64{7}, []step{{frag(9, 0), false, builder.WrongEvent}}},
		{"wrong source", []uint64{7}, []step{{frag(7, 2), false, builder.WrongSource}}},
		{"wrong destination", []uint64{7}, []step{
			{with(frag(7, 0), func(h *builder.Header) { h.Dest = 0 }), false, builder.WrongDest},
		}},
		{"wrong epoch", []uint64{7}, []step{
			{with(frag(7, 0), func(h *builder.Header) { h.Epoch = 1 }), false, builder.WrongEpoch},
		}},
		{"a request is no fragment", []uint64{7}, []step{
			{with(frag(7, 0), func(h *builder.Header) { h.Kind = builder.Request }), false, builder.Corrupt},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := builder.NewAssembler(me, builder.Roles{Servers: 2}, 2)
			want := map[builder.Verdict]uint64{}
			for _, id := range tt.begin {
				expect.Must(t, expect.Err(a.Begin(0, id, 0)))
			}
			for i, s := range tt.steps {
				expect.Equal(t, a.Add(0, s.h, !s.broken), s.want, "step %d", i)
				want[s.want]++
			}
			for v := builder.Accepted; v <= builder.WrongEpoch; v++ {
				expect.Equal(t, a.Count(v), want[v], "count of %v", v)
			}
		})
	}
}

func TestAbandonedEventIsLate(t *testing.T) {
	a := builder.NewAssembler(me, builder.Roles{Servers: 2}, 1)
	expect.Must(t, expect.Err(a.Begin(0, 7, 0)))
	a.Abandon(7)
	a.Abandon(7) // the second time there is nothing to give up
	expect.Equal(t, a.Add(0, frag(7, 0), true), builder.Late, "fragment of an abandoned event")
	a.Spoiled()
	if a.Lost() != 1 || a.Count(builder.Late) != 1 || a.Count(builder.Corrupt) != 1 {
		t.Errorf("lost %d, late %d, corrupt %d; want 1 each", a.Lost(), a.Count(builder.Late), a.Count(builder.Corrupt))
	}
}

func TestBeginRefuses(t *testing.T) {
	a := builder.NewAssembler(me, builder.Roles{Servers: 1}, 2)
	for _, tt := range []struct {
		id   uint64
		want error
	}{{1, nil}, {1, builder.ErrBegun}, {2, nil}, {3, builder.ErrFull}} {
		expect.Is(t, expect.Err(a.Begin(0, tt.id, 0)), tt.want)
	}
	got := a.Add(0, frag(1, 0), true)
	expect.MustTrue(t, got == builder.Complete, "%v", got)
	expect.Is(t, expect.Err(a.Begin(0, 1, 0)), builder.ErrBegun)
	if a.Slot(1) != -1 || a.Slot(2) != 1 {
		t.Errorf("slots %d, %d; want -1, 1", a.Slot(1), a.Slot(2))
	}
	slot, err := a.Begin(0, 3, 0)
	expect.True(t, slot == 0 && err == nil, "Begin(3) = %d, %v; want the free slot 0", slot, err)
}

func TestExpire(t *testing.T) {
	a := builder.NewAssembler(me, builder.Roles{Servers: 3}, 2)
	for id, at := range []time.Duration{5, 2} {
		expect.Must(t, expect.Err(a.Begin(at, uint64(id), 0)))
	}
	v := a.Add(10, frag(0, 1), true)
	expect.MustTrue(t, v == builder.Accepted, "%v", v)
	if id, _, ok := a.Expire(12, 10); ok {
		t.Errorf("event %d expired at its limit", id)
	}
	if id, missing, ok := a.Expire(13, 10); !ok || id != 1 || !slices.Equal(missing, []int{0, 1, 2}) {
		t.Errorf("Expire = %d, %v, %v; want event 1 without any", id, missing, ok)
	}
	if id, missing, ok := a.Expire(21, 10); !ok || id != 0 || !slices.Equal(missing, []int{0, 2}) {
		t.Errorf("Expire = %d, %v, %v; want event 0 missing 0 and 2", id, missing, ok)
	}
	expect.True(t, a.Missing(0) == nil, "an expired event still waits")
}

// Bytes that come from a source are progress of the events that lack its fragment, but not of one that
// a later fragment of the source has overtaken: that is lost.
func TestComing(t *testing.T) {
	a := builder.NewAssembler(me, builder.Roles{Servers: 3}, 2)
	for id := range uint64(2) {
		expect.Must(t, expect.Err(a.Begin(0, id, 0)))
	}
	a.Coming(10, 2)
	_, _, ok := a.Expire(15, 10)
	expect.True(t, !ok, "an event that gets on expired")
	v := a.Add(16, frag(1, 2), true)
	expect.MustTrue(t, v == builder.Accepted, "%v", v)
	a.Coming(20, 2)
	id, missing, ok := a.Expire(21, 10)
	expect.True(t, ok && id == 0 && slices.Equal(missing, []int{0, 1, 2}), "Expire = %d, %v, %v; want event 0, which was overtaken", id, missing, ok)
}

// The Assembler against a dumb second version on random arrivals.
func TestAgainstMap(t *testing.T) {
	const sources, window = 70, 3 // two words of bits
	r := rand.New(rand.NewPCG(1, 1))
	a := builder.NewAssembler(me, builder.Roles{Servers: sources}, window)
	got := map[uint64]map[uint32]bool{}
	done := map[uint64]bool{}
	next := uint64(0)
	for range 60000 {
		for len(got) < window {
			expect.Must(t, expect.Err(a.Begin(0, next, 0)))
			got[next] = map[uint32]bool{}
			next++
		}
		h := frag(next-min(next, uint64(r.IntN(5)))+uint64(r.IntN(2)), uint32(r.IntN(sources)))
		want := verdict(got, done, h, sources)
		v := a.Add(0, h, true)
		expect.MustTrue(t, v == want, "event %d source %d: %v, want %v", h.Event, h.Source, v, want)
	}
	if a.Count(builder.Complete) != uint64(len(done)) || len(done) < 50 {
		t.Errorf("%d complete, want %d", a.Count(builder.Complete), len(done))
	}
}

func verdict(got map[uint64]map[uint32]bool, done map[uint64]bool, h builder.Header, sources int) builder.Verdict {
	switch e := got[h.Event]; {
	case done[h.Event]:
		return builder.Duplicate
	case e == nil:
		return builder.WrongEvent
	case e[h.Source]:
		return builder.Duplicate
	case len(e) < sources-1:
		e[h.Source] = true
		return builder.Accepted
	}
	delete(got, h.Event)
	done[h.Event] = true
	return builder.Complete
}

func TestAssemblerAllocatesNothing(t *testing.T) {
	const sources = 16
	a := builder.NewAssembler(me, builder.Roles{Servers: sources}, 1)
	id := uint64(0)
	n := testing.AllocsPerRun(100, func() {
		expect.Must(t, expect.Err(a.Begin(0, id, 0)))
		for s := range uint32(sources) {
			a.Add(0, frag(id, s), true)
		}
		id++
	})
	if n != 0 || a.Count(builder.Complete) != id {
		t.Errorf("%v allocations per event, %d of %d complete", n, a.Count(builder.Complete), id)
	}
}
