package results

import (
	"fmt"
	"math"
	"slices"
)

// A Load is what the processors of a machine did while a worker counted, as the kernel of
// the machine counts it. It is evidence from outside: nothing in it comes of the result of
// the case. nil: this machine cannot tell.
//
// Kernels sample most of these times every 10 ms or so, and Linux shows them in steps of
// 10 ms: they are for intervals of a second and more.
type Load struct {
	Host    string  `json:"host,omitempty"` // name of the machine
	Cores   int     `json:"cores"`          // processors of the machine, over which OthersSec and StealSec are summed
	WallSec float64 `json:"wall_s"`

	// CPUSec is the processor time of the worker's process, all its threads, in user mode and
	// in the kernel (/proc/self/stat).
	CPUSec *float64 `json:"cpu_s"`
	// OthersSec is the processor time of all other processes of the machine (user, nice and
	// system of /proc/stat, less CPUSec). Steal is not in it. Nor is the time of interrupts:
	// most of them are of the network, and caused by the case itself.
	OthersSec *float64 `json:"others_s"`
	// StealSec is how long processors had something to run, and the hypervisor ran something
	// else (steal of /proc/stat, of all processors together).
	StealSec *float64 `json:"steal_s"`
	// RunDelaySec is how long threads of the worker's process were ready to run and waited for
	// a processor, summed over threads (/proc/self/task/*/schedstat). Threads that ended in
	// between are not in it.
	RunDelaySec *float64 `json:"run_delay_s"`
	// PressureSec is how long at least one thread of the machine waited for a processor
	// ("some" of /proc/pressure/cpu). At most WallSec.
	PressureSec *float64 `json:"pressure_s"`
}

const (
	// maxLoadSec bounds what is taken for a time: thirty years of a processor.
	maxLoadSec = 1e9
	maxCores   = 1 << 16
	maxName    = 255 // bytes of the name of a host
)

// Check says what a Load has that no machine can tell of itself.
func (l Load) Check() error {
	if len(l.Host) > maxName {
		return fmt.Errorf("host: a name of %d bytes, at most %d", len(l.Host), maxName)
	}
	if l.Cores < 0 || l.Cores > maxCores {
		return fmt.Errorf("cores: %d, must be 0..%d", l.Cores, maxCores)
	}
	for _, t := range [...]struct {
		name string
		sec  *float64
	}{
		{"wall_s", &l.WallSec},
		{"cpu_s", l.CPUSec},
		{"others_s", l.OthersSec},
		{"steal_s", l.StealSec},
		{"run_delay_s", l.RunDelaySec},
		{"pressure_s", l.PressureSec},
	} {
		if t.sec != nil && (math.IsNaN(*t.sec) || *t.sec < 0 || *t.sec > maxLoadSec) {
			return fmt.Errorf("%s: %v, must be 0..%g", t.name, *t.sec, maxLoadSec)
		}
	}
	return nil
}

// Machines makes one Load for each machine of what workers tell, in the order in which
// machines come. Workers in processes of their own are others to each other: CPUSec and
// RunDelaySec are their sums, OthersSec is of those that are no worker, and the rest, for
// which they watch the same processors at the same time, is their mean. A machine without a
// name is one that nobody shares.
func Machines(loads []Load) []Load {
	var out []Load
	for i, l := range loads {
		here := func(o Load) bool { return l.Host != "" && o.Host == l.Host }
		if slices.ContainsFunc(loads[:i], here) {
			continue
		}
		same := []Load{l}
		for _, o := range loads[i+1:] {
			if here(o) {
				same = append(same, o)
			}
		}
		out = append(out, machine(same))
	}
	return out
}

func machine(of []Load) Load {
	n := float64(len(of))
	l := Load{
		Host: of[0].Host, Cores: of[0].Cores,
		CPUSec:      sum(of, 1, func(l *Load) *float64 { return l.CPUSec }),
		RunDelaySec: sum(of, 1, func(l *Load) *float64 { return l.RunDelaySec }),
		OthersSec:   sum(of, n, func(l *Load) *float64 { return l.OthersSec }),
		StealSec:    sum(of, n, func(l *Load) *float64 { return l.StealSec }),
		PressureSec: sum(of, n, func(l *Load) *float64 { return l.PressureSec }),
		WallSec:     *sum(of, n, func(l *Load) *float64 { return &l.WallSec }),
	}
	if l.OthersSec == nil || l.CPUSec == nil {
		l.OthersSec = nil
		return l
	}
	*l.OthersSec = max(*l.OthersSec+*l.CPUSec/n-*l.CPUSec, 0)
	return l
}

// sum is that of a time over loads, divided by n; nil where one cannot tell.
func sum(of []Load, n float64, what func(*Load) *float64) *float64 {
	var total float64
	for i := range of {
		x := what(&of[i])
		if x == nil {
			return nil
		}
		total += *x / n
	}
	return &total
}
