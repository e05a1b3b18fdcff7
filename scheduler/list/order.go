package list

import (
	"evbench/scheduler"
	"evbench/topology"
)

// follow takes the messages as the schedule, without those that have no bytes.
func (l *lister) follow(order []placed) {
	l.placed = l.placed[:0]
	for _, x := range order {
		if l.window[x.layer].Size(int(x.src), int(x.dst)) > 0 {
			l.placed = append(l.placed, x)
		}
	}
}

// timed starts each fragment as early as the order of the schedule allows on each of its resources,
// with an overhead before it, and returns the time. free, by wire, says when each is free then. The
// time is the longest path in the graph that links each fragment to the next on a port or link.
func (l *lister) timed(overhead int64, free []int64) int64 {
	clear(free)
	copy(free, l.until)
	last := int64(0)
	for k := range l.placed {
		x := &l.placed[k]
		i, j := int(x.src), int(x.dst)
		wires := [maxWires]topology.Wire{l.tree.FromServer(i), l.tree.ToServer(j)}
		used := wires[:2]
		if x.path != noPath {
			used = between(l.tree.Wires, used, int(l.leaf[i]), int(l.leaf[j]), int(x.path))
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

// TimeOver returns the time of the plan where links are slow: fragments keep their order, as with
// tokens, and one that crosses a slow link takes as long as that link needs. O(pieces).
func (p *Plan) TimeOver(slow []topology.SlowLink) float64 {
	if len(slow) == 0 {
		return float64(p.Time)
	}
	t, leaf := p.Tree, p.Tree.LeafOfRanks()
	share, free, last := map[topology.Wire]float64{}, make([]float64, t.AllWires()), 0.0
	for _, x := range slow {
		share[t.UpWire(x.Link)], share[t.UpWire(x.Link)+1] = x.Share, x.Share
	}
	for x := range p.Pieces() {
		used := []topology.Wire{t.FromServer(x.Src), t.ToServer(x.Dst)}
		if x.Path != scheduler.None {
			used = between(t.Wires, used, leaf[x.Src], leaf[x.Dst], x.Path)
		}
		start, rate := 0.0, 1.0
		for _, w := range used {
			start = max(start, free[w])
			if at := share[w]; at > 0 {
				rate = min(rate, at)
			}
		}
		end := start + float64(x.Bytes)/rate
		for _, w := range used {
			free[w] = end
		}
		last = max(last, end)
	}
	return last
}

// maxWires is how many ports and links a fragment uses at most.
const maxWires = 6

// between is topology.Tree.Between, quickly where a path is a spine.
func between(t topology.Wires, to []topology.Wire, a, b, path int) []topology.Wire {
	if t.Paths() > t.Spines() || t.Levels() == 3 {
		return t.Between(to, a, b, path)
	}
	return append(to, t.Up(a, path), t.Down(b, path))
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
			order = append(order, placed{0, uint16(m.Src), uint16(m.Dst), pathOf(t.PathOf(m.Spine, m.Top)), uint16(e)})
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
