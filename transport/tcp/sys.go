package tcp

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of the hot path. The runtime is not told of them: its monitor takes
// the processor from a thread that it sees in a call for long, and wakes up for
// that every 20 µs, which costs a barrier a fifth of its time. Those on
// non-blocking sockets are nothing but work. A call that may sleep keeps the
// processor only as long as nobody else can need it, see alone.

var open atomic.Int32

// wanted is how many files the endpoints of this process need. A listener that runs out of
// them would keep others waiting, and tell nobody but the log.
var wanted atomic.Int64

// alone reports whether the endpoint that asks is the only one of its process:
// one process per server. With others it must give its processor away before it
// sleeps, or they might not be able to wake it.
func alone() bool { return open.Load() == 1 }

// nap is how long a thread may sleep with its processor in hand. The runtime
// ends such a sleep with a signal when it wants to stop all threads; where
// signals are switched off, it has to wait as long as this. Much less would
// make each sleep a new alarm for the clock.
const nap = 20 // milliseconds

func result(n uintptr, errno unix.Errno) (int, unix.Errno) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// transmit sends b; flags say whether the call may sleep.
func transmit(fd int, b []byte, flags int) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		uintptr(flags|unix.MSG_NOSIGNAL), 0, 0)
	return result(n, errno)
}

// take receives into b; flags say whether the call may sleep.
func take(fd int, b []byte, flags int) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		uintptr(flags), 0, 0)
	return result(n, errno)
}

// discard throws up to n bytes away that have come. They are not even copied.
func discard(fd, n int) (int, unix.Errno) {
	k, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(n), unix.MSG_TRUNC|unix.MSG_DONTWAIT, 0, 0)
	return result(k, errno)
}

// sendFile sends up to n bytes of a file from an offset on, without copying.
func sendFile(fd, file int, offset int64, n int) (int, unix.Errno) {
	k, _, errno := unix.RawSyscall6(unix.SYS_SENDFILE, uintptr(fd), uintptr(file), uintptr(unsafe.Pointer(&offset)), uintptr(n), 0, 0)
	return result(k, errno)
}

// unsent returns how many bytes of a connection the kernel has taken and not sent.
func unsent(fd int) int {
	var n int32
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCOUTQNSD, uintptr(unsafe.Pointer(&n)))
	if errno != 0 {
		return 0
	}
	return int(n)
}

// A gather sends or receives several pieces of memory in one call. It has its memory
// from the endpoint: a call allocates nothing.
type gather struct {
	msg unix.Msghdr
	iov [3]unix.Iovec
}

func (g *gather) set(a, b, c []byte) {
	for i, piece := range [...][]byte{a, b, c} {
		g.iov[i].Base = unsafe.SliceData(piece)
		g.iov[i].SetLen(len(piece))
	}
	g.msg.Iov = &g.iov[0]
	g.msg.SetIovlen(len(g.iov))
}

func (g *gather) transmit(fd int, a, b []byte) (int, unix.Errno) {
	g.set(a, b, nil)
	n, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&g.msg)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return result(n, errno)
}

func (g *gather) take(fd int, a, b, c []byte) (int, unix.Errno) {
	g.set(a, b, c)
	n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&g.msg)), unix.MSG_DONTWAIT)
	return result(n, errno)
}

// await waits for events at most so many milliseconds, with the processor in
// hand.
func await(epoll int, events []unix.EpollEvent, ms int) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))),
		uintptr(len(events)), uintptr(ms), 0, 0)
	return result(n, errno)
}
