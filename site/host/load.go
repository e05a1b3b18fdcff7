package host

import (
	"time"

	"evbench/results"
)

// A reading is the kernel's load counters of this machine at one moment, in seconds since they
// started. nil: not available.
type reading struct {
	at       time.Time
	host     string
	cores    int
	own      *float64        // processor time of this process
	used     *float64        // of all processes
	steal    *float64        // of all processors
	pressure *float64        // time in which some thread waited for a processor
	delays   map[int]float64 // by thread of this process: its wait for a processor
}

// Watch reads the load of this machine, and again when the returned function is called, which
// returns the difference.
func Watch() (since func() results.Load) {
	from := loadNow()
	return func() results.Load { return loadNow().since(from) }
}

func (r reading) since(earlier reading) results.Load {
	l := results.Load{
		Host: r.host, Cores: r.cores, WallSec: r.at.Sub(earlier.at).Seconds(),
		CPUSec: since(r.own, earlier.own), StealSec: since(r.steal, earlier.steal),
		PressureSec: since(r.pressure, earlier.pressure), RunDelaySec: delay(r.delays, earlier.delays),
	}
	if used := since(r.used, earlier.used); used != nil && l.CPUSec != nil {
		others := max(*used-*l.CPUSec, 0) // one value is sampled, the other is not
		l.OthersSec = &others
	}
	return l
}

// since is the increase of a counter. Steal has been seen to fall when a virtual machine moves.
func since(now, then *float64) *float64 {
	if now == nil || then == nil {
		return nil
	}
	d := max(*now-*then, 0)
	return &d
}

// delay sums up the wait of each thread. A new thread, even with the number of an ended one, counts
// from zero.
func delay(now, then map[int]float64) *float64 {
	if now == nil || then == nil {
		return nil
	}
	var sum float64
	for thread, sec := range now {
		if before := then[thread]; before <= sec {
			sec -= before
		}
		sum += sec
	}
	return &sum
}
