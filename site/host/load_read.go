package host

import (
	"os"
	"runtime"
	"time"

	"github.com/prometheus/procfs"
)

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
