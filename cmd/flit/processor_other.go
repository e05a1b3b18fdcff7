//go:build !linux

package main

import "golang.org/x/sys/unix"

const whose = unix.RUSAGE_SELF
