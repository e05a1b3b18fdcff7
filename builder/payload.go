package builder

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"

	"evbench/internal/splitmix"
)

const (
	// places is how many different payloads of one size a Window holds: a swapped fragment has the
	// right payload with a probability of 1/places. Payloads begin on cache lines: unaligned ones
	// are copied more slowly, which took a tenth of the throughput over loopback.
	places = 1 << 12
	line   = 64
	// stride is the distance of stored prefix checksums, in bytes.
	stride = 256
)

// A Window is the memory that holds all payloads of a worker as slices: no fragment is generated or
// copied. Windows of equal seed and size are equal. It is not safe for concurrent use.
type Window struct {
	data   []byte
	prefix []uint32 // prefix[i] is the checksum of data[:i·stride]

	size  int    // the last slice length asked for
	power uint32 // shift(size)
}

// NewWindow fills a Window for fragments of up to most bytes, in memory from alloc. It costs
// O(most).
func NewWindow(alloc func(n int) []byte, most int, seed uint64) *Window {
	w := &Window{data: alloc(most + places*line), power: one}
	fill(w.data, seed)
	sum := uint32(0)
	for i := 0; i < len(w.data); i += stride {
		w.prefix = append(w.prefix, sum)
		sum = crc32.Update(sum, castagnoli, w.data[i:min(i+stride, len(w.data))])
	}
	w.prefix = append(w.prefix, sum)
	return w
}

func fill(b []byte, seed uint64) {
	r := rand.NewPCG(seed, seed)
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, r.Uint64())
	}
	for i := range b {
		b[i] = byte(r.Uint64())
	}
}

// Payload returns the payload of a fragment. The caller must not change it.
func (w *Window) Payload(event uint64, source, size int) []byte {
	at := w.offset(event, source)
	return w.data[at : at+size : at+size]
}

// Sum returns the checksum of the same payload in O(log size) without reading it. If size is
// unchanged since the last call, it costs one multiplication.
func (w *Window) Sum(event uint64, source, size int) uint32 {
	if size != w.size {
		w.size, w.power = size, shift(size)
	}
	at := w.offset(event, source)
	return w.sumTo(at+size) ^ multiply(w.power, w.sumTo(at))
}

func (w *Window) offset(event uint64, source int) int {
	return int(mix(event, source, 0)%places) * line
}

func (w *Window) sumTo(end int) uint32 {
	i := end / stride
	return crc32.Update(w.prefix[i], castagnoli, w.data[i*stride:end])
}

// mix hashes its arguments with the finaliser of splitmix64.
func mix(event uint64, source int, seed uint64) uint64 {
	x := event*splitmix.Step ^ uint64(source)*0xd1b54a32d192ed03 ^ seed*0x8cb92ba72f3d8dd7
	return splitmix.Mix(x + splitmix.Step)
}

// CRC-32C of a slice from the checksums of two prefixes. With A the bytes before the slice and B
// the slice, crc(AB) = crc(A)·x^(8|B|) + crc(B) modulo the Castagnoli polynomial, the rule behind
// zlib's crc32_combine, here solved for crc(B). Polynomials are in the reflected order of
// hash/crc32: bit 31 is the constant term.

const (
	polynomial = 0x82f63b78 // crc32.Castagnoli
	one        = 1 << 31    // the polynomial 1
)

// squares[i] is x^(2^i).
var squares = func() (s [64]uint32) {
	s[0] = one >> 1
	for i := 1; i < len(s); i++ {
		s[i] = multiply(s[i-1], s[i-1])
	}
	return s
}()

// multiply returns a·b modulo the polynomial, in at most 32 steps.
func multiply(a, b uint32) uint32 {
	var p uint32
	for ; a != 0; a <<= 1 {
		if a&one != 0 {
			p ^= b
		}
		b = b>>1 ^ polynomial&-(b&1)
	}
	return p
}

// shift returns x^(8n), the factor by which n more bytes move a checksum.
func shift(n int) uint32 {
	p := uint32(one)
	for i, e := 0, 8*uint64(n); e != 0; i, e = i+1, e>>1 {
		if e&1 != 0 {
			p = multiply(p, squares[i])
		}
	}
	return p
}
