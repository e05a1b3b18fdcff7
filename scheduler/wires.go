package scheduler

import (
	"slices"

	"evbench/internal/coloring"
)

// wires are the wires between switches that carry no message in a phase.
type wires struct {
	of     *traffic
	spines []coloring.ColorSet // by leaf, upwards, and by leaves + leaf, downwards
	tops   []coloring.ColorSet // by pod·planes + plane, upwards, then downwards; nil on two levels
	room   []int               // by spines' index·spines + spine: cables; nil where there is one
}

func newWires(x *traffic) wires {
	w := wires{of: x, spines: slices.Concat(x.up, x.up)}
	if x.f.cables != nil {
		w.room = slices.Concat(x.f.cables, x.f.cables)
	}
	if f := x.f; f.tops > 0 {
		w.tops = make([]coloring.ColorSet, 0, 2*f.pods*f.spines)
		for i := range 2 * f.pods {
			q := i % f.pods
			w.tops = append(w.tops, f.shared[f.between(q, q, 0):][:f.spines]...)
		}
	}
	return w
}

// upper returns the free top switches of a message on a plane, upwards and downwards; nil where the
// message needs none.
func (w *wires) upper(m uint32, plane int) (up, down *coloring.ColorSet) {
	f := w.of.f
	if f.tops == 0 {
		return nil, nil
	}
	a, b := w.of.across(m)
	q, r := f.pod[a], f.pod[b]
	if q == r {
		return nil, nil
	}
	return &w.tops[q*f.spines+plane], &w.tops[(f.pods+r)*f.spines+plane]
}

func (w *wires) has(m uint32, x way) bool {
	a, b := w.of.across(m)
	if x.spine == none || !w.spines[a].Has(x.spine) || !w.spines[w.of.f.leaves+int(b)].Has(x.spine) {
		return false
	}
	up, down := w.upper(m, x.spine)
	return up == nil || x.top != none && up.Has(x.top) && down.Has(x.top)
}

func (w *wires) take(m uint32, x way) {
	a, b := w.of.across(m)
	w.use(int(a), x.spine)
	w.use(w.of.f.leaves+int(b), x.spine)
	if up, down := w.upper(m, x.spine); up != nil {
		up.Remove(x.top)
		down.Remove(x.top)
	}
}

func (w *wires) use(node, spine int) {
	if w.room != nil {
		left := &w.room[node*w.of.f.spines+spine]
		if *left--; *left > 0 {
			return
		}
	}
	w.spines[node].Remove(spine)
}

func (w *wires) first(m uint32) (way, bool) {
	a, b := w.of.across(m)
	both := w.spines[a].And(w.spines[w.of.f.leaves+int(b)])
	for k := both.Next(0); k >= 0; k = both.Next(k + 1) {
		up, down := w.upper(m, k)
		if up == nil {
			return way{k, none}, true
		}
		tops := up.And(*down)
		if t := tops.Next(0); t >= 0 {
			return way{k, t}, true
		}
	}
	return way{}, false
}
