package builder

// CRC-32C of a slice from the checksums of two prefixes. With A the bytes
// before the slice and B the slice, crc(AB) = crc(A)·x^(8|B|) + crc(B) modulo
// the Castagnoli polynomial, the rule behind zlib's crc32_combine, here solved
// for crc(B). Polynomials are in the reflected order of hash/crc32: bit 31 is
// the constant term.

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
