package judge

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/topology"
)

// A Size is the number of bytes of a fragment, servers by position.
type Size struct {
	Src, Dst int32
	Bytes    int64
	Exchange int32 // of the window, 0 first
}

// A slot is a piece on a wire, and when it ends.
type slot struct {
	until int64
	piece int32
}

// sort puts pieces in the order of their start.
func (j *judge) sort() {
	j.pieces = j.file.Pieces
	if !slices.IsSortedFunc(j.pieces, comparePieces) {
		j.pieces = slices.Clone(j.pieces)
		slices.SortFunc(j.pieces, comparePieces)
	}
	j.messages = make([]Message, len(j.pieces))
	for i, p := range j.pieces {
		j.messages[i] = p.Message
	}
	j.Report.Exchanges, j.Report.Pieces = j.file.Window, len(j.pieces)
}

// start judges pieces in the order of their start: no port and no link has more at a time than it has room for, and each
// byte of a fragment is sent once.
func (j *judge) start() {
	for i, p := range j.pieces {
		if j.end = max(j.end, p.Start+p.Bytes); j.one(int32(i)) {
			j.sound = append(j.sound, int32(i))
		}
	}
	j.Report.Duration = float64(j.end)
	j.cover()
	if j.opt.Sizes != nil {
		j.against(j.opt.Sizes)
	}
}

// carries reports whether a piece has bytes.
func (j *judge) carries(i int32) bool {
	p := &j.pieces[i]
	if p.Bytes < 1 {
		j.message(EmptyPiece, i, "server%d to server%d: a piece without bytes", p.Src, p.Dst)
	}
	return p.Bytes > 0
}

// hold puts a piece on a wire from its start on, in the place of one that has ended.
func (j *judge) hold(w topology.Wire, i int32) (first int32, shared bool) {
	start, slots := j.pieces[i].Start, j.slots[w]
	j.end = max(j.end, start+j.took)
	over := slices.IndexFunc(slots, func(s slot) bool { return s.until <= start })
	switch {
	case over >= 0:
		slots[over] = slot{start + j.took, i}
		return i, false
	case int32(len(slots)) < j.capacity(w):
		j.slots[w] = append(slots, slot{start + j.took, i})
		return i, false
	}
	for k, s := range slots { // what comes after both is held against the longer
		if s.until < start+j.took {
			slots[k] = slot{start + j.took, i}
			return s.piece, true
		}
	}
	return slots[0].piece, true
}

// cover checks that the pieces of each pair carry each byte of one fragment once.
func (j *judge) cover() {
	slices.SortFunc(j.sound, func(x, y int32) int { // by x and y last, which is stable and twice as fast as SortStableFunc
		a, b := &j.pieces[x], &j.pieces[y]
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.Offset, b.Offset), cmp.Compare(x, y))
	})
	for _, i := range j.sound {
		p := &j.pieces[i]
		j.Report.Bytes += p.Bytes
		n := len(j.sizes)
		if of := (Size{p.Src, p.Dst, 0, p.Phase}); n == 0 || compareFragments(j.sizes[n-1], of) != 0 {
			j.sizes = append(j.sizes, of)
			n++
		}
		s := &j.sizes[n-1]
		switch {
		case p.Offset > s.Bytes:
			j.message(MissingBytes, i, "%s: no piece carries bytes %d to %d", j.name(s), s.Bytes, p.Offset-1)
		case p.Offset < s.Bytes:
			j.message(RepeatedBytes, i, "%s: the piece from byte %d carries bytes again, up to byte %d", j.name(s), p.Offset, s.Bytes-1)
		}
		s.Bytes = max(s.Bytes, p.Offset+p.Bytes)
	}
	j.Report.Messages = len(j.sizes)
}

func (j *judge) name(s *Size) string {
	text := fmt.Sprintf("server%d to server%d", s.Src, s.Dst)
	if j.file.Window > 1 || s.Exchange > 0 {
		text += fmt.Sprintf(", exchange %d", s.Exchange)
	}
	return text
}

// against compares the bytes sent with the sizes.
func (j *judge) against(sizes []Size) {
	accuse := func(k Kind, s *Size, format string, args ...any) {
		j.offence(Offence{k, -1, int(s.Src), int(s.Dst), NoSpine, NoTop, ""}, j.name(s)+": "+format, args...)
	}
	named := make([]bool, len(j.sizes)) // by the sizes
	for _, s := range sizes {
		sent := int64(0)
		if i, ok := slices.BinarySearchFunc(j.sizes, s, compareFragments); ok && !named[i] {
			sent, named[i] = j.sizes[i].Bytes, true
		}
		if kind := MissingBytes; sent != s.Bytes {
			if sent > s.Bytes {
				kind = RepeatedBytes
			}
			accuse(kind, &s, "%d bytes, the sizes have %d", sent, s.Bytes)
		}
	}
	for i, s := range j.sizes {
		if !named[i] {
			accuse(RepeatedBytes, &s, "%d bytes, the sizes have none", s.Bytes)
		}
	}
}

func compareFragments(a, b Size) int {
	return cmp.Or(cmp.Compare(a.Exchange, b.Exchange), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
}

// sizesHash hashes the sums of the pieces.
func (j *judge) sizesHash() string {
	return digest("", len(j.sizes), func(b []byte, i int) []byte {
		s := &j.sizes[i]
		b = fmt.Appendf(b, "%d,%d,%d", s.Src, s.Dst, s.Bytes)
		if s.Exchange > 0 {
			b = fmt.Appendf(b, ",%d", s.Exchange)
		}
		return append(b, '\n')
	})
}

// piece appends the row of a piece, with the columns of its form; last ones that are 0 are left out after bytes.
func (j *judge) piece(b []byte, p *Piece) []byte {
	columns := forms[j.file.Form].started
	for last := len(columns) - 1; columns[last] != "bytes" && p.value(columns[last]) == 0; last-- {
		columns = columns[:last]
	}
	for _, c := range columns {
		if c == "path" {
			b = j.path(b, &p.Message)
		} else {
			b = appendNumber(b, p.value(c))
		}
		b = append(b, ' ')
	}
	b[len(b)-1] = '\n'
	return b
}

func (p *Piece) value(column string) int64 {
	switch column {
	case "start":
		return p.Start
	case "src":
		return int64(p.Src)
	case "dst":
		return int64(p.Dst)
	case "bytes":
		return p.Bytes
	case "offset":
		return p.Offset
	}
	return int64(p.Phase) // exchange
}
