package controller

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evbench/controller/wire"
	"evbench/results"
	"evbench/testing/expect"
)

func TestCheckTook(t *testing.T) {
	two := []time.Duration{1, 2}
	for _, tt := range []struct {
		name string
		took wire.Took
		want string // "": nothing is wrong
	}{
		{"none", wire.Took{}, ""},
		{"of one each", wire.Took{Stride: 1, Events: 2, Durations: two}, ""},
		{"the last of fewer", wire.Took{Stride: 4, Events: 5, Durations: two}, ""},
		{"the last of as many", wire.Took{Stride: 4, Events: 8, Durations: two}, ""},
		{"too many entries", wire.Took{Stride: 1, Events: 1025, Durations: make([]time.Duration, 1025)}, "1025 entries, must be 1..1024"},
		{"no entries", wire.Took{Stride: 1, Events: 1}, "0 entries"},
		{"no stride", wire.Took{Events: 2, Durations: two}, "stride 0, must be a power of two"},
		{"negative stride", wire.Took{Stride: math.MinInt, Events: 2, Durations: two}, "stride -9223372036854775808"},
		{"no power of two", wire.Took{Stride: 3, Events: 6, Durations: two}, "stride 3"},
		{"vast stride", wire.Took{Stride: 1 << 62, Events: 1<<62 + 1, Durations: two}, "stride 4611686018427387904"},
		{"more events", wire.Took{Stride: 2, Events: 5, Durations: two}, "2 entries of 2 for 5 events"},
		{"fewer events", wire.Took{Stride: 2, Events: 2, Durations: two}, "2 entries of 2 for 2 events"},
		{"vastly more events", wire.Took{Stride: 4, Events: math.MaxUint64, Durations: two}, "2 entries of 4 for"},
		{"time went back", wire.Took{Stride: 1, Events: 2, Durations: []time.Duration{1, -1}}, "one is negative"},
	} {
		expect.ErrorIf(t, checkTook(tt.took), tt.want)
	}
}

// secs are durations of so many seconds.
func secs(x ...int) (out []time.Duration) {
	for _, s := range x {
		out = append(out, time.Duration(s)*time.Second)
	}
	return out
}

func TestMeanTook(t *testing.T) {
	for _, tt := range []struct {
		name string
		all  []wire.Took
		want Durations
	}{
		{"nobody reports", nil, Durations{}},
		{"one has done nothing", []wire.Took{{Stride: 1, Events: 1, Durations: secs(1)}, {}}, Durations{}},
		{"the same of all", []wire.Took{{Stride: 1, Events: 2, Durations: secs(1, 2)}, {Stride: 1, Events: 2, Durations: secs(3, 6)}},
			Durations{Stride: 1, Exchanges: 2, Sec: []float64{2, 4}}},
		{"the last entry is of fewer", []wire.Took{{Stride: 2, Events: 3, Durations: secs(4, 1)}, {Stride: 2, Events: 3, Durations: secs(2, 3)}},
			Durations{Stride: 2, Exchanges: 3, Sec: []float64{3, 2}}},
		{"one has done more", []wire.Took{{Stride: 1, Events: 3, Durations: secs(1, 2, 9)}, {Stride: 1, Events: 2, Durations: secs(3, 6)}},
			Durations{Stride: 1, Exchanges: 2, Sec: []float64{2, 4}}},
		{"one has done more, by twos", []wire.Took{{Stride: 2, Events: 5, Durations: secs(1, 2, 3)}, {Stride: 2, Events: 3, Durations: secs(3, 6)}},
			Durations{Stride: 2, Exchanges: 2, Sec: []float64{2}}},
		{"by one and by fours", []wire.Took{{Stride: 1, Events: 4, Durations: secs(1, 2, 3, 4)}, {Stride: 4, Events: 5, Durations: secs(20, 6)}},
			Durations{Stride: 4, Exchanges: 4, Sec: []float64{15}}},
		{"fewer than one entry", []wire.Took{{Stride: 1, Events: 3, Durations: secs(1, 2, 3)}, {Stride: 4, Events: 5, Durations: secs(20, 6)}},
			Durations{}},
	} {
		expect.Equal(t, meanTook(tt.all), tt.want, "%s", tt.name)
	}
}

// took keeps times by sums of so many.
func took(times []time.Duration, stride int) wire.Took {
	t := wire.Took{Stride: stride, Events: uint64(len(times))}
	for chunk := range slices.Chunk(times, stride) {
		var sum time.Duration
		for _, d := range chunk {
			sum += d
		}
		t.Durations = append(t.Durations, sum)
	}
	return t
}

// However the servers keep their times, the mean is that of the same exchanges of all, and
// the rows follow one another.
func TestMeanTookAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var all []wire.Took
		var times [][]time.Duration
		for range 1 + random.IntN(5) {
			own := make([]time.Duration, 1+random.IntN(40))
			for i := range own {
				own[i] = time.Duration(random.Int64N(int64(time.Second)))
			}
			all, times = append(all, took(own, 1<<random.IntN(4))), append(times, own)
			expect.Must(t, checkTook(all[len(all)-1]))
		}
		first := uint64(0)
		for _, e := range meanTook(all).Times() {
			var want float64
			for _, own := range times {
				for _, d := range own[e.Exchange:][:e.Exchanges] {
					want += d.Seconds() / float64(len(all))
				}
			}
			expect.MustTrue(t, e.Exchange == first && math.Abs(e.DurationSec-want) <= 1e-9, "%+v, want %v s from %d on", e, want, first)
			first += uint64(e.Exchanges)
		}
	}
}

func TestTimes(t *testing.T) {
	got := Durations{Stride: 4, Exchanges: 6, Sec: []float64{2, 1}}.Times()
	want := []results.ExchangeTime{{Exchanges: 4, DurationSec: 2}, {Exchange: 4, Exchanges: 2, DurationSec: 1}}
	expect.Equal(t, got, want, "got")
}
