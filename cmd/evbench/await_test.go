package main

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"evbench/internal/expect"
)

// awaitEnd returns when a process has ended that may be nobody's child here.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	expect.Must(t, err)
	defer unix.Close(fd)
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			expect.Must(t, err)
			return
		}
	}
}
