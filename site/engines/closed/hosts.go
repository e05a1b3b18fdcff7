package closed

import (
	"cmp"
	"slices"

	"evbench/internal/lists"
	"evbench/site/lft"
	"evbench/site/network"
)

// hosts are the destinations by number, 0..n-1, as closed forms count them, and their places.
type hosts struct {
	node   []network.Node // by number
	leaves []int32        // switches with hosts, in the order of their hosts' numbers
	leafAt []int32        // by switch: its place in Leaves, or -1
	runs   []run          // of destinations, by leaf
	first  []int32        // runs of leaf i are runs[first[i]:first[i+1]]
	base   int            // LID of destination 0 where LIDs follow numbers, else -1
	copies int            // LIDs of the host that has most
	net    *network.Network
}

type run struct{ lo, hi int32 }

// newHosts returns the hosts of a network; number[h] is the number of host h, a permutation of
// 0..n-1.
func newHosts(n *network.Network, number []int) *hosts {
	h := &hosts{node: make([]network.Node, n.Hosts()), leafAt: slices.Repeat([]int32{-1}, n.Switches()), net: n}
	for v, d := range number {
		h.node[d] = network.Node(v)
	}
	h.runsByLeaf()
	h.lids()
	return h
}

func (h *hosts) runsByLeaf() {
	var runs [][]run
	for d, v := range h.node {
		e := h.net.Leaf(v)
		if e.Node == network.NoNode || h.net.IsHost(e.Node) {
			continue
		}
		s := h.net.Index(e.Node)
		if h.leafAt[s] < 0 {
			h.leafAt[s] = int32(len(h.leaves))
			h.leaves = append(h.leaves, int32(s))
			runs = append(runs, nil)
		}
		own := &runs[h.leafAt[s]]
		if last := len(*own) - 1; last >= 0 && (*own)[last].hi == int32(d) {
			(*own)[last].hi++
		} else {
			*own = append(*own, run{int32(d), int32(d + 1)})
		}
	}
	h.first = make([]int32, len(runs)+1)
	for i, r := range runs {
		h.runs = append(h.runs, r...)
		h.first[i+1] = int32(len(h.runs))
	}
}

func (h *hosts) lids() {
	h.base, h.copies = -1, 1
	follow := true
	for d, v := range h.node {
		i := h.net.Info(v)
		h.copies = max(h.copies, 1<<i.LMC)
		follow = follow && i.LID > 0 && int(i.LID) == int(h.net.Info(h.node[0]).LID)+d
	}
	if follow && h.copies == 1 && len(h.node) > 0 {
		h.base = int(h.net.Info(h.node[0]).LID)
	}
}

// spans calls visit for the destinations d0..d1-1 of the leaves lo..hi-1, joined
// where they follow each other.
func (h *hosts) spans(lo, hi int, visit func(d0, d1 int)) {
	var now run
	for _, r := range h.runs[h.first[lo]:h.first[hi]] {
		if r.lo == now.hi {
			now.hi = r.hi
			continue
		}
		if now.hi > now.lo {
			visit(int(now.lo), int(now.hi))
		}
		now = r
	}
	if now.hi > now.lo {
		visit(int(now.lo), int(now.hi))
	}
}

// row writes the entries of all hosts' LIDs to a switch's row. fill gets a slice by destination and
// the offset x of the LIDs: the x-th LID of a host. Entries that fill skips stay NoPort. Scratch
// has one byte for each host.
func (h *hosts) row(row, scratch []uint8, fill func(dst []uint8, x int)) {
	if h.base >= 0 {
		fill(row[h.base:h.base+len(h.node)], 0)
		return
	}
	for x := range h.copies {
		for i := range scratch {
			scratch[i] = lft.NoPort
		}
		fill(scratch, x)
		for d, v := range h.node {
			if i := h.net.Info(v); i.LID > 0 && x < 1<<i.LMC {
				row[int(i.LID)+x] = scratch[d]
			}
		}
	}
}

func (h *hosts) local(dst []uint8, s int) {
	if h.leafAt[s] < 0 {
		return
	}
	at := int(h.leafAt[s])
	h.spans(at, at+1, func(d0, d1 int) {
		for d := d0; d < d1; d++ {
			dst[d] = h.net.Leaf(h.node[d]).Port
		}
	})
}

// numbers returns the hosts' numbers as Dmodc counts them: consecutive under a leaf, and leaves
// consecutive under the switches that join them, as the paper requires. In a network built from its
// notation, degraded or not, that is a host's index. In any other network leaves are sorted by
// their part when only switches to the highest rank but one are present, then by their part of that
// with one rank fewer, and so on. Parts are ordered by their first host, and hosts of a leaf by its
// ports. Hosts without a cable come last. O(ranks · cables).
func numbers(n *network.Network, g *graph) []int {
	number := lists.Range[int](n.Hosts())
	if n.Notation != "" {
		return number
	}
	order := lists.Range[network.Node](n.Hosts())
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
		out[r] = lists.Tabulate(len(root), func(s int) int32 { return first[find(int32(s))] })
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
