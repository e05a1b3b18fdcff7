package repair

import (
	"sync"

	"evbench/scheduler/internal/slots"
	"evbench/scheduler/pods"
)

// pinPods gives planes and top switches to as many messages of a phase as it can, and returns the
// others.
func (r *rework) pinPods(pinners *sync.Pool, messages []uint32, phase int) (over []uint32) {
	ways := r.ways(pinners, messages, phase)
	for i, m := range messages {
		if ways[i].Spine == none {
			over = append(over, m)
		} else {
			r.out.Put(m, phase, ways[i])
		}
	}
	return over
}

// ways returns planes and top switches for the messages between leaves of a phase;
// a message that finds none has the spine none.
func (r *rework) ways(pinners *sync.Pool, messages []uint32, phase int) []slots.Way {
	ends := make([][2]int32, len(messages))
	for i, m := range messages {
		ends[i][0], ends[i][1] = r.traffic.Across(m)
	}
	w := pinners.Get().(*pods.Pinner)
	defer pinners.Put(w)
	return w.Ways(ends, r.o.Seed, phase)
}
