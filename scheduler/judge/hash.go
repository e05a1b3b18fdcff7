package judge

import (
	"crypto/sha256"
	"fmt"
	"strconv"
)

// hash returns "sha256:" and the digest of the canonical text: the header lines that it covers, then the rows.
func (j *judge) hash() string {
	if j.file.sized {
		return digest(j.head(), len(j.pieces), func(b []byte, i int) []byte { return j.piece(b, &j.pieces[i]) })
	}
	return digest(j.head(), len(j.messages), func(b []byte, i int) []byte { return j.row(b, &j.messages[i]) })
}

// head is the header lines that the hash covers. Form 2 does not cover its sizes.
func (j *judge) head() (text string) {
	if j.tree != nil {
		text = j.tree.Words().Lines()
	}
	for _, key := range Covered {
		value := j.file.stated[key]
		skip := j.tree != nil && key != "window" && (key != "sizes" || j.file.Form == 2) || key == "window" && j.file.Window == 1
		if value != "" && !skip {
			text += "# " + key + " " + value + "\n"
		}
	}
	return text
}

// digest returns "sha256:" and the digest of a head and n lines.
func digest(head string, n int, line func(b []byte, i int) []byte) string {
	h := sha256.New()
	const block = 1 << 15
	buf := append(make([]byte, 0, block+256), head...)
	for i := range n {
		if buf = line(buf, i); len(buf) >= block {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// maxLine exceeds the longest line: three numbers of ten digits and a path of two with five, or of
// one and two cables.
const maxLine = 64

// row appends the row of a message of equal size.
func (j *judge) row(b []byte, m *Message) []byte {
	b = append(appendNumber(b, int64(m.Phase)), ' ')
	b = append(appendNumber(b, int64(m.Src)), ' ')
	b = append(appendNumber(b, int64(m.Dst)), ' ')
	return append(j.path(b, m), '\n')
}

// path appends the last column of a row: "2", "2.5", "2.0.1", "49160" or "-".
func (j *judge) path(b []byte, m *Message) []byte {
	switch {
	case m.Spine == NoSpine && m.Top == NoTop:
		return append(b, '-')
	case j.file.ByPorts():
		return appendNumber(b, int64(m.Port()))
	}
	b = appendNumber(b, int64(m.Spine))
	switch up, down := m.Cables(); {
	case m.Top == NoTop:
	case j.form == cablesForm:
		b = appendNumber(append(b, '.'), int64(up))
		b = appendNumber(append(b, '.'), int64(down))
	default:
		b = appendNumber(append(b, '.'), int64(m.Top))
	}
	return b
}

// short are the numbers below 1000 as text, the first digit in the lowest byte and their length in the highest.
var short = func() (out [1000]uint32) {
	for n := range out {
		text := append(strconv.AppendInt(nil, int64(n), 10), 0, 0)
		out[n] = uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(len(text)-2)<<24
	}
	return out
}()

// appendNumber is strconv.AppendInt, faster: formatting the numbers of a large plan takes longer than judging it.
func appendNumber(b []byte, n int64) []byte {
	switch {
	case uint64(n) < 1000:
		x := short[n]
		return append(b, byte(x), byte(x>>8), byte(x>>16))[:len(b)+int(x>>24)]
	case uint64(n) < 1000*1000:
		b, n = appendNumber(b, n/1000), n%1000
		return append(b, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
	}
	return strconv.AppendInt(b, n, 10)
}
