package builder_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"evbench/builder"
	"evbench/internal/expect"
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
	expect.MustTrue(t, len(p) == size, "payload of %d bytes, want %d", len(p), size)
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
			expect.MustTrue(t, bytes.Equal(p, b.Payload(event, source, size)), "event %d source %d differs between workers", event, source)
			seen[string(p)] = true
		}
	}
	// Of 400 drawn from 4096 some 19 are expected to have been drawn before.
	got := len(seen)
	expect.True(t, got >= 365, "400 fragments have %d different payloads", got)
	expect.True(t, !bytes.Equal(a.Payload(1, 1, size), builder.NewWindow(alloc, size, 8).Payload(1, 1, size)), "another seed gives the same payload")
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
