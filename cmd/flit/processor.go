package main

import (
	"time"

	"golang.org/x/sys/unix"
)

func processor() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
