package builder_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"evbench/builder"
)

func alloc(n int) []byte { return make([]byte, n) }

// The short way to a payload's checksum agrees with reading it.
func TestSumIsTheChecksum(t *testing.T) {
	const most = 5000
	w := builder.NewWindow(alloc, most, 1)
	r := rand.New(rand.NewPCG(1, 2))
	for size := range 600 {
		check(t, w, r.Uint64(), r.IntN(100), size)
	}
	for range 2000 {
		check(t, w, r.Uint64(), r.IntN(100), r.IntN(most+1))
	}
	check(t, w, 1, 2, most)
}

func check(t *testing.T, w *builder.Window, event uint64, source, size int) {
	t.Helper()
	p := w.Payload(event, source, size)
	if len(p) != size {
		t.Fatalf("payload of %d bytes, want %d", len(p), size)
	}
	if got, want := w.Sum(event, source, size), builder.Checksum(p); got != want {
		t.Errorf("event %d source %d size %d: sum %08x, want %08x", event, source, size, got, want)
	}
}

// Two workers with the same seed derive the same payload; two fragments of one
// size differ, whether in the event or in the source.
func TestPayloadDependsOnEventAndSource(t *testing.T) {
	const size = 64
	a, b := builder.NewWindow(alloc, size, 7), builder.NewWindow(alloc, size, 7)
	seen := map[string]bool{}
	for event := range uint64(50) {
		for source := range 8 {
			p := a.Payload(event, source, size)
			if !bytes.Equal(p, b.Payload(event, source, size)) {
				t.Fatalf("event %d source %d differs between workers", event, source)
			}
			seen[string(p)] = true
		}
	}
	// Of 400 drawn from 4096 some 19 are expected to have been drawn before.
	if got := len(seen); got < 365 {
		t.Errorf("400 fragments have %d different payloads", got)
	}
	if c := builder.NewWindow(alloc, size, 8); bytes.Equal(a.Payload(1, 1, size), c.Payload(1, 1, size)) {
		t.Error("another seed gives the same payload")
	}
}

func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		s        builder.Sizes
		min, max int
	}{
		{"fixed", builder.Sizes{Mean: 1000}, 1000, 1000},
		{"spread", builder.Sizes{Mean: 1000, Spread: 0.5, Seed: 3}, 500, 1500},
		{"widest", builder.Sizes{Mean: 10, Spread: 0.9}, 1, 19},
		{"one byte", builder.Sizes{Mean: 1, Spread: 0.9}, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lo, hi, sum := tt.max, tt.min, 0
			const n = 20000
			for event := range uint64(n) {
				x := tt.s.Of(event, int(event%7))
				lo, hi, sum = min(lo, x), max(hi, x), sum+x
			}
			if lo != tt.min || hi != tt.max || tt.s.Max() != tt.max {
				t.Errorf("sizes %d..%d, Max %d; want %d..%d", lo, hi, tt.s.Max(), tt.min, tt.max)
			}
			if mean := float64(sum) / n; mean < 0.98*float64(tt.s.Mean) || mean > 1.02*float64(tt.s.Mean) {
				t.Errorf("mean %v, want %d", mean, tt.s.Mean)
			}
		})
	}
}

func TestSizesDependOnSeed(t *testing.T) {
	a, b := builder.Sizes{Mean: 1 << 20, Spread: 0.5, Seed: 1}, builder.Sizes{Mean: 1 << 20, Spread: 0.5, Seed: 2}
	if a.Of(1, 1) == b.Of(1, 1) || a.Of(1, 1) == a.Of(2, 1) || a.Of(1, 1) == a.Of(1, 2) {
		t.Error("seed, event or source does not change the size")
	}
}

func BenchmarkSum(b *testing.B) {
	w := builder.NewWindow(alloc, 1<<20, 1)
	for _, bb := range []struct {
		name string
		vary int
	}{{"fixed", 1}, {"spread", 1000}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w.Sum(uint64(i), 3, 1<<19+i%bb.vary)
			}
		})
	}
}
