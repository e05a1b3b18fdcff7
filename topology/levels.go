package topology

import "fmt"

// Trees of two levels and three give plans, models, fabrics and their routes the same view:
//
//   - servers by rank and their leaves (Servers, Leaf, First, On);
//   - paths. A path between two leaves is one number, 0..Paths()-1: the spine or, of three
//     levels, the top switch, PathOf(plane, top). Within a pod only its plane counts.
//     Workers, addresses, schedules in rows and tables know paths by this number. With
//     parallel cables a path is a spine and a lane, PathOf(spine, lane), in place of a top switch.
//     The lane Lane(up, down) says which cable the message takes up and which down.
//   - switches by number: leaves, then spines (of three levels those of pod 0 by plane, of
//     pod 1, …), then top switches, in which path p goes through top switch p. Network
//     files of PGFTs count the same way;
//   - cables between switches (Link) of either level, with names, dense IDs, dead ones, and
//     the port that each has at its ends (Ends, LinkAt);
//   - wires, the directions of all cables, for loads and counters.

// Paths returns how many paths two leaves have when all links are alive.
func (t *Tree) Paths() int {
	return t.spines * t.lanes()
}

// lanes returns how many paths a spine, or plane, stands for.
func (t *Tree) lanes() int { return max(t.tops, t.cables*t.cables) }

// Lane returns the number of two cables, of one leaf to a spine and of the spine to another leaf.
func (t *Tree) Lane(up, down int) int { return up*t.cables + down }

// LaneCables returns the cables of a lane, 0 and 0 without parallel cables or for a negative lane.
func (t *Tree) LaneCables(lane int) (up, down int) {
	if t.cables == 1 || lane < 0 {
		return 0, 0
	}
	return lane / t.cables, lane % t.cables
}

// PathOf returns the number of a path: its spine or, on three levels, spine + Spines·top. A
// negative spine is no path, and stays so. A negative top, as for messages within a pod, counts as
// top switch 0.
func (t *Tree) PathOf(spine, top int) int {
	if t.lanes() == 1 || spine < 0 {
		return spine
	}
	return spine + t.spines*max(top, 0)
}

// Back returns the path from b to a over the cables of a path from a to b. With parallel cables it
// exchanges those up and down, else it is the same path.
func (t *Tree) Back(path int) int {
	spine, lane := t.SpineTop(path)
	if t.cables == 1 || path < 0 {
		return path
	}
	up, down := t.LaneCables(lane)
	return t.PathOf(spine, t.Lane(down, up))
}

// Backs returns Back of each path, nil if each path is its own Back.
func (t *Tree) Backs() (back []int) {
	for path := range t.Paths() {
		if t.cables > 1 {
			back = append(back, t.Back(path))
		}
	}
	return back
}

// SpineTop returns the spine of a path, which is a plane of three levels, and its top
// switch there, or its lane.
func (t *Tree) SpineTop(path int) (spine, top int) {
	if t.tops == 0 && t.cables == 1 || path < 0 {
		return path, -1
	}
	return path % t.spines, path / t.spines
}

// Through returns a path between two leaves in the form of plan files: its spine, and its top
// switch where the leaves are in different pods, or its lane where cables are parallel, else -1.
func (t *Tree) Through(a, b, path int) (spine, top int) {
	spine, top = t.SpineTop(path)
	if t.cables == 1 && !t.Apart(a, b) {
		top = -1
	}
	return spine, top
}

// Apart reports whether two leaves are in different pods of three levels.
func (t *Tree) Apart(a, b int) bool { return t.Pod(a) != t.Pod(b) }

// PathAlive reports whether no link of a path between two different leaves is dead.
func (t *Tree) PathAlive(a, b, path int) bool {
	k, top := t.SpineTop(path)
	if up, down := t.LaneCables(top); !t.CableAlive(a, k, up) || !t.CableAlive(b, k, down) {
		return false
	}
	return !t.Apart(a, b) || t.TopAlive(t.Pod(a), k, top) && t.TopAlive(t.Pod(b), k, top)
}

// PathLinks returns the links of a path between two different leaves, in its order.
func (t *Tree) PathLinks(a, b, path int) []Link {
	k, top := t.SpineTop(path)
	up, down := t.LaneCables(top)
	out := []Link{t.Cable(a, k, up)}
	if t.Apart(a, b) {
		out = append(out, Link{Leaf: t.Pod(a), Spine: k, Above: true, Top: top}, Link{Leaf: t.Pod(b), Spine: k, Above: true, Top: top})
	}
	return append(out, t.Cable(b, k, down))
}

// LivePaths returns the live paths between two different leaves, rising; within a pod one for each
// plane. With parallel cables all lanes count.
func (t *Tree) LivePaths(a, b int) []int {
	n := t.spines
	if t.Apart(a, b) || t.cables > 1 {
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

// Middles returns the number of switches that have cables to leaves: the spines or, on three
// levels, the switches of all pods.
func (t *Tree) Middles() int { return t.pods * t.spines }

func (t *Tree) Switches() int { return t.leaves + t.Middles() + t.tops*t.spines }

// Above returns the number of the switch at the upper end of a leaf's cable to a spine.
func (t *Tree) Above(leaf, spine int) int { return t.leaves + t.Pod(leaf)*t.spines + spine }

// SwitchName returns the name of a switch: leaf0, spine3; on three levels pod1-spine2 and
// spine2-top3; or its name in a tree with other names.
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

// SwitchPorts returns the number of ports of a switch. A leaf has ports for its servers by slot and
// then for its spines, parallel cables next to each other; a spine for its leaves and then, on
// three levels, for its top switches; a top switch for the pods.
func (t *Tree) SwitchPorts(sw int) int {
	switch k := sw - t.leaves; {
	case k < 0:
		return t.ports + t.spines*t.cables
	case k < t.Middles():
		return t.PodLeaves()*t.cables + t.tops
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
	c := max(l.Cable-1, 0)
	return End{l.Leaf, t.ports + l.Spine*t.cables + c}, End{t.Above(l.Leaf, l.Spine), l.Leaf%t.PodLeaves()*t.cables + c}
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
		up := port - t.ports
		return t.Cable(sw, up/t.cables, up%t.cables), false, up >= 0
	case k >= t.Middles():
		spine, top := t.SpineTop(k - t.Middles())
		return Link{Leaf: port, Spine: spine, Above: true, Top: top}, true, true
	}
	pod, spine := k/t.spines, k%t.spines
	if down := t.PodLeaves() * t.cables; port >= down {
		return Link{Leaf: pod, Spine: spine, Above: true, Top: port - down}, false, true
	}
	return t.Cable(pod*t.PodLeaves()+port/t.cables, spine, port%t.cables), true, true
}
