package tcp

import (
	"sync"

	"golang.org/x/sys/unix"
)

// A bell wakes a thread that waits in poll. It may be rung from anywhere, also
// when it has been closed.
type bell struct {
	mu     sync.Mutex
	fd     int
	closed bool
	count  [8]byte // for quiet, which one thread at a time calls
}

func newBell() (*bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &bell{fd: fd}, nil
}

var one = []byte{1, 0, 0, 0, 0, 0, 0, 0}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		_, _ = unix.Write(b.fd, one) // full means that it rings already
	}
}

// quiet makes poll wait again.
func (b *bell) quiet() {
	_, _ = unix.Read(b.fd, b.count[:]) // empty means that it is quiet already
}

func (b *bell) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		_ = unix.Close(b.fd)
	}
}
