package topology

import "fmt"

// What plans, models, fabrics and their routes ask of a tree is the same in two levels and three:
//
//   - servers by rank and their leaves (Servers, Leaf, First, On);
//   - paths. A path between two leaves is one number, 0..Paths()-1: the spine or, of three
//     levels, the top switch, PathOf(plane, top). Within a pod only its plane counts.
//     Workers, addresses, schedules in rows and tables know paths by this number.
//   - switches by number: leaves, then spines (of three levels those of pod 0 by plane, of
//     pod 1, …), then top switches, in which path p goes through top switch p. Network
//     files of PGFTs count the same way;
//   - cables between switches (Link) of either level, with names, dense IDs, dead ones, and
//     the port that each has at its ends (Ends, LinkAt);
//   - wires, the directions of all cables, for loads and counters.

// Paths returns how many paths there are between two leaves when all links are alive.
func (t *Tree) Paths() int {
	return t.spines * max(1, t.tops)
}

// PathOf returns the number of a path: that of the spine or, of three levels,
// spine + Spines·top. A negative spine is no path, and stays so; a negative top, which
// messages within a pod have, counts as top switch 0.
func (t *Tree) PathOf(spine, top int) int {
	if t.tops == 0 || spine < 0 {
		return spine
	}
	return spine + t.spines*max(top, 0)
}

// SpineTop returns the spine of a path, which is a plane of three levels, and its top
// switch there.
func (t *Tree) SpineTop(path int) (spine, top int) {
	if t.tops == 0 || path < 0 {
		return path, -1
	}
	return path % t.spines, path / t.spines
}

// Through returns what the file of a plan says of a path between two leaves: its spine,
// and its top switch where the leaves are in different pods, else -1.
func (t *Tree) Through(a, b, path int) (spine, top int) {
	spine, top = t.SpineTop(path)
	if !t.Apart(a, b) {
		top = -1
	}
	return spine, top
}

// Apart reports whether two leaves are in different pods of three levels.
func (t *Tree) Apart(a, b int) bool { return t.Pod(a) != t.Pod(b) }

// PathAlive reports whether no link of a path between two different leaves is dead.
func (t *Tree) PathAlive(a, b, path int) bool {
	k, top := t.SpineTop(path)
	if !t.Alive(a, k) || !t.Alive(b, k) {
		return false
	}
	return !t.Apart(a, b) || t.TopAlive(t.Pod(a), k, top) && t.TopAlive(t.Pod(b), k, top)
}

// PathLinks returns the links of a path between two different leaves, in its order.
func (t *Tree) PathLinks(a, b, path int) []Link {
	k, top := t.Through(a, b, path)
	out := []Link{{Leaf: a, Spine: k}}
	if top >= 0 {
		out = append(out, Link{t.Pod(a), k, true, top}, Link{t.Pod(b), k, true, top})
	}
	return append(out, Link{Leaf: b, Spine: k})
}

// LivePaths returns the live paths between two different leaves, rising; within a pod one
// of each plane.
func (t *Tree) LivePaths(a, b int) []int {
	n := t.spines
	if t.Apart(a, b) {
		n = t.Paths()
	}
	var out []int
	for path := range n {
		if t.PathAlive(a, b, path) {
			out = append(out, path)
		}
	}
	return out
}

// Middles returns the number of switches that have cables to leaves: the spines, of three
// levels those of all pods.
func (t *Tree) Middles() int { return t.pods * t.spines }

// Switches returns the number of switches.
func (t *Tree) Switches() int { return t.leaves + t.Middles() + t.tops*t.spines }

// Above returns the number of the switch at the upper end of a leaf's cable to a spine.
func (t *Tree) Above(leaf, spine int) int { return t.leaves + t.Pod(leaf)*t.spines + spine }

// SwitchName returns the name of a switch: leaf0, spine3; of three levels pod1-spine2 and
// spine2-top3; of a tree with other names, that.
func (t *Tree) SwitchName(sw int) string {
	k := sw - t.leaves
	switch {
	case t.names != nil:
		return t.names.Switches[sw]
	case k < 0:
		return fmt.Sprintf("leaf%d", sw)
	case t.tops == 0:
		return fmt.Sprintf("spine%d", k)
	case k < t.Middles():
		return fmt.Sprintf("pod%d-spine%d", k/t.spines, k%t.spines)
	}
	spine, top := t.SpineTop(k - t.Middles())
	return fmt.Sprintf("spine%d-top%d", spine, top)
}

// SwitchPorts returns the number of ports of a switch. Those of a leaf are its servers' by
// slot and then its spines'; those of a spine its leaves' and then, of three levels, those
// of its top switches; those of a top switch the pods'.
func (t *Tree) SwitchPorts(sw int) int {
	switch k := sw - t.leaves; {
	case k < 0:
		return t.ports + t.spines
	case k < t.Middles():
		return t.PodLeaves() + t.tops
	}
	return t.pods
}

// An End is a port of a switch.
type End struct{ Switch, Port int }

// Ends returns the lower and the upper end of a link.
func (t *Tree) Ends(l Link) (low, high End) {
	if l.Above {
		top := t.leaves + t.Middles() + t.PathOf(l.Spine, l.Top)
		return End{t.leaves + l.Leaf*t.spines + l.Spine, t.PodLeaves() + l.Top}, End{top, l.Leaf}
	}
	return End{l.Leaf, t.ports + l.Spine}, End{t.Above(l.Leaf, l.Spine), l.Leaf % t.PodLeaves()}
}

// LinkAt returns the link at a port of a switch, and whether there is one; upper says that
// it is the link's upper end.
func (t *Tree) LinkAt(sw, port int) (l Link, upper, ok bool) {
	if sw < 0 || sw >= t.Switches() || port < 0 || port >= t.SwitchPorts(sw) {
		return Link{}, false, false
	}
	k := sw - t.leaves
	switch {
	case k < 0:
		return Link{Leaf: sw, Spine: port - t.ports}, false, port >= t.ports
	case k >= t.Middles():
		spine, top := t.SpineTop(k - t.Middles())
		return Link{port, spine, true, top}, true, true
	}
	pod, spine := k/t.spines, k%t.spines
	if down := t.PodLeaves(); port >= down {
		return Link{pod, spine, true, port - down}, false, true
	}
	return Link{Leaf: pod*t.PodLeaves() + port, Spine: spine}, true, true
}
