package closed

import (
	"cmp"
	"slices"

	"evbench/internal/lists"
	"evbench/site/network"
)

// numbers returns the hosts' numbers as Dmodc counts them: consecutive under a leaf, and leaves
// consecutive under the switches that join them, as the paper requires. In a network built from its
// notation, degraded or not, that is a host's index. In any other network leaves are sorted by
// their part when only switches to the highest rank but one are present, then by their part of that
// with one rank fewer, and so on. Parts are ordered by their first host, and hosts of a leaf by its
// ports. Hosts without a cable come last. O(ranks · cables).
func numbers(n *network.Network, g *graph) []int {
	number := make([]int, n.Hosts())
	if n.Notation != "" {
		for h := range number {
			number[h] = h
		}
		return number
	}
	order := lists.Make(n.Hosts(), func(h int) network.Node { return network.Node(h) })
	part := parts(n, g)
	slices.SortStableFunc(order, func(a, b network.Node) int { return compareHosts(n, part, a, b) })
	for d, h := range order {
		number[h] = d
	}
	return number
}

func compareHosts(n *network.Network, part [][]int32, a, b network.Node) int {
	la, lb := n.Leaf(a), n.Leaf(b)
	switch {
	case la.Node == network.NoNode || n.IsHost(la.Node) || lb.Node == network.NoNode || n.IsHost(lb.Node):
		return cmp.Compare(lost(n, la.Node), lost(n, lb.Node))
	case la.Node == lb.Node:
		return cmp.Compare(la.Port, lb.Port)
	}
	for r := len(part) - 1; r > 0; r-- {
		if c := cmp.Compare(part[r][n.Index(la.Node)], part[r][n.Index(lb.Node)]); c != 0 {
			return c
		}
	}
	return 0
}

func lost(n *network.Network, leaf network.Node) int {
	if leaf == network.NoNode || n.IsHost(leaf) {
		return 1
	}
	return 0
}

// parts returns, for each rank and switch, the first host of the switch's part of the network when
// only ranks up to that one are present. At rank 1 each switch is alone.
func parts(n *network.Network, g *graph) [][]int32 {
	root, first := make([]int32, n.Switches()), make([]int32, n.Switches())
	for s := range root {
		root[s], first[s] = int32(s), int32(n.Hosts())
		for _, e := range n.Ends(n.Switch(s)) {
			if e.Node != network.NoNode && n.IsHost(e.Node) {
				first[s] = min(first[s], int32(e.Node))
			}
		}
	}
	find := func(s int32) int32 {
		for root[s] != s {
			root[s] = root[root[s]]
			s = root[s]
		}
		return s
	}
	out := make([][]int32, max(2, len(g.ranks)))
	for r := 1; r < len(out); r++ {
		if r > 1 {
			for _, s := range g.ranks[r] {
				joinDown(g, s, find, root, first)
			}
		}
		out[r] = make([]int32, len(root))
		for s := range root {
			out[r][s] = first[find(int32(s))]
		}
	}
	return out
}

func joinDown(g *graph, s int32, find func(int32) int32, root, first []int32) {
	for _, group := range g.groups[s] {
		if a, b := find(s), find(group.peer); group.dir == downward && a != b {
			root[b] = a
			first[a] = min(first[a], first[b])
		}
	}
}
