package builder_test

import (
	"bytes"
	"errors"
	"testing"

	"evbench/builder"
	"evbench/internal/expect"
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
		if _, err := builder.Parse(make([]byte, n)); !errors.Is(err, builder.ErrHeader) {
			t.Errorf("%d bytes: %v, want ErrHeader", n, err)
		}
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
