package scheduler

import (
	"math/rand/v2"
	"sync"
)

// repairTries is how often a repair exchanges planes for the messages of one phase. Pin tries more,
// as its messages cannot move to another phase.
const repairTries = 60

// newPinners returns podPinners of a fabric that part has filled in.
func newPinners(f *fabric) *sync.Pool {
	lists, leaf, need := f.planeLists(), f.leafOf(), f.critical()
	return &sync.Pool{New: func() any { return &podPinner{f: f, lists: lists, leaf: leaf, need: need} }}
}

// ways returns planes and top switches for messages between leaves of a phase, given by their leaves;
// a message that finds none has the spine none.
func (w *podPinner) ways(ends [][2]int32, seed uint64, phase int) []way {
	w.random = rand.New(rand.NewPCG(seed, uint64(phase)))
	w.place = w.place[:0]
	w.planes.Start(w.f.leaves, w.f.leaves, w.f.spines)
	for i, e := range ends {
		w.planes.Add(int(e[0]), int(e[1]), w.lists[int(e[0])*w.f.leaves+int(e[1])])
		w.place = append(w.place, int32(i))
	}
	w.planes.Run(planeSteps)
	w.mend(repairTries)
	out := make([]way, len(ends))
	for i := range out {
		out[i] = way{w.planes.Color(int32(i)), none}
	}
	for k := range w.f.spines {
		w.paint(k)
		e := int32(0)
		for i := range out {
			if x := w.planes.Edges()[i]; out[i].spine == k && w.f.pod[x.U] != w.f.pod[x.V] {
				if out[i].top = w.upper.Color(e); out[i].top == none {
					out[i].spine = none
				}
				e++
			}
		}
	}
	return out
}
