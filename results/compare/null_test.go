package compare_test

import (
	"testing"

	"evbench/internal/expect"
	"evbench/results/compare"
)

// A comparison of two synthetic runs, made many times with other noise.
type outcome struct{ significant, unsaid float64 } // shares

func often(base, next synthetic, times int) (o outcome) {
	for i := range times {
		base.seed, next.seed = uint64(2*i), uint64(2*i+1)
		f := compare.Runs(base.run(), next.run(), compare.Options{}).Cases[0].Figures[0]
		if f.Significant {
			o.significant += 1 / float64(times)
		}
		if f.Unsaid != "" {
			o.unsaid += 1 / float64(times)
		}
	}
	return o
}

// Two runs of the same look different about as often as alpha says, whatever is
// observed, and also where neighbouring intervals are alike. Where they are very
// much so, and few, one cannot see that they are; the limits say what it costs.
func TestNothingChanged(t *testing.T) {
	for _, tt := range []struct {
		name  string
		s     synthetic
		limit float64
	}{
		{"8 intervals", synthetic{repeats: 1, intervals: 8}, 0.07},
		{"60 intervals", synthetic{repeats: 1, intervals: 60}, 0.07},
		{"8, each making up for the one before", synthetic{repeats: 1, intervals: 8, alike: -0.3}, 0.05},
		{"20, alike", synthetic{repeats: 1, intervals: 20, alike: 0.5}, 0.09},
		{"60, alike", synthetic{repeats: 1, intervals: 60, alike: 0.5}, 0.09},
		{"60, much alike", synthetic{repeats: 1, intervals: 60, alike: 0.8}, 0.12},
		{"4 repeats", synthetic{repeats: 4, intervals: 8, alike: 0.8}, 0.05},
		{"6 repeats that differ", synthetic{repeats: 6, intervals: 8, alike: 0.8, between: 0.05}, 0.06},
		{"3 repeats that differ", synthetic{repeats: 3, intervals: 20, between: 0.05}, 0.12}, // 1 in 10 lies apart by chance
	} {
		tt.s.servers, tt.s.rate, tt.s.noise = 2, 90e6, 0.02
		got := often(tt.s, tt.s, 500)
		expect.True(t, got.significant <= tt.limit, "%s: %.3f look significant, more than %.3f", tt.name, got.significant, tt.limit)
	}
}

// Taken for independent, alike intervals would cry wolf: blocks are what
// prevents it. A change of twice the noise is found all the same.
func TestChangeFound(t *testing.T) {
	for _, tt := range []struct {
		name  string
		s     synthetic
		least float64
	}{
		{"8 intervals", synthetic{repeats: 1, intervals: 8}, 0.7},
		{"60 intervals", synthetic{repeats: 1, intervals: 60}, 0.95},
		{"60, alike", synthetic{repeats: 1, intervals: 60, alike: 0.5}, 0.85},
		{"4 repeats", synthetic{repeats: 4, intervals: 8}, 0.95},
		{"3 repeats", synthetic{repeats: 3, intervals: 8}, 0.9},
	} {
		tt.s.servers, tt.s.rate, tt.s.noise = 2, 90e6, 0.02
		slower := tt.s
		slower.rate *= 0.96
		got := often(tt.s, slower, 200)
		expect.True(t, got.significant >= tt.least, "%s: %.2f found, fewer than %.2f", tt.name, got.significant, tt.least)
	}
}

// Servers of one interval are one observation: more of them make nothing more
// certain.
func TestServersAreNoObservations(t *testing.T) {
	s := synthetic{repeats: 1, intervals: 8, servers: 64, rate: 90e6, noise: 0.02, seed: 1}
	f := compare.Runs(s.run(), s.run(), compare.Options{}).Cases[0].Figures[0]
	expect.True(t, f.Base.N <= 8 && f.Observed == compare.Blocks, "%d observations that are %s, from 8 intervals", f.Base.N, f.Observed)
}

func TestTooFew(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    synthetic
		want string
	}{
		{"3 intervals", synthetic{repeats: 1, intervals: 3}, "fewer than 4 repeats and fewer than 4 intervals on a side"},
		{"no samples", synthetic{repeats: 3, intervals: 0}, "fewer than 4 repeats on a side, and no samples"},
	} {
		tt.s.servers, tt.s.rate, tt.s.noise, tt.s.seed = 2, 90e6, 0.02, 3
		a, b := tt.s.run(), tt.s.run()
		for i := range a.Summary.Cases {
			a.Summary.Cases[i].EventsPerSec.Mean, b.Summary.Cases[i].EventsPerSec.Mean = 5, 1
		}
		f := compare.Runs(a, b, compare.Options{}).Cases[0].Figures[0]
		expect.True(t, !f.Significant && contains(f.Unsaid, tt.want) && f.Base.N != 0, "%s: %+v, want %q", tt.name, f, tt.want)
	}
}

// A rate that falls all the time has no level to compare, however many
// intervals show it.
func TestDrift(t *testing.T) {
	s := synthetic{repeats: 1, intervals: 20, servers: 2, rate: 90e6}
	base, next := s.run(), s.run()
	for i := range next.Samples {
		next.Samples[i].PayloadBytes = uint64(9e6 - 2e5*next.Samples[i].TSec)
	}
	f := compare.Runs(base, next, compare.Options{}).Cases[0].Figures[0]
	expect.True(t, !f.Significant && contains(f.Unsaid, "too much alike"), "%+v", f)
}
