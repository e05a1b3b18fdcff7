package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// processor returns the processor time of this thread; where a system does not know that, of the process.
func processor() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(whose, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
