package scheduler

import (
	"math/rand/v2"
	"sync"
)

// repairTries is how often a repair exchanges planes for the messages of one phase. Pin tries more,
// as its messages cannot move to another phase.
const repairTries = 60

func (f *fabric) pinners() *sync.Pool {
	lists, leaf, need := f.planeLists(), f.leafOf(), f.critical()
	return &sync.Pool{New: func() any { return &podPinner{fabric: f, lists: lists, leaf: leaf, need: need} }}
}

// pinPods gives planes and top switches to as many messages of a phase as it can, and returns the
// others.
func (r *rework) pinPods(pinners *sync.Pool, messages []uint32, phase int) (over []uint32) {
	ways := r.ways(pinners, messages, phase)
	for i, m := range messages {
		if ways[i].spine == None {
			over = append(over, m)
		} else {
			r.put(m, phase, ways[i])
		}
	}
	return over
}

// ways returns planes and top switches for the messages between leaves of a phase;
// a message that finds none has the spine None.
func (r *rework) ways(pinners *sync.Pool, messages []uint32, phase int) []way {
	w := pinners.Get().(*podPinner)
	defer pinners.Put(w)
	w.random = rand.New(rand.NewPCG(r.o.Seed, uint64(phase)))
	w.place = w.place[:0]
	w.planes.Start(w.leaves, w.leaves, w.spines)
	for i, m := range messages {
		a, b := r.across(m)
		w.planes.Add(int(a), int(b), r.lists[int(a)*w.leaves+int(b)])
		w.place = append(w.place, int32(i))
	}
	w.planes.Run(planeSteps)
	w.mend(repairTries)
	out := make([]way, len(messages))
	for i := range out {
		out[i] = way{w.planes.Color(int32(i)), None}
	}
	for k := range w.spines {
		w.paint(k)
		e := int32(0)
		for i := range out {
			if x := w.planes.Edges()[i]; out[i].spine == k && w.pod[x.U] != w.pod[x.V] {
				if out[i].top = w.upper.Color(e); out[i].top == none {
					out[i].spine = None
				}
				e++
			}
		}
	}
	return out
}

func (x *room) repin(phase int, messages []uint32) bool {
	if x.pinners == nil {
		x.pinners = x.fabric.pinners()
	}
	ways := x.ways(x.pinners, messages, phase)
	for _, w := range ways {
		if w.spine == None {
			return false
		}
	}
	x.redo(phase, messages, ways)
	return true
}
