package scheduler

import (
	"fmt"
	"sync"

	"evbench/internal/coloring"
	"evbench/scheduler/schedules"
)

// assignTops gives each message between pods a top switch of its plane, phase by phase. It returns
// an error when the search finds none for some phase. That does not happen where each plane has
// enough top switches and all their links are alive.
func assignTops(f *fabric, t *slotTable, name string, o schedules.Options) error {
	t.addTops()
	start, order := t.byPhase()
	leaf := f.leafOf()
	pool := sync.Pool{New: func() any { return new(topWriter) }}
	return eachPhase(o, name, t.phases, func(p int) error {
		w := pool.Get().(*topWriter)
		defer pool.Put(w)
		return w.phase(f, t, leaf, order[start[p]:start[p+1]])
	})
}

// A topWriter is the working memory of one goroutine.
type topWriter struct {
	quick  coloring.Quick
	planes [][]int32 // messages between pods, by plane
}

func (w *topWriter) phase(f *fabric, t *slotTable, leaf []int32, messages []int32) error {
	if w.planes == nil {
		w.planes = make([][]int32, f.spines)
	}
	for k := range w.planes {
		w.planes[k] = w.planes[k][:0]
	}
	ends := func(i int32) (q, r int) {
		return f.pod[leaf[int(i)/t.ranks]], f.pod[leaf[int(i)%t.ranks]]
	}
	for _, i := range messages {
		if q, r := ends(i); q != r {
			k := t.slots[i].spine()
			w.planes[k] = append(w.planes[k], i)
		}
	}
	for k, list := range w.planes {
		w.quick.Start(f.pods, f.pods, f.tops)
		for _, i := range list {
			q, r := ends(i)
			w.quick.Add(q, r, f.shared[f.between(q, r, k)])
		}
		if left := w.quick.Run(topSteps); left > 0 {
			return fmt.Errorf("%d of %d messages between pods on plane %d find no top switch", left, len(list), k)
		}
		for e, i := range list {
			t.tops[i] = uint8(w.quick.Color(int32(e)))
		}
	}
	return nil
}
