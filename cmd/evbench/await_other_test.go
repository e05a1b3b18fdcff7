//go:build !linux

package main

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// awaitEnd returns when a process has ended that may be nobody's child here.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for unix.Kill(pid, 0) == nil {
		time.Sleep(10 * time.Millisecond)
	}
}
