package scheduler

import (
	"slices"

	"evbench/topology"
)

// OfTree is the problem of an exchange between all servers of a tree over its live paths. Its links are the ports of servers,
// then the wires of the tree (topology.Wire).
func OfTree(t *topology.Tree, r topology.Rates) *Problem {
	n := t.Servers()
	p := &Problem{Hosts: n, Links: slices.Repeat([]Link{LinkOf(1)}, 2*n+t.AllWires()), Paths: newLanes(t)}
	for _, h := range r.Hosts {
		p.Links[h.Rank], p.Links[n+h.Rank] = HostLink(h.Share), HostLink(h.Share)
	}
	for _, x := range r.Slow {
		w := 2*n + int(t.UpWire(x.Link))
		p.Links[w], p.Links[w+1] = LinkOf(x.Share), LinkOf(x.Share)
	}
	return p
}

// Lanes are the candidate paths of a tree: all live ones between two leaves (topology.Live.LivePaths), none of which is
// written out.
type Lanes struct {
	t     *topology.Tree
	leaf  []int   // of servers
	live  [][]int // by leaf·leaves + leaf
	wires []topology.Wire
}

// newLanes lists the live paths of each pair of leaves.
func newLanes(t *topology.Tree) *Lanes {
	l := &Lanes{t: t, leaf: t.LeafOfRanks()}
	for a := range t.Leaves() {
		for b := range t.Leaves() {
			var live []int
			if a != b {
				live = t.LivePaths(a, b)
			}
			l.live = append(l.live, live)
		}
	}
	return l
}

// Live are the paths of a message, rising; nil within a leaf.
func (l *Lanes) Live(src, dst int) []int { return l.live[l.leaf[src]*l.t.Leaves()+l.leaf[dst]] }

// Count implements Paths.
func (l *Lanes) Count(src, dst int) int {
	if l.leaf[src] == l.leaf[dst] {
		return 1
	}
	return len(l.Live(src, dst))
}

// Append implements Paths.
func (l *Lanes) Append(to []int32, src, dst, path int) []int32 {
	if l.leaf[src] == l.leaf[dst] {
		return to
	}
	l.wires = l.t.Between(l.wires[:0], l.leaf[src], l.leaf[dst], l.Live(src, dst)[path])
	for _, w := range l.wires {
		to = append(to, int32(2*l.t.Servers())+int32(w))
	}
	return to
}
