package opensm

import (
	"slices"

	"evbench/topology"
	"evbench/topology/network"
)

// An entry is the port of a switch towards a LID that is being filled in.
type entry func(s network.Node, port uint8)

// downwards sets the entries of the switches from which live cables lead down to a switch of
// the tree, and returns these switches and itself. Of parallel cables it takes that of a number,
// modulo theirs, where it is alive.
func (b *builder) downwards(to, number int, set entry) map[int]bool {
	reach := map[int]bool{to: true}
	for todo := []int{to}; len(todo) > 0; todo = todo[1:] {
		for _, l := range b.upwards(todo[0]) {
			_, high := b.tree.Ends(l)
			known := reach[high.Switch]
			if !b.cable(l) || known && l.Cable != 1+number%b.tree.Cables() {
				continue
			}
			set(b.places.Node(high.Switch), b.places.Down(l))
			if reach[high.Switch] = true; !known {
				todo = append(todo, high.Switch)
			}
		}
	}
	return reach
}

// upwards returns the links of which a switch is the lower end.
func (b *builder) upwards(sw int) []topology.Link {
	var out []topology.Link
	for port := range b.tree.SwitchPorts(sw) {
		if l, upper, ok := b.tree.LinkAt(sw, port); ok && !upper {
			out = append(out, l)
		}
	}
	return out
}

// towards sets the entries of all switches that get to a switch by going up and then down.
// Of several ways up the number of the destination chooses one.
func (b *builder) towards(s network.Node, set entry) {
	to, ok := b.number[s]
	if !ok {
		return
	}
	reach := b.downwards(to, to, set)
	for sw := b.tree.Leaves() + b.tree.Middles() - 1; sw >= 0; sw-- { // top switches only go down
		if reach[sw] {
			continue
		}
		ways := slices.DeleteFunc(b.upwards(sw), func(l topology.Link) bool {
			_, high := b.tree.Ends(l)
			return !reach[high.Switch] || !b.cable(l)
		})
		if len(ways) > 0 {
			set(b.places.Node(sw), b.places.Up(ways[to%len(ways)]))
			reach[sw] = true
		}
	}
}

// pods sets the entries of all LIDs of a host on the ways up of three levels.
func (b *builder) pods(r *Routes, h network.Node, home int, set func(s network.Node, offset int, port uint8)) {
	for q := range b.tree.Pods() {
		list := b.podPaths(q, home, h)
		for o := range 1 << r.lmc {
			if len(list) == 0 {
				break
			}
			path := list[o%len(list)]
			r.pathsTo(q, h)[o] = uint16(path)
			b.podLID(q, home, path, int(h), func(s network.Node, port uint8) { set(s, o, port) })
		}
	}
}

// podPaths returns the paths that the LIDs of a host stand for in a pod: first those of the
// plan, rising, dead or not, for check is to find those; then the other live ones, from one
// that depends on the host.
func (b *builder) podPaths(q, home int, h network.Node) []int {
	var out, rest []int
	set := b.set(q, h)
	for path := range b.tree.Paths() {
		k, top := b.tree.SpineTop(path)
		switch {
		case set[path/wordBits]&(1<<(path%wordBits)) != 0:
			out = append(out, path)
		case q == b.tree.Pod(home) && top == 0 && b.alive(home, k), slices.Contains(b.tops(q, home, k), top):
			rest = append(rest, path)
		}
	}
	return b.order(out, rest, h)
}

// tops returns the top switches of a plane by which another pod gets to a leaf.
func (b *builder) tops(q, leaf, plane int) []int {
	to := b.tree.Pod(leaf)
	if q == to || !b.alive(leaf, plane) {
		return nil
	}
	var out []int
	for top := range b.tree.Tops() {
		if b.cable(topology.Link{Leaf: q, Spine: plane, Above: true, Top: top}) && b.cable(topology.Link{Leaf: to, Spine: plane, Above: true, Top: top}) {
			out = append(out, top)
		}
	}
	return out
}

// podLID sets the entries of one LID in a pod: in the plane of its path those of the path, in
// other planes some that arrive, for the leaves that have lost their link to the first.
func (b *builder) podLID(q, home, path, turn int, set entry) {
	plane, planned := b.tree.SpineTop(path)
	open := make([]bool, b.tree.Spines())
	for k := range open {
		if q == b.tree.Pod(home) {
			open[k] = b.alive(home, k)
			continue
		}
		tops := b.tops(q, home, k)
		if k == plane {
			tops = []int{planned}
		}
		if open[k] = len(tops) > 0; open[k] {
			up := topology.Link{Leaf: q, Spine: k, Above: true, Top: tops[turn%len(tops)]}
			if port := b.places.Up(up); port != 0 {
				set(b.places.Node(b.tree.Above(q*b.tree.PodLeaves(), k)), port)
			}
		}
	}
	for l := q * b.tree.PodLeaves(); l < (q+1)*b.tree.PodLeaves(); l++ {
		for i := range open {
			if k := (plane + i) % len(open); l != home && open[k] && b.alive(l, k) {
				set(b.places.Node(l), b.places.Up(topology.Link{Leaf: l, Spine: k}))
				break
			}
		}
	}
}
