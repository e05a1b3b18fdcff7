package scheduler

import "sync"

// pinPods gives planes and top switches to as many messages of a phase as it can, and returns the
// others.
func (r *rework) pinPods(pinners *sync.Pool, messages []uint32, phase int) (over []uint32) {
	ways := r.ways(pinners, messages, phase)
	for i, m := range messages {
		if ways[i].spine == none {
			over = append(over, m)
		} else {
			r.out.put(m, phase, ways[i])
		}
	}
	return over
}

// ways returns planes and top switches for the messages between leaves of a phase;
// a message that finds none has the spine none.
func (r *rework) ways(pinners *sync.Pool, messages []uint32, phase int) []way {
	ends := make([][2]int32, len(messages))
	for i, m := range messages {
		ends[i][0], ends[i][1] = r.traffic.across(m)
	}
	w := pinners.Get().(*podPinner)
	defer pinners.Put(w)
	return w.ways(ends, r.o.Seed, phase)
}

func (x *room) repin(phase int, messages []uint32) bool {
	if x.pinners == nil {
		x.pinners = newPinners(x.r.f)
	}
	ways := x.r.ways(x.pinners, messages, phase)
	for _, w := range ways {
		if w.spine == none {
			return false
		}
	}
	x.redo(phase, messages, ways)
	return true
}
