package verify

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"evbench/topology"
)

// hash returns "sha256:" and the digest of the canonical text: the lines that
// describe the fabric, then one line per message.
func hash(t *topology.Tree, messages []Message) string {
	h := sha256.New()
	h.Write([]byte(fabric(t)))
	const block = 1 << 15
	buf := make([]byte, 0, block+64)                // one line is shorter than 64 bytes
	numbers := decimals(2 * t.Leaves() * t.Ports()) // most plans have fewer phases than that
	for _, m := range messages {
		buf = append(numbers.add(buf, m.Phase), ' ')
		buf = append(numbers.add(buf, m.Src), ' ')
		buf = append(numbers.add(buf, m.Dst), ' ')
		if m.Spine == NoSpine {
			buf = append(buf, '-', '\n')
		} else {
			buf = append(numbers.add(buf, m.Spine), '\n')
		}
		if len(buf) >= block {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// fabric returns the header lines that the hash covers.
func fabric(t *topology.Tree) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# topology %s\n# fill ", t.Notation())
	for l := range t.Leaves() {
		if l > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(t.On(l)))
	}
	if t.Spines() != t.Ports() {
		fmt.Fprintf(&b, "\n# spines %d", t.Spines())
	}
	b.WriteString("\n# down ")
	for i, link := range t.Dead() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(link.String())
	}
	if len(t.Dead()) == 0 {
		b.WriteString("none")
	}
	b.WriteByte('\n')
	return b.String()
}

// A decimalTable holds numbers as text, from 0. Formatting each number of a
// large plan anew takes longer than judging it.
type decimalTable []struct {
	digits [8]byte
	n      uint8
}

// decimals returns the numbers below n.
func decimals(n int) decimalTable {
	out := make(decimalTable, n)
	for i := range out {
		out[i].n = uint8(len(strconv.AppendInt(out[i].digits[:0], int64(i), 10)))
	}
	return out
}

// add appends all eight bytes, which is one store, and takes back what is not
// text.
func (t decimalTable) add(b []byte, n int32) []byte {
	if n < 0 || int(n) >= len(t) {
		return strconv.AppendInt(b, int64(n), 10)
	}
	d := &t[n]
	return append(b, d.digits[:]...)[:len(b)+int(d.n)]
}
