package tcp

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An arena is memory of huge pages, which the kernel copies with less work than the heap, or an
// unnamed file, which sendfile can send from. It is mapped piece by piece. Only close unmaps the
// pieces.
type arena struct {
	fd     int     // of the file; -1: huge pages
	size   int64   // of the file
	pieces []piece // by address
	room   []byte  // unused rest of the newest piece
	last   int     // piece of the last find
	moved  func()  // called for each populated part of a piece of huge pages; may be nil
}

type piece struct {
	mem    []byte
	base   uintptr
	offset int64 // in the file
}

const (
	// pieceSize is the least growth of an arena.
	pieceSize = 1 << 20
	// hugePage is the size of a huge page on most machines, and the least growth of an arena of
	// them. It is for messages from leastHuge on; smaller ones gain less than the page costs.
	hugePage  = 2 << 20
	leastHuge = 64 << 10
	// populated is the unit of populating memory. A virtual machine may take seconds for each
	// gigabyte that its host has to find first.
	populated = 16 << 20
	// arenaAlign puts pieces of memory on separate cache lines.
	arenaAlign = 64
)

// ofFile reports whether sendfile can send from the arena.
func (a *arena) ofFile() bool { return a != nil && a.fd >= 0 }

func newArena() (*arena, error) {
	if bits.UintSize < 64 {
		return nil, errors.New("sendfile: needs a 64-bit machine") // the call counts in 32 bits elsewhere
	}
	fd, err := unix.MemfdCreate("evbench", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory that sendfile can send from: %w", outOfFiles(err))
	}
	return &arena{fd: fd}, nil
}

func (a *arena) alloc(n int) []byte {
	if n == 0 {
		return []byte{}
	}
	if n > len(a.room) && !a.grow(n) {
		return nil
	}
	b := a.room[:n:n]
	a.room = a.room[min(len(a.room), (n+arenaAlign-1)/arenaAlign*arenaAlign):]
	return b
}

func (a *arena) grow(n int) bool {
	if !a.ofFile() {
		return a.growHuge(n)
	}
	page := unix.Getpagesize()
	n = max((n+page-1)/page*page, pieceSize)
	if unix.Ftruncate(a.fd, a.size+int64(n)) != nil {
		return false
	}
	mem, err := unix.Mmap(a.fd, a.size, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return false
	}
	p := piece{mem, address(mem), a.size}
	i := sort.Search(len(a.pieces), func(i int) bool { return a.pieces[i].base > p.base })
	a.pieces = slices.Insert(a.pieces, i, p)
	a.size += int64(n)
	a.room = mem
	return true
}

// growHuge maps one page more than requested: huge pages start at multiples of their size.
func (a *arena) growHuge(n int) bool {
	n = (n + hugePage - 1) / hugePage * hugePage
	mem, err := unix.Mmap(-1, 0, n+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return false
	}
	a.pieces = append(a.pieces, piece{mem: mem, base: address(mem)})
	skip := -address(mem) % hugePage
	a.room = mem[skip : skip+uintptr(n)]
	_ = unix.Madvise(a.room, unix.MADV_HUGEPAGE) // without huge pages, small ones do
	for part := range slices.Chunk(a.room, populated) {
		_ = unix.Madvise(part, unix.MADV_POPULATE_WRITE) // now, not in the measured part
		if a.moved != nil {
			a.moved()
		}
	}
	return true
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// find returns the offset in the file of b, if b lies there. O(log pieces), and O(1) for the piece
// of the previous call.
func (a *arena) find(b []byte) (offset int64, ok bool) {
	if len(a.pieces) == 0 || len(b) == 0 {
		return 0, false
	}
	at := address(b)
	if !a.pieces[a.last].holds(at) {
		i := sort.Search(len(a.pieces), func(i int) bool { return a.pieces[i].base > at }) - 1
		if i < 0 || !a.pieces[i].holds(at) {
			return 0, false
		}
		a.last = i
	}
	p := &a.pieces[a.last]
	return p.offset + int64(at-p.base), true
}

func (p *piece) holds(at uintptr) bool { return at >= p.base && at-p.base < uintptr(len(p.mem)) }

// close unmaps all memory. A nil arena has none.
func (a *arena) close() {
	if a == nil {
		return
	}
	for _, p := range a.pieces {
		_ = unix.Munmap(p.mem)
	}
	a.pieces, a.room = nil, nil
	if a.ofFile() {
		_ = unix.Close(a.fd)
	}
}
