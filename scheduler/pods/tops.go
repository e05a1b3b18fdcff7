package pods

import (
	"errors"
	"fmt"
	"sync"

	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/traffic"
	"evbench/scheduler/schedules"
)

// assignTops gives each message between pods a top switch of its plane, phase by phase. It returns
// an error when the search finds none for some phase. That does not happen where each plane has
// enough top switches and all their links are alive.
func assignTops(f *fattree.Tree, t *slots.Table, name string, o schedules.Options) error {
	t.AddTops()
	start, order := t.ByPhase()
	leaf := f.LeafOf()
	pool := sync.Pool{New: func() any { return new(topWriter) }}
	return eachPhase(o, name, t.Phases, func(p int) error {
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

func (w *topWriter) phase(f *fattree.Tree, t *slots.Table, leaf []int32, messages []int32) error {
	if w.planes == nil {
		w.planes = make([][]int32, f.Spines)
	}
	for k := range w.planes {
		w.planes[k] = w.planes[k][:0]
	}
	ends := func(i int32) (q, r int) {
		return f.Pod[leaf[int(i)/t.Ranks]], f.Pod[leaf[int(i)%t.Ranks]]
	}
	for _, i := range messages {
		if q, r := ends(i); q != r {
			k := t.Slots[i].Spine()
			w.planes[k] = append(w.planes[k], i)
		}
	}
	for k, list := range w.planes {
		w.quick.Start(f.Pods, f.Pods, f.Tops)
		for _, i := range list {
			q, r := ends(i)
			w.quick.Add(q, r, f.Shared[f.Between(q, r, k)])
		}
		if left := w.quick.Run(topSteps); left > 0 {
			return fmt.Errorf("%d of %d messages between pods on plane %d find no top switch", left, len(list), k)
		}
		for e, i := range list {
			t.Tops[i] = uint8(w.quick.Color(int32(e)))
		}
	}
	return nil
}

// eachPhase runs f for every phase of the schedule of that name. It returns an *UnroutableError for
// the first phase where f fails, and may then skip later phases.
func eachPhase(o schedules.Options, name string, phases int, f func(p int) error) error {
	return parallel.Try(o.Workers, phases, func(p int) error {
		err := f(p)
		if err == nil {
			return nil
		}
		_, proven := errors.AsType[*overfull](err)
		return &traffic.UnroutableError{Schedule: name, Phase: p, Proven: proven, Reason: err.Error()}
	})
}

// An overfull says why no search can succeed.
type overfull struct{ reason string }

func (e *overfull) Error() string { return e.reason }

func overfullf(format string, a ...any) error { return &overfull{fmt.Sprintf(format, a...)} }
