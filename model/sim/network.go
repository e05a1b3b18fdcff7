package sim

import (
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

type network struct {
	wires int
	// path appends the wires from one server to another (ranks), the cables of the servers
	// included, in the order in which a message crosses them. It appends nothing for a pair without
	// a path.
	path func(to []int32, src, dst int) []int32
	// name returns the cable of a wire and its direction, "up" being away from the
	// servers.
	name func(wire int) (link, direction string)
	over plan.Over // nil: a tree

	tree *topology.Tree
	leaf []int // [rank]
	// by returns the path (topology.Tree.PathOf) of the message between two ranks on different
	// leaves, in O(1); negative for a pair without a path.
	by func(src, dst int) int
}

// networkOf returns the network of a plan: single paths, paths of the schedule, or, under ecmp, the
// path that the seed draws for each pair. It keeps no table of pairs: beyond the plan it needs
// O(leaves · servers). It is safe for concurrent use.
func networkOf(p *plan.Plan, seed uint64) *network {
	if p.Over != nil {
		return &network{
			wires: p.Over.Wires(), tree: p.Tree, leaf: make([]int, p.Tree.Servers()), path: p.Over.Way, name: p.Over.WireName, over: p.Over,
		}
	}
	n := &network{wires: p.Tree.AllWires(), tree: p.Tree, leaf: p.Tree.LeafOfRanks()}
	n.name = func(w int) (string, string) { return n.tree.WireName(topology.Wire(w)) }
	n.by = pathsOf(p, n.leaf, seed)
	n.path = func(to []int32, src, dst int) []int32 {
		if n.leaf[src] == n.leaf[dst] {
			return n.through(to, src, dst, scheduler.None)
		}
		return n.through(to, src, dst, n.by(src, dst))
	}
	return n
}

// longest is how many wires a message crosses at most.
func (n *network) longest() (most int) {
	if n.over == nil {
		return 2 + len(n.tree.PathLinks(0, n.tree.Leaves()-1, 0))
	}
	for src, dst := range n.tree.Pairs {
		most = max(most, len(n.path(nil, src, dst)))
	}
	return most
}

// rate is how many times the link rate a wire has.
func (n *network) rate(wire int32) float64 {
	if n.over == nil {
		return 1
	}
	return n.over.Rate(int(wire))
}

func (n *network) through(to []int32, src, dst, by int) []int32 {
	if n.over != nil {
		return n.path(to, src, dst)
	}
	a, b := n.leaf[src], n.leaf[dst]
	if a != b && by < 0 {
		return to
	}
	to = append(to, int32(n.tree.FromServer(src)))
	if a != b {
		for _, w := range n.tree.Between(make([]topology.Wire, 0, 4), a, b, by) {
			to = append(to, int32(w))
		}
	}
	return append(to, int32(n.tree.ToServer(dst)))
}

func pathsOf(p *plan.Plan, leaf []int, seed uint64) func(src, dst int) int {
	switch {
	case p.Routing == plan.NoRouting:
		return func(int, int) int { return scheduler.None }
	case p.Routing == routing.ECMP:
		return func(src, dst int) int { return p.Tables.Hashed(seed, leaf[src], src, dst) }
	case p.Pinned():
		return p.Path
	}
	n := len(leaf)
	table := make([]int32, p.Tree.Leaves()*n)
	for l := range p.Tree.Leaves() {
		if p.Tree.On(l) == 0 {
			continue
		}
		for dst := range n {
			if leaf[dst] != l {
				table[l*n+dst] = int32(p.Path(p.Tree.First(l), dst))
			}
		}
	}
	return func(src, dst int) int { return int(table[leaf[src]*n+dst]) }
}
