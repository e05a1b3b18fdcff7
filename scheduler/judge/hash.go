package judge

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"evbench/topology"
)

// hash returns "sha256:" and the digest of the canonical text: the header lines that it covers, then the rows.
func (j *judge) hash() string {
	w := newLineWriter(j.tree, j.file.Servers())
	w.ports = j.file.ByPorts()
	if j.file.sized {
		columns := forms[j.file.Form].started
		return digest(j.head(), len(j.pieces), func(b []byte, i int) []byte { return pieceLine(b, w, columns, &j.pieces[i]) })
	}
	return digest(j.head(), len(j.messages), func(b []byte, i int) []byte { return w.add(b, &j.messages[i]) })
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

// A lineWriter writes messages as text. Each part of a line is a short text made in advance, so
// that a line takes four stores of eight bytes. Formatting the numbers of a large plan anew takes
// longer than judging it.
type lineWriter struct {
	numbers []chunk // [position] with the blank that follows
	paths   []chunk // [(spine+1)·tops + top+1] with the newline, or lane+1
	tops    int     // per spine in paths, "no top" included
	cables  int     // where they are parallel, else 0
	ports   bool    // a path is a source port
	phase   int32
	prefix  chunk // phase with a blank
}

// A chunk is a text of at most eight bytes, the first in the lowest.
type chunk struct {
	text uint64
	n    int // 0: longer than eight
}

func newChunk(s []byte) chunk {
	var text [8]byte
	if copy(text[:], s) < len(s) {
		return chunk{}
	}
	return chunk{binary.LittleEndian.Uint64(text[:]), len(s)}
}

// newLineWriter returns one for a tree, or for so many hosts over tables.
func newLineWriter(t *topology.Tree, hosts int) *lineWriter {
	w := &lineWriter{tops: 1, phase: -1}
	spines, positions := 0, hosts
	if t != nil {
		spines, positions = t.Spines(), t.Leaves()*t.Ports()
		if form := pathFormOf(t.Shape); form != spineForm {
			w.tops += t.Paths() / t.Spines()
			if form == cablesForm {
				w.cables = t.Cables()
			}
		}
	}
	var s []byte
	w.numbers = make([]chunk, positions)
	for i := range w.numbers {
		s = append(strconv.AppendInt(s[:0], int64(i), 10), ' ')
		w.numbers[i] = newChunk(s)
	}
	w.paths = make([]chunk, (1+spines)*w.tops)
	for i := range w.paths {
		w.paths[i] = newChunk(w.appendPath(s[:0], i/w.tops-1, w.topOf(i%w.tops)))
	}
	return w
}

func (w *lineWriter) add(b []byte, m *Message) []byte {
	if m.Phase != w.phase {
		w.phase, w.prefix = m.Phase, newChunk(append(strconv.AppendInt(nil, int64(m.Phase), 10), ' '))
	}
	path := w.path(m)
	if uint(m.Src) >= uint(len(w.numbers)) || uint(m.Dst) >= uint(len(w.numbers)) || path >= uint(len(w.paths)) {
		return w.slow(b, m)
	}
	src, dst, end := &w.numbers[m.Src], &w.numbers[m.Dst], &w.paths[path]
	n := len(b)
	if w.prefix.n == 0 || end.n == 0 || cap(b)-n < 4*8 {
		return w.slow(b, m)
	}
	b = b[:n+4*8]
	binary.LittleEndian.PutUint64(b[n:], w.prefix.text)
	n += w.prefix.n
	binary.LittleEndian.PutUint64(b[n:], src.text)
	n += src.n
	binary.LittleEndian.PutUint64(b[n:], dst.text)
	n += dst.n
	binary.LittleEndian.PutUint64(b[n:], end.text)
	return b[:n+end.n]
}

// path returns the index in paths, or one beyond its end.
func (w *lineWriter) path(m *Message) uint {
	if w.tops == 1 {
		return uint(int(m.Spine) + 1)
	}
	top := uint(int(m.Top) + 1)
	if w.cables > 0 && m.Top != NoTop {
		up, down := m.Cables()
		if max(up, down) >= w.cables {
			return math.MaxUint
		}
		top = uint(up*w.cables + down + 1)
	}
	if top < uint(w.tops) {
		return uint(int(m.Spine)+1)*uint(w.tops) + top
	}
	return math.MaxUint
}

// topOf returns the Top of a message that is number i among the paths of its spine.
func (w *lineWriter) topOf(i int) int {
	if w.cables == 0 || i == 0 {
		return i - 1
	}
	return int(topOf((i-1)/w.cables, (i-1)%w.cables))
}

// slow is add for numbers that the tables do not have.
func (w *lineWriter) slow(b []byte, m *Message) []byte {
	for _, n := range [3]int32{m.Phase, m.Src, m.Dst} {
		b = append(strconv.AppendInt(b, int64(n), 10), ' ')
	}
	top := NoTop
	if w.tops > 1 || w.ports {
		top = int(m.Top)
	}
	return w.appendPath(b, int(m.Spine), top)
}

// appendPath appends the last column: "2", "2.5", "2.0.1" or "-", and the newline.
func (w *lineWriter) appendPath(b []byte, spine, top int) []byte {
	switch {
	case w.ports && top != NoTop:
		return append(strconv.AppendInt(b, int64(uint16(spine)), 10), '\n')
	case spine == NoSpine:
		b = append(b, '-')
	default:
		b = strconv.AppendInt(b, int64(spine), 10)
	}
	if top != NoTop && w.cables > 0 {
		up, down := (&Message{Top: int16(top)}).Cables()
		b = strconv.AppendInt(append(b, '.'), int64(up), 10)
		b = strconv.AppendInt(append(b, '.'), int64(down), 10)
	} else if top != NoTop {
		b = strconv.AppendInt(append(b, '.'), int64(top), 10)
	}
	return append(b, '\n')
}
