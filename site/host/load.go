package host

import (
	"os"
	"runtime"
	"time"

	"github.com/prometheus/procfs"

	"evbench/results"
)

// A reading is the kernel's load counters of this machine at one moment, in seconds since they
// started. nil: not available.
type reading struct {
	at       time.Time
	host     string
	cores    int
	own      *float64         // processor time of this process
	used     *float64         // of all processes
	steal    *float64         // of all processors
	pressure *float64         // time in which some thread waited for a processor
	memory   *float64         // or for memory
	counters results.Counters // of adapters
	delays   map[int]float64  // by thread of this process: its wait for a processor
}

// Watch reads the load of this machine, and again when the returned function is called, which
// returns the difference. In between it notes when this process stands still.
func Watch() (since func() results.Load) {
	from, still := loadNow(), watchStops()
	return func() results.Load {
		l := loadNow().since(from)
		s := still()
		l.Stops, l.StoodSec, l.LongestStopSec, l.FirstStopSec = s.n, s.all.Seconds(), s.longest.Seconds(), s.first.Seconds()
		return l
	}
}

// The process asks for its clock every tick, which costs less than a thousandth of a processor. It stood still where
// the answer comes late by leastStop: Go's scheduler and a free processor need a hundredth of that.
const (
	tick      = 20 * time.Millisecond
	leastStop = 20 * time.Millisecond
)

// stops are how often a process stood still, how long in all, at most, and from when on.
type stops struct {
	n                   uint64
	all, longest, first time.Duration
}

func (s *stops) late(at, by time.Duration) {
	if by < leastStop {
		return
	}
	if s.n == 0 {
		s.first = max(0, at-by)
	}
	s.n++
	s.all += by
	s.longest = max(s.longest, by)
}

// watchStops starts a goroutine, which the returned function ends.
func watchStops() (end func() stops) {
	quit, done := make(chan struct{}), make(chan stops)
	began := time.Now()
	go func() {
		t := time.NewTicker(tick)
		defer t.Stop()
		var s stops
		last := time.Duration(0)
		for {
			select {
			case <-t.C:
			case <-quit:
				now := time.Since(began)
				s.late(now, now-last-tick)
				done <- s
				return
			}
			now := time.Since(began)
			s.late(now, now-last-tick)
			last = now
		}
	}()
	return func() stops {
		close(quit)
		return <-done
	}
}

func (r reading) since(earlier reading) results.Load {
	l := results.Load{
		Host: r.host, Cores: r.cores, WallSec: r.at.Sub(earlier.at).Seconds(),
		CPUSec: since(r.own, earlier.own), StealSec: since(r.steal, earlier.steal),
		PressureSec: since(r.pressure, earlier.pressure), RunDelaySec: delay(r.delays, earlier.delays),
		MemorySec: since(r.memory, earlier.memory), Counters: r.counters.Since(earlier.counters),
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

// loadNow reads the load counters of this machine. It takes a millisecond or less.
func loadNow() reading { return readLoad(procfs.DefaultMountPoint) }

func readLoad(proc string) reading {
	r := reading{at: time.Now(), cores: runtime.NumCPU()}
	r.host, _ = os.Hostname() // empty for a machine without a name
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return r
	}
	if s, err := fs.Stat(); err == nil {
		used := s.CPUTotal.User + s.CPUTotal.Nice + s.CPUTotal.System // User and Nice include guests
		r.used, r.steal = &used, &s.CPUTotal.Steal
		r.cores = max(len(s.CPU), 1)
	}
	if p, err := fs.PSIStatsForResource("cpu"); err == nil && p.Some != nil {
		sec := float64(p.Some.Total) / 1e6
		r.pressure = &sec
	}
	if p, err := fs.PSIStatsForResource("memory"); err == nil && p.Some != nil {
		sec := float64(p.Some.Total) / 1e6
		r.memory = &sec
	}
	r.counters = countersNow(fs)
	if self, err := fs.Self(); err == nil {
		r.own, r.delays = ownTime(self), runDelays(fs, self.PID)
	}
	return r
}

func ownTime(p procfs.Proc) *float64 {
	s, err := p.Stat()
	if err != nil {
		return nil
	}
	sec := s.CPUTime()
	return &sec
}

// runDelays returns the wait of each thread of a process for a processor; nil if the kernel does
// not count it: the file is missing, or is zero for all threads.
func runDelays(fs procfs.FS, pid int) map[int]float64 {
	threads, err := fs.AllThreads(pid)
	if err != nil {
		return nil
	}
	out, counted := make(map[int]float64, len(threads)), false
	for _, t := range threads {
		s, err := t.Schedstat()
		if err != nil {
			continue // the thread has just ended
		}
		out[t.PID] = float64(s.WaitingNanoseconds) / 1e9
		counted = counted || s.RunTimeslices > 0
	}
	if !counted {
		return nil
	}
	return out
}
