package worker

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/transport"
)

// summed is what must be kept of times: sums of equally many that follow one another, as few
// as make at most so many entries.
func summed(times []time.Duration) wire.Took {
	if len(times) == 0 {
		return wire.Took{}
	}
	t := wire.Took{Stride: 1, Events: uint64(len(times))}
	for len(times) > t.Stride*wire.MaxTook {
		t.Stride *= 2
	}
	for chunk := range slices.Chunk(times, t.Stride) {
		var sum time.Duration
		for _, d := range chunk {
			sum += d
		}
		t.Durations = append(t.Durations, sum)
	}
	return t
}

func TestDurations(t *testing.T) {
	for _, tt := range []struct{ events, stride, entries int }{
		{0, 0, 0}, {1, 1, 1}, {1023, 1, 1023}, {1024, 1, 1024}, {1025, 2, 513}, {1026, 2, 513}, {2048, 2, 1024}, {2049, 4, 513}, {100_000, 128, 782},
	} {
		random := rand.New(rand.NewPCG(uint64(tt.events), 1))
		var d durations
		var times []time.Duration
		for range tt.events {
			x := time.Duration(random.Int64N(int64(time.Second)))
			times = append(times, x)
			d.add(x)
		}
		got, want := d.took(), summed(times)
		expect.True(t, got.Stride == tt.stride && len(got.Durations) == tt.entries && got.Events == uint64(tt.events),
			"%d events: %d entries of %d for %d", tt.events, len(got.Durations), got.Stride, got.Events)
		expect.True(t, got.Stride == want.Stride && slices.Equal(got.Durations, want.Durations),
			"%d events: the entries are not the sums of their times", tt.events)
	}
}

// Whatever is added, the entries add up to it and are the sums of what follows one another.
func TestDurationsAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var d durations
		times := make([]time.Duration, random.IntN(1<<random.IntN(14)+1))
		for i := range times {
			times[i] = time.Duration(random.Int64N(1 << 40))
			d.add(times[i])
		}
		got, want := d.took(), summed(times)
		expect.MustTrue(t, got.Stride == want.Stride && got.Events == want.Events && slices.Equal(got.Durations, want.Durations),
			"%d times: kept %d entries of %d, want %d of %d, or they differ",
			len(times), len(got.Durations), got.Stride, len(want.Durations), want.Stride)
	}
}

func TestDurationsAllocateNothing(t *testing.T) {
	var d durations
	expect.Equal(t, testing.AllocsPerRun(5000, func() { d.add(1) }), 0, "allocations per event")
}

// Only what counts has a duration; the first one begins with the first send.
func TestTallyTook(t *testing.T) {
	const ms = time.Millisecond
	var y tally
	y.firstSend(1 * ms)
	y.built(5 * ms) // warm-up
	y.start(10*ms, 7)
	if got := y.totals().Took; got.Events != 0 || got.Durations != nil {
		t.Errorf("before the first event: %+v", got)
	}
	y.firstSend(12 * ms)
	y.built(20 * ms)
	y.firstSend(21 * ms)
	y.built(50 * ms)
	y.built(50 * ms)
	got := y.totals().Took
	want := []time.Duration{8 * ms, 30 * ms, 0}
	expect.True(t, got.Events == 3 && got.Stride == 1 && slices.Equal(got.Durations, want), "got %+v, want %v", got, want)
}

// Fragments of one source that are awaited at once take their time once; what is
// awaited in the end has taken none since the last that came.
func TestSources(t *testing.T) {
	s := newSources(wire.Configure{Case: wire.Case{Pairs: true, Peers: make([]wire.Peer, 3)}})
	s.await(2, 5)
	resent := uint64(7)
	moved := func(peer int) transport.Movement { return transport.Movement{Resent: resent * uint64(peer)} }
	s.start(100, moved)
	resent = 9
	s.came(2, 110) // of before, but it took counted time
	s.await(1, 120)
	s.await(1, 130)
	s.got(1, 1000)
	s.came(1, 150)
	s.came(1, 170)
	s.await(1, 300)
	s.got(1, 500)
	s.came(1, 301)
	s.began(1, 30)
	s.began(1, 20)
	s.began(1, 25)
	s.await(1, 400)
	want := []wire.Source{{}, {Bytes: 1500, Took: 51, Resent: 2, Messages: 3, Longest: 30, LongestAt: 50, Soonest: 20}, {Took: 10, Resent: 4, Messages: 1, Longest: 10, LongestAt: 10}}
	expect.Equal(t, s.report(100, moved), want, "sources")
}

// Nobody asked: nothing is kept, and nothing sent.
func TestNoSources(t *testing.T) {
	s := newSources(wire.Configure{Case: wire.Case{Peers: make([]wire.Peer, 3)}})
	s.start(time.Second, nil)
	s.await(1, 0)
	s.got(1, 10)
	s.came(1, 0)
	got := s.report(0, nil)
	expect.True(t, s == nil && got == nil, "%v kept, %v reported", s, got)
}
