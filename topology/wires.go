package topology

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

// Wires number the links of a shape, the paths over them, the ports at their ends, and their two
// directions.
type Wires struct{ *Shape }

// Paths returns how many paths two leaves have when all links are alive.
func (w Wires) Paths() int {
	return w.spines * w.lanes()
}

// lanes returns how many paths a spine, or plane, stands for.
func (w Wires) lanes() int { return max(w.tops, w.cables*w.cables) }

// Lane returns the number of two cables, of one leaf to a spine and of the spine to another leaf.
func (w Wires) Lane(up, down int) int { return up*w.cables + down }

// LaneCables returns the cables of a lane, 0 and 0 without parallel cables or for a negative lane.
func (w Wires) LaneCables(lane int) (up, down int) {
	if w.cables == 1 || lane < 0 {
		return 0, 0
	}
	return lane / w.cables, lane % w.cables
}

// PathOf returns the number of a path: its spine or, on three levels, spine + Spines·top. A
// negative spine is no path, and stays so. A negative top, as for messages within a pod, counts as
// top switch 0.
func (w Wires) PathOf(spine, top int) int {
	if w.lanes() == 1 || spine < 0 {
		return spine
	}
	return spine + w.spines*max(top, 0)
}

// Back returns the path from b to a over the cables of a path from a to b. With parallel cables it
// exchanges those up and down, else it is the same path.
func (w Wires) Back(path int) int {
	spine, lane := w.SpineTop(path)
	if w.cables == 1 || path < 0 {
		return path
	}
	up, down := w.LaneCables(lane)
	return w.PathOf(spine, w.Lane(down, up))
}

// BackPaths returns Back of each path, nil if each path is its own Back.
func (w Wires) BackPaths() (back []int) {
	for path := range w.Paths() {
		if w.cables > 1 {
			back = append(back, w.Back(path))
		}
	}
	return back
}

// SpineTop returns the spine of a path, which is a plane of three levels, and its top
// switch there, or its lane.
func (w Wires) SpineTop(path int) (spine, top int) {
	if w.tops == 0 && w.cables == 1 || path < 0 {
		return path, -1
	}
	return path % w.spines, path / w.spines
}

// Through returns a path between two leaves in the form of plan files: its spine, and its top
// switch where the leaves are in different pods, or its lane where cables are parallel, else -1.
func (w Wires) Through(a, b, path int) (spine, top int) {
	spine, top = w.SpineTop(path)
	if w.cables == 1 && !w.AcrossPods(a, b) {
		top = -1
	}
	return spine, top
}

// PathLinks returns the links of a path between two different leaves, in its order: two, or four between pods.
func (w Wires) PathLinks(a, b, path int) []Link {
	return w.AppendPath(make([]Link, 0, 4), a, b, path)
}

// AppendPath appends the links of a path as PathLinks returns them, for those that follow all paths and reuse memory.
func (w Wires) AppendPath(links []Link, a, b, path int) []Link {
	k, top := w.SpineTop(path)
	links = append(links, w.FirstLink(a, path))
	if w.AcrossPods(a, b) {
		links = append(links, Link{Leaf: w.Pod(a), Spine: k, Above: true, Top: top}, Link{Leaf: w.Pod(b), Spine: k, Above: true, Top: top})
	}
	return append(links, w.LastLink(b, path))
}

// FirstLink returns the link by which a path leaves its first leaf.
func (w Wires) FirstLink(leaf, path int) Link {
	k, lane := w.SpineTop(path)
	up, _ := w.LaneCables(lane)
	return w.Cable(leaf, k, up)
}

// LastLink returns the link by which a path comes down to its last leaf.
func (w Wires) LastLink(leaf, path int) Link {
	k, lane := w.SpineTop(path)
	_, down := w.LaneCables(lane)
	return w.Cable(leaf, k, down)
}

// Columns returns the numbers by which files name a path of Through: its spine and, by the shape of
// the tree, its top switch, or its cables up and down; -1 where it has none.
func (w Wires) Columns(spine, top int) (n [3]int, columns int) {
	n[0] = spine
	switch {
	case w.cables > 1 && top < 0:
		n[1], n[2] = -1, -1
		return n, 3
	case w.cables > 1:
		n[1], n[2] = w.LaneCables(top)
		return n, 3
	case w.tops > 0:
		n[1] = top
		return n, 2
	}
	return n, 1
}

// An End is a port of a switch.
type End struct{ Switch, Port int }

// Above returns the number of the switch at the upper end of a leaf's cable to a spine.
func (w Wires) Above(leaf, spine int) int { return w.leaves + w.Pod(leaf)*w.spines + spine }

// SwitchPorts returns the number of ports of a switch. A leaf has ports for its servers by slot and
// then for its spines, parallel cables next to each other; a spine for its leaves and then, on
// three levels, for its top switches; a top switch for the pods.
func (w Wires) SwitchPorts(sw int) int {
	if w.Level(sw) == 2 {
		return w.pods
	}
	first, count := w.Upward(sw)
	return first + count
}

// Ends returns the lower and the upper end of a link.
func (w Wires) Ends(l Link) (low, high End) {
	if l.Above {
		top := w.leaves + w.Middles() + w.PathOf(l.Spine, l.Top)
		return End{w.leaves + l.Leaf*w.spines + l.Spine, w.PodLeaves() + l.Top}, End{top, l.Leaf}
	}
	c := max(l.Cable-1, 0)
	return End{l.Leaf, w.ports + l.Spine*w.cables + c}, End{w.Above(l.Leaf, l.Spine), l.Leaf%w.PodLeaves()*w.cables + c}
}

// LinkAt returns the link at a port of a switch, and whether there is one; upper says that
// it is the link's upper end.
func (w Wires) LinkAt(sw, port int) (l Link, upper, ok bool) {
	if sw < 0 || sw >= w.Switches() || port < 0 || port >= w.SwitchPorts(sw) {
		return Link{}, false, false
	}
	k := sw - w.leaves
	switch {
	case k < 0:
		up := port - w.ports
		return w.Cable(sw, up/w.cables, up%w.cables), false, up >= 0
	case k >= w.Middles():
		spine, top := w.SpineTop(k - w.Middles())
		return Link{Leaf: port, Spine: spine, Above: true, Top: top}, true, true
	}
	pod, spine := k/w.spines, k%w.spines
	if down := w.PodLeaves() * w.cables; port >= down {
		return Link{Leaf: pod, Spine: spine, Above: true, Top: port - down}, false, true
	}
	return w.Cable(pod*w.PodLeaves()+port/w.cables, spine, port%w.cables), true, true
}

func (w Wires) between(a, b End) (out []Link) {
	for id := range w.AllLinks() {
		l := w.LinkOf(id)
		if low, high := w.Ends(l); a.is(low) && b.is(high) || a.is(high) && b.is(low) {
			out = append(out, l)
		}
	}
	return out
}

// LinkID returns the dense ID of a link: leaf·Spines + spine, by cable where they are parallel,
// then links above, by pod, spine and top.
func (w Wires) LinkID(l Link) int {
	if l.Above {
		return w.leaves*w.spines + (l.Leaf*w.spines+l.Spine)*w.tops + l.Top
	}
	return (l.Leaf*w.spines+l.Spine)*w.cables + max(l.Cable-1, 0)
}

// LowerLinks returns the number of cables between leaves and spines, the first by LinkID.
func (w Wires) LowerLinks() int { return w.leaves * w.spines * w.cables }

// Cable returns the link of a cable, 0..Cables()-1, between a leaf and a spine.
func (w Wires) Cable(leaf, spine, cable int) Link {
	if w.cables == 1 {
		return Link{Leaf: leaf, Spine: spine}
	}
	return Link{Leaf: leaf, Spine: spine, Cable: cable + 1}
}

// LinkOf is the inverse of LinkID.
func (w Wires) LinkOf(id int) Link {
	above := id - w.LowerLinks()
	if above < 0 {
		k := id / w.cables
		return w.Cable(k/w.spines, k%w.spines, id%w.cables)
	}
	k := above / w.tops
	return Link{Leaf: k / w.spines, Spine: k % w.spines, Above: true, Top: above % w.tops}
}

// AllLinks returns the number of cables between switches.
func (w Wires) AllLinks() int { return w.links() }

// Has reports whether the tree has a link.
func (w Wires) Has(l Link) bool {
	lower, top, first, last := w.leaves, l.Top == 0, 0, 0
	if l.Above {
		lower, top = w.pods, l.Top >= 0 && l.Top < w.tops
	} else if w.cables > 1 {
		first, last = 1, w.cables
	}
	return top && l.Cable >= first && l.Cable <= last && l.Leaf >= 0 && l.Leaf < lower && l.Spine >= 0 && l.Spine < w.spines
}

// A Wire is one direction of a cable, by dense ID: first the leaf-spine cables (2·LinkID upwards,
// leaf to spine; 2·LinkID+1 downwards), then the server cables by rank (up: server to leaf), then
// the cables of the top switches, in the order of LinkID. Link loads are slices indexed by Wire.
type Wire int

// AllWires returns the number of wires: two for each cable between switches, and 2·S.
func (w Wires) AllWires() int { return 2 * (w.links() + w.Servers()) }

// LinkWires returns how long a list by wire is that ends with the last one between switches.
func (w Wires) LinkWires() int {
	if w.tops == 0 {
		return 2 * w.LowerLinks()
	}
	return w.AllWires()
}

// UpWire returns the upward wire of a link between switches; the downward one follows it.
func (w Wires) UpWire(l Link) Wire {
	if l.Above {
		return Wire(2 * (w.LinkID(l) + w.Servers()))
	}
	return Wire(2 * w.LinkID(l))
}

// Up returns the wire from a leaf to a spine; where cables are parallel, of the first.
func (w Wires) Up(leaf, spine int) Wire { return Wire(2 * (leaf*w.spines + spine) * w.cables) }

// Down returns the wire from a spine to a leaf, as Up.
func (w Wires) Down(leaf, spine int) Wire { return w.Up(leaf, spine) + 1 }

// FromServer returns the wire from the server of a rank to its leaf.
func (w Wires) FromServer(rank int) Wire { return Wire(2 * (w.LowerLinks() + rank)) }

// ToServer returns the wire from the leaf to its server of a rank.
func (w Wires) ToServer(rank int) Wire { return Wire(2*(w.LowerLinks()+rank) + 1) }

// TopUp returns the wire from a pod's switch in a plane to a top switch of it.
func (w Wires) TopUp(pod, spine, top int) Wire {
	return w.UpWire(Link{Leaf: pod, Spine: spine, Above: true, Top: top})
}

// TopDown returns the wire from a top switch to a pod's switch in its plane.
func (w Wires) TopDown(pod, spine, top int) Wire { return w.TopUp(pod, spine, top) + 1 }

// Path appends the wires that a message from src to dst (ranks) crosses, in order, on a path
// (PathOf). Servers of one leaf need no path.
func (w Wires) Path(to []Wire, src, dst, path int) []Wire {
	to = append(to, w.FromServer(src))
	if a, b := w.Leaf(src), w.Leaf(dst); a != b {
		to = w.Between(to, a, b, path)
	}
	return append(to, w.ToServer(dst))
}

// Between appends the wires of a path between two different leaves, in order.
func (w Wires) Between(to []Wire, a, b, path int) []Wire {
	if w.tops == 0 && w.cables == 1 {
		return append(to, w.Up(a, path), w.Down(b, path))
	}
	spine, top := w.SpineTop(path)
	i, j := w.LaneCables(top)
	to = append(to, w.Up(a, spine)+Wire(2*i))
	if w.AcrossPods(a, b) {
		to = append(to, w.TopUp(w.Pod(a), spine, top), w.TopDown(w.Pod(b), spine, top))
	}
	return append(to, w.Down(b, spine)+Wire(2*j))
}
