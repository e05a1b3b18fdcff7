package opensm

import (
	"math/bits"

	"evbench/site/lft"
)

// dice is the generator of the C function random of the GNU library: r[i] = r[i-3] + r[i-31],
// seeded by a Lehmer generator, without the first 310 numbers and without the lowest bit (glibc
// manual, "BSD Random").
type dice struct {
	state [34]uint32
	at    int
}

func newDice(seed uint32) *dice {
	d := &dice{}
	x := int64(int32(max(seed, 1)))
	for i := range 31 {
		d.state[i] = uint32(x)
		if x = 16807 * x % 2147483647; x < 0 {
			x += 2147483647
		}
	}
	for i := range 3 {
		d.state[31+i] = d.state[i]
	}
	for range 310 {
		d.roll()
	}
	return d
}

// roll returns the next number. The state is a ring of 34, whose oldest number is at position at.
func (d *dice) roll() uint32 {
	n := len(d.state)
	x := d.state[(d.at+n-3)%n] + d.state[(d.at+n-31)%n]
	d.state[d.at] = x
	d.at = (d.at + 1) % n
	return x >> 1
}

// scattered returns a random one of the ports with the fewest routes. It rolls even for a single
// port, as the original does.
func (l *ledger) scattered(set []uint64) uint8 {
	var ports [256]uint8
	n, fewest := 0, ^uint32(0)
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			p := uint8(w*64 + bits.TrailingZeros64(word) + 1)
			if c := l.load[p]; c < fewest {
				n, fewest = 0, c
			} else if c > fewest {
				continue
			}
			ports[n] = p
			n++
		}
	}
	if n == 0 {
		return lft.NoPort
	}
	return ports[l.dice.roll()%uint32(n)]
}
