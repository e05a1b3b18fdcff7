package builder_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"evbench/builder"
	"evbench/testing/expect"
)

var sample = builder.Header{Kind: builder.Data, Epoch: 3, Event: 1 << 40, Source: 5, Dest: 7, Size: 625000, Sum: 0xdeadbeef}

func TestHeaderRoundTrip(t *testing.T) {
	b := sample.Append([]byte("before"))[6:]
	expect.MustTrue(t, len(b) == builder.HeaderSize, "Append wrote %d bytes, want %d", len(b), builder.HeaderSize)
	got, err := builder.Parse(b)
	expect.True(t, err == nil && got == sample, "Parse = %+v, %v; want %+v", got, err, sample)
}

// Every single flipped bit of a header is found.
func TestEveryFlippedBitIsFound(t *testing.T) {
	good := sample.Append(nil)
	for i := range 8 * len(good) {
		b := bytes.Clone(good)
		b[i/8] ^= 1 << (i % 8)
		h, err := builder.Parse(b)
		expect.True(t, errors.Is(err, builder.ErrHeader), "bit %d flipped: Parse = %+v, %v; want ErrHeader", i, h, err)
	}
}

func TestParseRefusesLength(t *testing.T) {
	for _, n := range []int{0, 1, builder.HeaderSize - 1, builder.HeaderSize + 1} {
		expect.Is(t, expect.Err(builder.Parse(make([]byte, n))), builder.ErrHeader)
	}
}

// A header with the right checksum is still refused when a stranger wrote it.
func TestParseRefusesForeignHeaders(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    builder.Header
	}{
		{"no kind", builder.Header{Event: 1}},
		{"unknown kind", builder.Header{Kind: 4}},
	} {
		if _, err := builder.Parse(tt.h.Append(nil)); !errors.Is(err, builder.ErrHeader) {
			t.Errorf("%s: %v, want ErrHeader", tt.name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample.Append(nil))
	f.Add(builder.Header{Kind: builder.Request}.Append(nil))
	f.Add(make([]byte, builder.HeaderSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := builder.Parse(b)
		if err != nil {
			return
		}
		got := h.Append(nil)
		expect.True(t, bytes.Equal(got, b), "round trip: got %x, want %x", got, b)
	})
}

func FuzzHeader(f *testing.F) {
	f.Add(uint32(1), uint64(2), uint32(3), uint32(4), uint64(5), uint32(6), true)
	f.Fuzz(func(t *testing.T, epoch uint32, event uint64, src, dst uint32, size uint64, sum uint32, request bool) {
		h := builder.Header{Kind: builder.Data, Epoch: epoch, Event: event, Source: src, Dest: dst, Size: size, Sum: sum}
		if request {
			h.Kind = builder.Request
		}
		got, err := builder.Parse(h.Append(nil))
		expect.True(t, err == nil && got == h, "Parse(Append(%+v)) = %+v, %v", h, got, err)
	})
}

func TestHeaderAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, builder.HeaderSize)
	n := testing.AllocsPerRun(100, func() {
		buf = sample.Append(buf[:0])
		expect.Must(t, expect.Err(builder.Parse(buf)))
		buf[9] ^= 1
		expect.MustTrue(t, expect.Err(builder.Parse(buf)) != nil, "damaged header accepted")
	})
	expect.Equal(t, n, 0, "allocations of a header")
}

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
	got, want := w.Sum(event, source, size), builder.Checksum(p)
	expect.True(t, got == want, "event %d source %d size %d: sum %08x, want %08x", event, source, size, got, want)
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
