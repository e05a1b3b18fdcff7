package pods

import (
	"math/rand/v2"

	"evbench/scheduler/internal/slots"
)

// repairTries is how often a repair exchanges planes for the messages of one phase. Pin tries more,
// as its messages cannot move to another phase.
const repairTries = 60

// Ways returns planes and top switches for messages between leaves of a phase, given by their leaves;
// a message that finds none has the spine none.
func (w *Pinner) Ways(ends [][2]int32, seed uint64, phase int) []slots.Way {
	w.random = rand.New(rand.NewPCG(seed, uint64(phase)))
	w.place = w.place[:0]
	w.planes.Start(w.f.Leaves, w.f.Leaves, w.f.Spines)
	for i, e := range ends {
		w.planes.Add(int(e[0]), int(e[1]), w.lists[int(e[0])*w.f.Leaves+int(e[1])])
		w.place = append(w.place, int32(i))
	}
	w.planes.Run(planeSteps)
	w.mend(repairTries)
	out := make([]slots.Way, len(ends))
	for i := range out {
		out[i] = slots.Way{Spine: w.planes.Color(int32(i)), Top: none}
	}
	for k := range w.f.Spines {
		w.paint(k)
		e := int32(0)
		for i := range out {
			if x := w.planes.Edges()[i]; out[i].Spine == k && w.f.Pod[x.U] != w.f.Pod[x.V] {
				if out[i].Top = w.upper.Color(e); out[i].Top == none {
					out[i].Spine = none
				}
				e++
			}
		}
	}
	return out
}
