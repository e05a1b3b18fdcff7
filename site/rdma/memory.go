package rdma

import (
	"fmt"
	"slices"
	"sort"
	"unsafe"
)

// memory is the registered memory of an endpoint. Closing the domain frees it.
type memory struct {
	d       domain
	pieces  []region // by address
	room    region   // unused rest of the newest piece
	heads   []span   // free
	scratch span     // target of discarded bodies
}

const (
	// pieceSize is the least size of a registration.
	pieceSize = 1 << 20
	// align puts pieces of memory on separate cache lines.
	align = 64
)

func (m *memory) alloc(n int, moved func()) ([]byte, error) {
	if n == 0 {
		return []byte{}, nil
	}
	if n > len(m.room.b) {
		r, err := m.d.alloc(max(n, pieceSize), moved)
		if err != nil {
			return nil, err
		}
		i := sort.Search(len(m.pieces), func(i int) bool { return address(m.pieces[i].b) > address(r.b) })
		m.pieces, m.room = slices.Insert(m.pieces, i, r), r
	}
	b := m.room.b[:n:n]
	m.room.b = m.room.b[min(len(m.room.b), (n+align-1)/align*align):]
	return b, nil
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// find returns the span of a body from alloc. O(log pieces)
func (m *memory) find(body []byte) (span, error) {
	if len(body) == 0 {
		return span{}, nil
	}
	at := address(body)
	i := sort.Search(len(m.pieces), func(i int) bool { return address(m.pieces[i].b) > at }) - 1
	if i < 0 || at-address(m.pieces[i].b) >= uintptr(len(m.pieces[i].b)) {
		return span{}, fmt.Errorf("a body of %d bytes is not from Alloc", len(body))
	}
	return span{body, m.pieces[i].key}, nil
}

// head returns memory for a head, until it is freed.
func (m *memory) head() (span, error) {
	if len(m.heads) == 0 {
		b, err := m.alloc(pieceSize/4, nil)
		if err != nil {
			return span{}, err
		}
		whole, _ := m.find(b)
		for ; len(b) >= align; b = b[align:] {
			m.heads = append(m.heads, span{b[:headSize:headSize], whole.key})
		}
	}
	h := m.heads[len(m.heads)-1]
	m.heads = m.heads[:len(m.heads)-1]
	return h, nil
}

func (m *memory) free(head span) { m.heads = append(m.heads, head) }

// nowhere returns memory for n bytes of a discarded part.
func (m *memory) nowhere(n int) (span, error) {
	if n > len(m.scratch.b) {
		b, err := m.alloc(n, nil)
		if err != nil {
			return span{}, err
		}
		if m.scratch, err = m.find(b); err != nil {
			return span{}, err
		}
	}
	return span{m.scratch.b[:n], m.scratch.key}, nil
}
