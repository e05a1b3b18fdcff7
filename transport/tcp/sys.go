package tcp

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of the hot path bypass the runtime: its monitor takes the processor from a thread in a
// long call, and for that wakes up every 20 µs, which costs a barrier a fifth of its time. Calls on
// non-blocking sockets never wait. A call that may sleep keeps the processor only while no other
// goroutine can need it, see alone.

var open atomic.Int32

// wanted is how many files the endpoints of this process need. A listener without free files would
// keep others waiting, and only the log would tell.
var wanted atomic.Int64

// alone reports whether the calling endpoint is the only one of its process: one process per
// server. With others it must release its processor before it sleeps, or they might be unable to
// wake it.
func alone() bool { return open.Load() == 1 }

// nap is how long a thread may sleep without releasing its processor. The runtime ends such a sleep
// with a signal when it stops all threads; with signals switched off, it waits up to a nap. A much
// shorter nap would set a timer for each sleep.
const nap = 20 // milliseconds

func result(n uintptr, errno unix.Errno) (int, unix.Errno) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// transmit sends b; flags tell whether the call may sleep.
func transmit(fd int, b []byte, flags int) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		uintptr(flags|unix.MSG_NOSIGNAL), 0, 0)
	return result(n, errno)
}

// take receives into b; flags tell whether the call may sleep.
func take(fd int, b []byte, flags int) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		uintptr(flags), 0, 0)
	return result(n, errno)
}

// discard drops up to n received bytes, without copying them.
func discard(fd, n int) (int, unix.Errno) {
	k, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0, uintptr(n), unix.MSG_TRUNC|unix.MSG_DONTWAIT, 0, 0)
	return result(k, errno)
}

// sendFile sends up to n bytes of a file from offset, without copying.
func sendFile(fd, file int, offset int64, n int) (int, unix.Errno) {
	k, _, errno := unix.RawSyscall6(unix.SYS_SENDFILE, uintptr(fd), uintptr(file), uintptr(unsafe.Pointer(&offset)), uintptr(n), 0, 0)
	return result(k, errno)
}

// unsent returns how many bytes of a connection the kernel has accepted and not sent.
func unsent(fd int) int {
	var n int32
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCOUTQNSD, uintptr(unsafe.Pointer(&n)))
	if errno != 0 {
		return 0
	}
	return int(n)
}

// A gather sends or receives several pieces of memory in one call. The endpoint owns its memory, so
// a call allocates nothing.
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

// await waits for events at most ms milliseconds, without releasing the processor.
func await(epoll int, events []unix.EpollEvent, ms int) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))),
		uintptr(len(events)), uintptr(ms), 0, 0)
	return result(n, errno)
}
