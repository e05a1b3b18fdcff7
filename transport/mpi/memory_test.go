//go:build mpi

package mpi

import (
	"bytes"
	"testing"
	"unsafe"

	"evbench/internal/expect"
)

func TestBuffersBeginWherePagesDo(t *testing.T) {
	const page, huge = 4096, 2 << 20
	var m memory
	var all [][]byte
	for _, c := range []struct{ size, boundary int }{
		{1, 1}, {page, page}, {huge - 1, page}, {huge, huge}, {huge + 1, huge}, {3*huge + 17, huge},
	} {
		b := m.alloc(c.size)
		if at := uintptr(unsafe.Pointer(&b[0])); len(b) != c.size || at%uintptr(c.boundary) != 0 {
			t.Errorf("%d bytes: got %d at %#x, want them at a multiple of %d", c.size, len(b), at, c.boundary)
		}
		expect.True(t, bytes.Equal(b, make([]byte, c.size)), "%d bytes: not all are 0", c.size)
		all = append(all, b)
	}
	for i, b := range all { // they do not overlap
		for k := range b {
			b[k] = byte(i + 1)
		}
	}
	for i, b := range all {
		expect.True(t, bytes.Count(b, []byte{byte(i + 1)}) == len(b), "buffer %d lies over another", i)
		expect.True(t, m.has(b), "buffer %d is not known", i)
	}
	(&corpse{mem: m.close()}).free()
}
