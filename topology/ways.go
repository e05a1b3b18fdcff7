package topology

import (
	"iter"
)

// Plain reports whether a path is a spine and no more: on two levels, with single cables.
func (s *Shape) Plain() bool { return s.tops == 0 && s.cables == 1 }

// Level returns the level of a switch: 0 of a leaf, 1 of a spine or a switch of a pod, 2 of a top switch.
func (s *Shape) Level(sw int) int {
	switch {
	case sw < s.leaves:
		return 0
	case sw < s.leaves+s.Middles():
		return 1
	}
	return 2
}

// Place returns which leaf a switch is or, between leaves and top switches, its pod.
func (s *Shape) Place(sw int) int {
	if sw < s.leaves {
		return sw
	}
	return (sw - s.leaves) / s.spines
}

// Below reports whether a leaf is a switch or has cables to it.
func (s *Shape) Below(leaf, sw int) bool {
	switch s.Level(sw) {
	case 0:
		return leaf == sw
	case 1:
		return s.Pod(leaf) == s.Place(sw)
	}
	return true
}

// Upward returns the ports of a switch that lead up: how many, and the first.
func (w Wires) Upward(sw int) (first, count int) {
	switch w.Level(sw) {
	case 0:
		return w.ports, w.spines * w.cables
	case 1:
		return w.PodLeaves() * w.cables, w.tops
	}
	return 0, 0
}

// UpLinks yields the links that lead up from a switch, by port.
func (w Wires) UpLinks(sw int) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		first, count := w.Upward(sw)
		for port := first; port < first+count; port++ {
			if l, _, _ := w.LinkAt(sw, port); !yield(l) {
				return
			}
		}
	}
}

// Joining yields the links between a leaf and a spine: one, or several that are parallel.
func (w Wires) Joining(leaf, spine int) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for c := 0; c < w.cables && yield(w.Cable(leaf, spine, c)); c++ {
		}
	}
}

// Ways yields the live links up from a switch with which a live path to a leaf begins, by port; none
// to a leaf below.
func (v *Live) Ways(sw, leaf int) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for l := range v.Toward(sw, leaf) {
			if v.Alive(leaf, l.Spine) && !yield(l) {
				return
			}
		}
	}
}

// Toward is Ways for what is on its way already: on three levels the link down to the leaf may be dead.
func (v *Live) Toward(sw, leaf int) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		q := v.Pod(leaf)
		for l := range v.UpLinks(sw) {
			leads := l.Above && l.Leaf != q && v.TopAlive(q, l.Spine, l.Top) ||
				!l.Above && l.Leaf != leaf && v.Alive(leaf, l.Spine) && v.meet(l.Leaf, leaf, l.Spine)
			if leads && v.LinkAlive(l) && !yield(l) {
				return
			}
		}
	}
}

// Onward returns the port by which a path to a leaf leaves a switch above leaves, and whether the
// path passes the switch and lives from there.
func (v *Live) Onward(sw, leaf, path int) (port int, ok bool) {
	k, top := v.SpineTop(path)
	down := v.LastLink(leaf, path)
	if !v.LinkAlive(down) {
		return 0, false
	}
	if _, high := v.Ends(down); high.Switch == sw {
		return high.Port, true
	}
	if v.tops == 0 || !v.TopAlive(v.Pod(leaf), k, top) {
		return 0, false
	}
	if _, high := v.Ends(Link{Leaf: v.Pod(leaf), Spine: k, Above: true, Top: top}); high.Switch == sw {
		return high.Port, true
	}
	from := sw - v.leaves // index among the pods' switches
	if from >= v.Middles() || from%v.spines != k || !v.TopAlive(from/v.spines, k, top) {
		return 0, false
	}
	return v.PodLeaves() + top, true
}
