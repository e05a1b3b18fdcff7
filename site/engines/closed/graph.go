// Package closed computes forwarding tables by closed forms: d-mod-k on whole parallel generalised
// fat trees (Dmodk), on degraded ones and on similar networks (Dmodc), and the form of quasi fat
// trees with and without faults (QFT).
//
// In all forms a path depends only on the destination, goes up to a nearest common ancestor and
// down. The package names switches by index and ports by number.
package closed

import (
	"cmp"
	"slices"

	"evbench/internal/parallel"
	"evbench/site/lft"
	"evbench/site/network"
)

// A dir is the direction of a cable from a switch, by rank.
type dir int8

const (
	downward dir = iota - 1
	sideways
	upward
)

// A group is all cables from one switch to another.
type group struct {
	peer  int32 // index of the other switch
	dir   dir
	ports []uint8 // ascending
}

// A graph is the switches of a network with their groups.
type graph struct {
	net    *network.Network
	rank   []int     // by switch; 1 is a leaf, 0 is out of reach
	groups [][]group // by switch, in the order of the peers' GUIDs
	ranks  [][]int32 // the switches of each rank
}

func newGraph(n *network.Network, rank []int) *graph {
	g := &graph{net: n, rank: rank[n.Hosts():], groups: make([][]group, n.Switches())}
	g.ranks = make([][]int32, slices.Max(append([]int{0}, g.rank...))+1)
	for s, r := range g.rank {
		g.ranks[r] = append(g.ranks[r], int32(s))
	}
	parallel.Each(0, n.Switches(), func(_, s int) { g.groups[s] = g.groupsOf(s) })
	return g
}

// groupsOf sorts the cables of a switch by GUID, peer and port, and cuts where the peer changes.
func (g *graph) groupsOf(s int) []group {
	type link struct {
		guid uint64
		peer int32
		port uint8
	}
	links := make([]link, 0, 64)
	for i, e := range g.net.Ends(g.net.Switch(s)) {
		if e.Node != network.NoNode && !g.net.IsHost(e.Node) && e.Node != g.net.Switch(s) {
			links = append(links, link{g.net.Info(e.Node).GUID, int32(g.net.Index(e.Node)), uint8(i + 1)})
		}
	}
	slices.SortFunc(links, func(a, b link) int {
		return cmp.Or(cmp.Compare(a.guid, b.guid), cmp.Compare(a.peer, b.peer), cmp.Compare(a.port, b.port))
	})
	ports := make([]uint8, len(links))
	out := make([]group, 0, len(links))
	for i, l := range links {
		ports[i] = l.port
		if last := len(out) - 1; last >= 0 && out[last].peer == l.peer {
			out[last].ports = ports[i-len(out[last].ports) : i+1]
			continue
		}
		out = append(out, group{l.peer, dir(cmp.Compare(g.rank[l.peer], g.rank[s])), ports[i : i+1]})
	}
	return out
}

// byHops ranks nodes by their distance: hosts 0, switches with hosts 1, and each
// other switch one more than its nearest neighbour (IEEE Micro 2020 §3.1). A
// switch that no host can reach has 0.
func byHops(n *network.Network) []int {
	var leaves []network.Node
	for h := range network.Node(n.Hosts()) {
		if leaf := n.Leaf(h).Node; leaf != network.NoNode && !n.IsHost(leaf) {
			leaves = append(leaves, leaf)
		}
	}
	rank := make([]int, n.Nodes())
	for s, d := range n.Distances(leaves...) {
		rank[n.Switch(s)] = d + 1
	}
	return rank
}

// A form gives the ports of one switch at a time.
type form interface {
	// at turns to a switch. It returns, by group, a bit for each leaf that the group is for.
	at(s int) [][]uint64
	// choose takes a set of groups. Their ports depend on k = ⌊destination/step⌋ alone, and repeat
	// after period steps; 0: never.
	choose(groups []int32) (step, period int)
	port(k int) uint8
}

// tables returns the routes to all LIDs, with a form for each worker. The x-th further LID of a
// host is routed as number d+x, so that a host's LIDs take different ports. Switches' own LIDs get
// some shortest up*/down* path if there is one.
func (g *graph) tables(engine string, h *hosts, newForm func() form) *lft.Tables {
	t := lft.New(engine, g.net)
	forms, scratch := make([]form, parallel.Workers(0)), make([][]uint8, parallel.Workers(0))
	for i := range forms {
		forms[i], scratch[i] = newForm(), make([]uint8, g.net.Hosts())
	}
	parallel.Each(len(forms), g.net.Switches(), func(worker, s int) {
		f := forms[worker]
		bits := f.at(s)
		h.row(t.Row(s), scratch[worker], func(dst []uint8, x int) {
			segments(bits, len(h.leaves), func(lo, hi int, groups []int32) {
				if len(groups) == 0 {
					return
				}
				step, period := f.choose(groups)
				h.spans(lo, hi, func(d0, d1 int) { fill(dst[d0:d1], d0+x, step, period, f.port) })
			})
			h.local(dst, s)
		})
	})
	g.toSwitches(t)
	return t
}

// fill writes the ports towards the destinations d0, d0+1, …, which depend on k = ⌊d/step⌋ alone
// and repeat after period steps (0: never). After one period it copies the rest, so the cost is
// that of the memory.
func fill(dst []uint8, d0, step, period int, port func(k int) uint8) {
	n := len(dst)
	if period > 0 && period <= n/step {
		n = step * period
	}
	k, left := d0/step, step-d0%step
	for i := 0; i < n; k++ {
		p, end := port(k), min(i+left, n)
		for ; i < end; i++ {
			dst[i] = p
		}
		left = step
	}
	for done := n; done < len(dst); {
		done += copy(dst[done:], dst[:done])
	}
}

// segments cuts 0..n-1 where the set of groups changes: bits[g] has a bit for each number that
// group g is chosen for. It calls visit for each piece with its groups, ascending; the slice is
// reused.
func segments(bits [][]uint64, n int, visit func(lo, hi int, groups []int32)) {
	var groups []int32
	lo := -1
	cut := func(at int) {
		if lo >= 0 {
			visit(lo, at, groups)
		}
		if lo, groups = at, groups[:0]; at == n {
			return
		}
		for g := range bits {
			if bits[g][at/64]>>(at%64)&1 != 0 {
				groups = append(groups, int32(g))
			}
		}
	}
	cut(0)
	for w := range (n + 63) / 64 {
		changes := uint64(0)
		for _, b := range bits {
			before := b[w] << 1
			if w > 0 {
				before |= b[w-1] >> 63
			}
			changes |= b[w] ^ before
		}
		eachBit(changes, func(i int) {
			if at := 64*w + i; at > 0 && at < n {
				cut(at)
			}
		})
	}
	if n > 0 {
		cut(n)
	}
}
