package repair

import (
	"slices"

	"evbench/internal/coloring"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/traffic"
)

// wires are the wires between switches that carry no message in a phase.
type wires struct {
	of     *traffic.Traffic
	spines []coloring.ColorSet // by leaf, upwards, and by leaves + leaf, downwards
	tops   []coloring.ColorSet // by pod·planes + plane, upwards, then downwards; nil on two levels
	room   []int               // by spines' index·spines + spine: cables; nil where there is one
}

func newWires(x *traffic.Traffic) wires {
	w := wires{of: x, spines: slices.Concat(x.Up, x.Up)}
	if x.F.Cables != nil {
		w.room = slices.Concat(x.F.Cables, x.F.Cables)
	}
	if f := x.F; f.Tops > 0 {
		w.tops = make([]coloring.ColorSet, 0, 2*f.Pods*f.Spines)
		for i := range 2 * f.Pods {
			q := i % f.Pods
			w.tops = append(w.tops, f.Shared[f.Between(q, q, 0):][:f.Spines]...)
		}
	}
	return w
}

// upper returns the free top switches of a message on a plane, upwards and downwards; nil where the
// message needs none.
func (w *wires) upper(m uint32, plane int) (up, down *coloring.ColorSet) {
	f := w.of.F
	if f.Tops == 0 {
		return nil, nil
	}
	a, b := w.of.Across(m)
	q, r := f.Pod[a], f.Pod[b]
	if q == r {
		return nil, nil
	}
	return &w.tops[q*f.Spines+plane], &w.tops[(f.Pods+r)*f.Spines+plane]
}

func (w *wires) has(m uint32, x slots.Way) bool {
	a, b := w.of.Across(m)
	if x.Spine == none || !w.spines[a].Has(x.Spine) || !w.spines[w.of.F.Leaves+int(b)].Has(x.Spine) {
		return false
	}
	up, down := w.upper(m, x.Spine)
	return up == nil || x.Top != none && up.Has(x.Top) && down.Has(x.Top)
}

func (w *wires) take(m uint32, x slots.Way) {
	a, b := w.of.Across(m)
	w.use(int(a), x.Spine)
	w.use(w.of.F.Leaves+int(b), x.Spine)
	if up, down := w.upper(m, x.Spine); up != nil {
		up.Remove(x.Top)
		down.Remove(x.Top)
	}
}

func (w *wires) use(node, spine int) {
	if w.room != nil {
		left := &w.room[node*w.of.F.Spines+spine]
		if *left--; *left > 0 {
			return
		}
	}
	w.spines[node].Remove(spine)
}

func (w *wires) first(m uint32) (slots.Way, bool) {
	a, b := w.of.Across(m)
	both := w.spines[a].And(w.spines[w.of.F.Leaves+int(b)])
	for k := both.Next(0); k >= 0; k = both.Next(k + 1) {
		up, down := w.upper(m, k)
		if up == nil {
			return slots.Way{Spine: k, Top: none}, true
		}
		tops := up.And(*down)
		if t := tops.Next(0); t >= 0 {
			return slots.Way{Spine: k, Top: t}, true
		}
	}
	return slots.Way{}, false
}
