package opensm

import (
	"math/bits"
	"slices"

	"evbench/site/network"
	"evbench/topology"
)

// An entry sets the port of a switch towards the current LID.
type entry func(s network.Node, port uint8)

// downwards sets the entries of the switches with live cables down to a switch of the tree, and
// returns these switches and the switch itself. Of parallel cables it takes cable number modulo
// their count, if that is alive.
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

// upwards returns the links with a switch as their lower end.
func (b *builder) upwards(sw int) []topology.Link {
	var out []topology.Link
	for port := range b.tree.SwitchPorts(sw) {
		if l, upper, ok := b.tree.LinkAt(sw, port); ok && !upper {
			out = append(out, l)
		}
	}
	return out
}

// towards sets the entries of all switches that reach a switch by going up and then down. The
// number of the destination selects one of several ways up.
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
		all, each := b.pod(q, h)
		list := b.podPaths(q, home, h, all)
		for o := range 1 << r.lmc {
			if len(list) == 0 {
				break
			}
			at := slices.Repeat([]int{list[o%len(list)]}, b.tree.PodLeaves())
			for i := range at {
				if o == 0 && each != nil && each[i] != none {
					at[i] = each[i]
				}
				r.pathsTo(q*len(at)+i, h)[o] = uint16(at[i])
			}
			b.podLID(q, home, at, int(h), func(s network.Node, port uint8) { set(s, o, port) })
		}
	}
}

// pod returns the plan's paths from a pod to a host, as a set, and by leaf if one LID suffices for
// all of them: a leaf has at most one, and those through a spine share the top switch. Otherwise
// each is nil.
func (b *builder) pod(q int, h network.Node) (all []uint64, each []int) {
	all, each = make([]uint64, b.words), slices.Repeat([]int{none}, b.tree.PodLeaves())
	tops, alone := map[int]int{}, !b.byPath
	for i := range each {
		for w, set := range b.set(q*len(each)+i, h) {
			all[w] |= set
			for ; set != 0; set &= set - 1 {
				path := w*wordBits + bits.TrailingZeros64(set)
				plane, top := b.tree.SpineTop(path)
				other, known := tops[plane]
				alone = alone && each[i] == none && (!known || other == top)
				each[i], tops[plane] = path, top
			}
		}
	}
	if !alone {
		return all, nil
	}
	return all, each
}

// podPaths returns the paths for the LIDs of a host in a pod: first those of the plan, a set,
// rising, dead or not, because check must find dead ones; then the other live ones, starting at one
// that depends on the host.
func (b *builder) podPaths(q, home int, h network.Node, set []uint64) []int {
	var out, rest []int
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

// tops returns the top switches of a plane through which another pod reaches a leaf.
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

// podLID sets the entries of one LID in a pod: in the planes of its paths those of the paths, by
// leaf; in other planes some that arrive, for the leaves that have lost their link to the planes of
// their paths.
func (b *builder) podLID(q, home int, at []int, turn int, set entry) {
	planned := map[int]int{}
	for _, path := range at {
		plane, top := b.tree.SpineTop(path)
		planned[plane] = top
	}
	open := make([]bool, b.tree.Spines())
	for k := range open {
		if q == b.tree.Pod(home) {
			open[k] = b.alive(home, k)
			continue
		}
		tops := b.tops(q, home, k)
		if top, ok := planned[k]; ok {
			tops = []int{top}
		}
		if open[k] = len(tops) > 0; open[k] {
			up := topology.Link{Leaf: q, Spine: k, Above: true, Top: tops[turn%len(tops)]}
			if port := b.places.Up(up); port != 0 {
				set(b.places.Node(b.tree.Above(q*b.tree.PodLeaves(), k)), port)
			}
		}
	}
	for i, path := range at {
		l := q*len(at) + i
		plane, _ := b.tree.SpineTop(path)
		for i := range open {
			if k := (plane + i) % len(open); l != home && open[k] && b.alive(l, k) {
				set(b.places.Node(l), b.places.Up(topology.Link{Leaf: l, Spine: k}))
				break
			}
		}
	}
}
