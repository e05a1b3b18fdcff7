package topology

import "fmt"

// What plans, models, fabrics and their routes ask of a tree is the same in two levels and
// three, and Tree answers it for both:
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
//
// What only one of the two levels of cables has is asked of the level: Alive, Up and Down of
// leaves and spines; TopAlive, TopUp and TopDown of Pods.

// Make returns the tree of o with every link alive: of three levels where it has pods.
func Make(o Options) (*Tree, error) {
	if o.Pods == 0 && o.Tops == 0 {
		return New(o)
	}
	p, err := NewPods(o)
	if err != nil {
		return nil, err
	}
	return p.Tree(), nil
}

// Pods returns the third level, with its dead links; nil: the tree has two levels.
func (t *Tree) Pods() *Pods { return t.pods }

// Tree returns the tree of all three levels.
func (p *Pods) Tree() *Tree {
	t := *p.lower
	t.pods = p
	return &t
}

// Paths returns how many paths there are between two leaves when all links are alive.
func (t *Tree) Paths() int {
	if t.pods != nil {
		return t.spines * t.pods.tops
	}
	return t.spines
}

// PathOf returns the number of a path: that of the spine or, of three levels,
// spine + Spines·top. A negative spine is no path, and stays so; a negative top, which
// messages within a pod have, counts as top switch 0.
func (t *Tree) PathOf(spine, top int) int {
	if t.pods == nil || spine < 0 {
		return spine
	}
	return spine + t.spines*max(top, 0)
}

// SpineTop returns the spine of a path, which is a plane of three levels, and its top
// switch there.
func (t *Tree) SpineTop(path int) (spine, top int) {
	if t.pods == nil || path < 0 {
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
func (t *Tree) Apart(a, b int) bool { return t.pods != nil && t.pods.Pod(a) != t.pods.Pod(b) }

// PathAlive reports whether no link of a path between two different leaves is dead.
func (t *Tree) PathAlive(a, b, path int) bool {
	k, top := t.SpineTop(path)
	if !t.Alive(a, k) || !t.Alive(b, k) {
		return false
	}
	return !t.Apart(a, b) || t.pods.TopAlive(t.pods.Pod(a), k, top) && t.pods.TopAlive(t.pods.Pod(b), k, top)
}

// PathLinks returns the links of a path between two different leaves, in its order.
func (t *Tree) PathLinks(a, b, path int) []Link {
	k, top := t.Through(a, b, path)
	out := []Link{{Leaf: a, Spine: k}}
	if top >= 0 {
		out = append(out, Link{t.pods.Pod(a), k, true, top}, Link{t.pods.Pod(b), k, true, top})
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

// meet reports whether what is in plane k gets from one leaf's pod to another's.
func (t *Tree) meet(a, b, k int) bool {
	return t.pods == nil || t.pods.meet(t.pods.Pod(a), t.pods.Pod(b), k)
}

// Middles returns the number of switches that have cables to leaves: the spines, of three
// levels those of all pods.
func (t *Tree) Middles() int {
	if t.pods != nil {
		return t.pods.pods * t.spines
	}
	return t.spines
}

// Switches returns the number of switches.
func (t *Tree) Switches() int {
	n := t.leaves + t.Middles()
	if t.pods != nil {
		n += t.Paths()
	}
	return n
}

// Above returns the number of the switch at the upper end of a leaf's cable to a spine.
func (t *Tree) Above(leaf, spine int) int {
	if t.pods != nil {
		return t.leaves + t.pods.Pod(leaf)*t.spines + spine
	}
	return t.leaves + spine
}

// SwitchName returns the name of a switch: leaf0, spine3; of three levels pod1-spine2 and
// spine2-top3.
func (t *Tree) SwitchName(sw int) string {
	k := sw - t.leaves
	switch {
	case k < 0:
		return fmt.Sprintf("leaf%d", sw)
	case t.pods == nil:
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
	case t.pods == nil:
		return t.leaves
	case k < t.Middles():
		return t.pods.PodLeaves() + t.pods.tops
	}
	return t.pods.pods
}

// An End is a port of a switch.
type End struct{ Switch, Port int }

// Ends returns the lower and the upper end of a link.
func (t *Tree) Ends(l Link) (low, high End) {
	switch {
	case l.Above:
		middle := t.leaves + l.Leaf*t.spines + l.Spine
		top := t.leaves + t.Middles() + t.PathOf(l.Spine, l.Top)
		return End{middle, t.pods.PodLeaves() + l.Top}, End{top, l.Leaf}
	case t.pods != nil:
		return End{l.Leaf, t.ports + l.Spine}, End{t.Above(l.Leaf, l.Spine), l.Leaf % t.pods.PodLeaves()}
	}
	return End{l.Leaf, t.ports + l.Spine}, End{t.Above(l.Leaf, l.Spine), l.Leaf}
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
	case t.pods == nil:
		return Link{Leaf: port, Spine: k}, true, true
	case k >= t.Middles():
		spine, top := t.SpineTop(k - t.Middles())
		return Link{port, spine, true, top}, true, true
	}
	pod, spine := k/t.spines, k%t.spines
	if down := t.pods.PodLeaves(); port >= down {
		return Link{pod, spine, true, port - down}, false, true
	}
	return Link{Leaf: pod*t.pods.PodLeaves() + port, Spine: spine}, true, true
}

// AllLinks returns the number of cables between switches.
func (t *Tree) AllLinks() int {
	n := len(t.dead)
	if t.pods != nil {
		n += len(t.pods.dead)
	}
	return n
}

// LinkOf is the inverse of LinkID.
func (t *Tree) LinkOf(id int) Link {
	if n := len(t.dead); id >= n {
		return t.pods.topLink(id - n).link()
	}
	return Link{Leaf: id / t.spines, Spine: id % t.spines}
}

// Has reports whether a link is one of the tree.
func (t *Tree) Has(l Link) bool {
	if l.Above {
		return t.pods != nil && t.pods.checkTop(l.topLink()) == nil
	}
	return l.Leaf >= 0 && l.Leaf < t.leaves && l.Spine >= 0 && l.Spine < t.spines
}

// LinkAlive reports whether a link is alive.
func (t *Tree) LinkAlive(l Link) bool {
	if l.Above {
		return t.pods.TopAlive(l.Leaf, l.Spine, l.Top)
	}
	return t.Alive(l.Leaf, l.Spine)
}

func (l TopLink) link() Link { return Link{l.Pod, l.Spine, true, l.Top} }

func (l Link) topLink() TopLink { return TopLink{l.Leaf, l.Spine, l.Top} }

// levels sorts links by level.
func levels(links []Link) (low []Link, tops []TopLink) {
	for _, l := range links {
		if l.Above {
			tops = append(tops, l.topLink())
		} else {
			low = append(low, l)
		}
	}
	return low, tops
}

// joined is the inverse of levels.
func joined(low []Link, tops []TopLink, err error) ([]Link, error) {
	for _, l := range tops {
		low = append(low, l.link())
	}
	return low, err
}
