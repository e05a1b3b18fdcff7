package builder_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/builder"
	"evbench/testing/expect"
)

// drawn are distributions of 1,000 bytes for 16 servers.
func drawn(d builder.Distribution) builder.Sizes {
	return builder.Sizes{Mean: 1000, Seed: 3, Roles: builder.Roles{Servers: 16}, Distribution: d}
}

func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		d        builder.Distribution
		min, max int // 0: not known beforehand
		most     int // Max
		mean     float64
	}{
		{"equal", builder.Distribution{}, 1000, 1000, 1000, 1000},
		{"uniform", builder.Distribution{Spread: 0.5}, 500, 1500, 1500, 1000},
		{"the same", builder.Distribution{Kind: builder.Uniform, By: builder.ByFragment, Spread: 0.5}, 500, 1500, 1500, 1000},
		{"by both", builder.Distribution{By: builder.BySourceEvent, Spread: 0.5}, 0, 0, 2250, 1000},
		{"exponential", builder.Distribution{Kind: builder.Exponential}, 1, 0, 16000, 1000},
		{"log-normal", builder.Distribution{Kind: builder.LogNormal, Sigma: 1}, 0, 16000, 16000, 997},
		{"log-normal by event", builder.Distribution{Kind: builder.LogNormal, By: builder.ByEvent, Sigma: 0.5}, 0, 0, 16000, 1000},
		{"no sigma", builder.Distribution{Kind: builder.LogNormal}, 1000, 1000, 16000, 1000},
		{"fanout", builder.Distribution{Fanout: 6}, 0, 1000, 1000, 1000 * 6. / 16},
		{"table", builder.Distribution{By: builder.ByEvent, Scale: 2, Table: table(16)}, 2, 16, 16, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := drawn(tt.d)
			lo, hi, sum := math.MaxInt, 0, 0
			const events = 100_000
			for event := range uint64(events) {
				for source := range 16 {
					x := s.Of(event, source)
					lo, hi, sum = min(lo, x), max(hi, x), sum+x
				}
			}
			expect.False(t, tt.min > 0 && lo != tt.min || tt.max > 0 && hi != tt.max || s.Max() != tt.most || hi > tt.most,
				"sizes %d..%d, Max %d; want %d..%d, %d", lo, hi, s.Max(), tt.min, tt.max, tt.most)
			if mean := float64(sum) / (16 * events); tt.d.By != builder.BySourceEvent && math.Abs(mean/tt.mean-1) > 0.01 {
				t.Errorf("mean %v, want %v", mean, tt.mean)
			}
			equal := lo == hi
			expect.False(t, equal != tt.d.Equal() && tt.name != "no sigma", "Equal %v, sizes %d..%d", !equal, lo, hi)
		})
	}
}

// table has the sizes 1..8 in each column.
func table(sources int) (out []uint32) {
	for row := range 8 {
		for source := range sources {
			out = append(out, uint32((row+source)%8+1))
		}
	}
	return out
}

// A spread gives what it gave before there were other distributions.
func TestSizesOfSpreadStay(t *testing.T) {
	s := builder.Sizes{Mean: 620_383, Seed: 7, Distribution: builder.Distribution{Spread: 0.5}}
	want := []int{469403, 627351, 692958, 542135, 858464, 494178, 351504, 436774, 393832, 592231, 718521, 903872}
	for i, event := range []uint64{0, 1, 17, 1 << 40} {
		for j, source := range []int{0, 5, 325} {
			expect.Equal(t, s.Of(event, source), want[3*i+j], "event %d, source %d", event, source)
		}
	}
	widest, one := builder.Distribution{Spread: 0.9}, builder.Sizes{Mean: 1}
	if one.Distribution = widest; one.Of(1, 1) != 1 || one.Max() != 1 {
		t.Error("one byte is spread")
	}
}

func TestSizesDependOnSeed(t *testing.T) {
	for _, d := range []builder.Distribution{{Spread: 0.5}, {Kind: builder.Exponential}, {Kind: builder.LogNormal, Sigma: 1}} {
		a := builder.Sizes{Mean: 1 << 20, Seed: 1, Distribution: d}
		b := a
		b.Seed = 2
		expect.True(t, a.Of(1, 1) != b.Of(1, 1) && a.Of(1, 1) != a.Of(2, 1) && a.Of(1, 1) != a.Of(1, 2),
			"%+v: seed, event or source does not change the size", d)
	}
}

// By says what fragments of one size have in common.
func TestSizesBy(t *testing.T) {
	for _, kind := range []builder.Distribution{{Spread: 0.5}, {Kind: builder.Exponential}, {Kind: builder.LogNormal, Sigma: 1}} {
		of := func(by string) func(event uint64, source int) int {
			d := kind
			d.By = by
			s := builder.Sizes{Mean: 1 << 20, Seed: 1, Roles: builder.Roles{Servers: 16}, Distribution: d}
			return s.Of
		}
		source, event, both := of(builder.BySource), of(builder.ByEvent), of(builder.BySourceEvent)
		expect.True(t, source(1, 1) == source(2, 1) && source(1, 1) != source(1, 2), "%+v: not by source", kind)
		expect.True(t, event(1, 1) == event(1, 2) && event(1, 1) != event(2, 1), "%+v: not by event", kind)
		for e := range uint64(20) {
			want := min(float64(source(e, 3))*float64(event(e, 3))/(1<<20), builder.Most<<20)
			got := both(e, 3)
			expect.True(t, math.Abs(float64(got)-want) <= 20, "%+v: source × event gives %d, want %v", kind, got, want)
		}
	}
}

// A source has a fragment for as many others as fanout says in each exchange, for each as
// often as for any other, and none for itself.
func TestSizesFanout(t *testing.T) {
	for _, tt := range []struct{ servers, fanout int }{{2, 1}, {3, 1}, {4, 2}, {16, 8}, {17, 1}, {33, 32}} {
		s := builder.Sizes{Mean: 100, Seed: 5, Roles: builder.Roles{Servers: tt.servers}, Distribution: builder.Distribution{Fanout: tt.fanout, Spread: 0.5}}
		n := tt.servers
		const exchanges = 3000
		met, pairs := make([]int, n*n), make([]int, n*n)
		for e := range uint64(exchanges) {
			for src := range n {
				to := 0
				for dst := range n {
					if s.Of(e*uint64(n)+uint64(dst), src) > 0 {
						to++
						met[src*n+dst]++
						if next := (dst + 1) % n; s.Of(e*uint64(n)+uint64(next), src) > 0 {
							pairs[src*n+dst]++
						}
					}
				}
				expect.MustTrue(t, to == tt.fanout && met[src*n+src] <= 0, "%v: rank %d sends to %d, to itself %d times", tt, src, to, met[src*n+src])
			}
		}
		p := float64(tt.fanout) / float64(n-1)
		q := p * float64(tt.fanout-1) / float64(max(n-2, 1))
		for i := range met {
			src, dst := i/n, i%n
			if src == dst {
				continue
			}
			if off := math.Abs(float64(met[i]) - exchanges*p); off > 5*math.Sqrt(exchanges*p*(1-p))+1 {
				t.Errorf("%v: %d to %d in %d of %d exchanges, want %.0f", tt, src, dst, met[i], exchanges, exchanges*p)
			}
			if off := math.Abs(float64(pairs[i]) - exchanges*q); (dst+1)%n != src && off > 6*math.Sqrt(exchanges*q*(1-q))+1 {
				t.Errorf("%v: %d to %d and the next in %d of %d exchanges, want %.0f", tt, src, dst, pairs[i], exchanges, exchanges*q)
			}
		}
	}
}

func TestSizesTable(t *testing.T) {
	s := builder.Sizes{Mean: 3, Roles: builder.Roles{Servers: 2}, Distribution: builder.Distribution{By: builder.ByEvent, Scale: 1, Table: []uint32{1, 2, 3, 4, 0, 6}}}
	var got []int
	for event := range uint64(4) {
		got = append(got, s.Of(event, 0), s.Of(event, 1))
	}
	s.By = builder.ByExchange
	for event := range uint64(4) {
		got = append(got, s.Of(event, 1))
	}
	s.Scale = 0.001
	got = append(got, s.Of(0, 0), s.Of(4, 0), s.Max())
	for i, want := range []int{1, 2, 3, 4, 0, 6, 1, 2, 2, 2, 4, 4, 1, 0, 1} {
		expect.MustTrue(t, got[i] == want, "got %d", got)
	}
}

func TestDistributionCheck(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, tt := range []struct {
		d    builder.Distribution
		want string
	}{
		{builder.Distribution{}, ""},
		{builder.Distribution{Kind: builder.LogNormal, Sigma: 2, By: builder.BySourceEvent, Fanout: 15}, ""},
		{builder.Distribution{By: builder.ByExchange, Scale: rng.Float64() + 1, Table: make([]uint32, 32)}, ""},
		{builder.Distribution{Kind: "normal"}, `distribution: no "normal"; there are uniform, exponential, log-normal`},
		{builder.Distribution{By: builder.ByExchange}, `by: no "exchange"`},
		{builder.Distribution{Spread: math.NaN()}, "spread: NaN"},
		{builder.Distribution{Spread: 1}, "spread: 1, must be 0..0.9"},
		{builder.Distribution{Sigma: -1}, "sigma: -1, must be 0..2"},
		{builder.Distribution{Fanout: 16}, "fanout: 16, must be 1..15"},
		{builder.Distribution{By: builder.ByEvent, Scale: 1, Table: make([]uint32, 31)}, "file: 31 numbers for 16 servers"},
		{builder.Distribution{By: builder.ByEvent, Scale: 1, Table: make([]uint32, builder.MaxTable+16)}, "262144 numbers at most"},
		{builder.Distribution{Scale: 1, Table: make([]uint32, 16)}, `by: no ""; of a file there are event, exchange`},
		{builder.Distribution{By: builder.ByEvent, Table: make([]uint32, 16)}, "file: scale 0"},
		{builder.Distribution{By: builder.ByEvent, Scale: math.Inf(1), Table: make([]uint32, 16)}, "file: scale +Inf"},
		{builder.Distribution{By: builder.ByEvent, Scale: 1, Table: make([]uint32, 16), Fanout: 1}, "nothing is drawn beside"},
	} {
		err := tt.d.Check(builder.Roles{Servers: 16})
		if got := ""; err != nil {
			got = err.Error()
			expect.True(t, tt.want != "" && strings.Contains(got, tt.want), "%+v: %q, want %q", tt.d, got, tt.want)
		} else if tt.want != "" {
			t.Errorf("%+v: accepted, want %q", tt.d, tt.want)
		}
	}
}
