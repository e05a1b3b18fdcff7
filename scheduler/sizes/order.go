package sizes

import (
	"evbench/scheduler"
	"evbench/topology"
)

// follow takes the messages as the schedule; those without bytes are left out.
func (l *lister) follow(order []placed) {
	l.placed = l.placed[:0]
	for _, x := range order {
		if l.window[x.layer].Size(int(x.src), int(x.dst)) > 0 {
			l.placed = append(l.placed, x)
		}
	}
}

// timed starts each fragment as early as the order of the schedule allows on each of its
// four resources, with an overhead before it, and returns the time; free, by wire, says when
// each is free then. This is the longest path in the graph "who comes next on a port or link".
func (l *lister) timed(overhead int64, free []int64) int64 {
	clear(free)
	copy(free, l.until)
	last := int64(0)
	for k := range l.placed {
		x := &l.placed[k]
		i, j := int(x.src), int(x.dst)
		wires := [4]topology.Wire{l.tree.FromServer(i), l.tree.ToServer(j)}
		used := wires[:2]
		if x.spine >= 0 {
			used = append(used, l.tree.Up(int(l.leaf[i]), int(x.spine)), l.tree.Down(int(l.leaf[j]), int(x.spine)))
		}
		x.start = 0
		for _, w := range used {
			x.start = max(x.start, free[w])
		}
		x.start += overhead
		end := x.start + l.layers[x.layer].Size(i, j)
		for _, w := range used {
			free[w] = end
		}
		last = max(last, end)
	}
	return last
}

// forsOrder returns the messages of the phases of s for each exchange; nil stands for FORS. It is
// nil where FORS has no schedule for all pairs.
func forsOrder(t *topology.Tree, s *scheduler.Schedule, exchanges int) []placed {
	if s == nil {
		var err error
		if s, _, err = scheduler.FORS(t, scheduler.Options{DropUnreachable: true}); err != nil {
			return nil
		}
	}
	var order []placed
	for e := range exchanges {
		for m := range s.All() {
			order = append(order, placed{0, uint16(m.Src), uint16(m.Dst), int16(m.Spine), uint16(e)})
		}
	}
	return order
}

// sortPlaced sorts fragments by start and src; no server starts two at a time. They are
// almost in order.
func sortPlaced(all []placed) {
	for n, x := range all {
		for ; n > 0 && (x.start < all[n-1].start || x.start == all[n-1].start && x.src < all[n-1].src); n-- {
			all[n] = all[n-1]
		}
		all[n] = x
	}
}

// InPhases returns how long the phases of a schedule take when a barrier ends each: the
// sum of their largest sizes.
func (m *Matrix) InPhases(s *scheduler.Schedule) int64 {
	most := make([]int64, s.Phases)
	for x := range s.All() {
		most[x.Phase] = max(most[x.Phase], m.Size(x.Src, x.Dst))
	}
	sum := int64(0)
	for _, n := range most {
		sum += n
	}
	return sum
}
