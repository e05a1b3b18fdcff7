//go:build mpi

package mpi

// #include "engine.h"
import "C"

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"evbench/transport"
)

type block struct {
	p unsafe.Pointer
	n uintptr
}

func (b block) start() uintptr { return uintptr(b.p) }

// memory is the C memory of an endpoint. MPI may use it at any time, so it must not move, and must
// outlive Go's references.
type memory struct {
	mu     sync.Mutex
	blocks []block // by address
	waste  block   // target of dropped bytes; one of blocks
	closed bool
}

func (m *memory) alloc(n int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || n <= 0 {
		return make([]byte, max(n, 0)) // closed or empty: never sent
	}
	return unsafe.Slice((*byte)(m.add(n).p), n)
}

func (m *memory) add(n int) block {
	b := block{C.evb_alloc(C.uint64_t(n)), uintptr(n)}
	if b.p == nil {
		panic(fmt.Sprintf("mpi: out of memory for a buffer of %d bytes", n))
	}
	i, _ := m.search(b.start())
	m.blocks = slices.Insert(m.blocks, i, b)
	return b
}

func (m *memory) search(p uintptr) (int, bool) {
	return slices.BinarySearchFunc(m.blocks, p, func(b block, p uintptr) int {
		switch {
		case p < b.start():
			return 1
		case p > b.start():
			return -1
		}
		return 0
	})
}

// has reports whether a body lies within one of the blocks. O(log blocks).
func (m *memory) has(body []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := uintptr(unsafe.Pointer(unsafe.SliceData(body)))
	i, found := m.search(p)
	if !found {
		i--
	}
	return i >= 0 && p+uintptr(len(body)) <= m.blocks[i].start()+m.blocks[i].n
}

func (m *memory) bin(n int) unsafe.Pointer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waste.n < uintptr(n) {
		m.waste = m.add(n) // the old block may be in use
	}
	return m.waste.p
}

func (m *memory) close() []block {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.blocks
	m.blocks, m.closed = nil, true
	return b
}

// slots are the operations under way, with their counterparts in C. They are as many as were ever
// under way at once.
type slots struct {
	at     []*C.evb_slot
	ops    []transport.Op
	free   []int
	blocks []*C.evb_slot // as they were allocated
}

const slotsAtOnce = 64

func (s *slots) get() int {
	if len(s.free) == 0 {
		s.grow()
	}
	i := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return i
}

func (s *slots) put(i int) {
	s.ops[i] = transport.Op{}
	s.free = append(s.free, i)
}

func (s *slots) grow() {
	b := C.evb_slots(slotsAtOnce)
	if b == nil {
		panic("mpi: out of memory for operations")
	}
	s.blocks = append(s.blocks, b)
	for k := range slotsAtOnce {
		c := C.evb_slot_at(b, C.int(k))
		c.index = C.int(len(s.at))
		s.free = append(s.free, len(s.at))
		s.at = append(s.at, c)
		s.ops = append(s.ops, transport.Op{})
	}
}
