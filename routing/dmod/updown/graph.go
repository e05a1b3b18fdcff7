// Package updown is what the closed-form engines share: a network's switches
// ordered by rank, the sets of what each of them reaches by going up and then
// down, the routes towards switches themselves, and rows of a forwarding table
// filled as the repeating patterns that closed forms are.
//
// It chooses no route towards a host: engines do. Switches are meant by their
// index, ports by their number, and results do not depend on how many workers
// there are.
package updown

import (
	"cmp"
	"slices"

	"evbench/topology/network"
)

// A Dir is where a cable leads from a switch, by rank.
type Dir int8

const (
	Down Dir = iota - 1
	Level
	Up
)

// A Group is all cables from one switch to another.
type Group struct {
	Peer  int32 // index of the other switch
	Dir   Dir
	Ports []uint8 // ascending
}

// A Graph is the switches of a network with their groups.
type Graph struct {
	Net    *network.Network
	rank   []int     // by switch; 1 is a leaf, 0 is out of reach
	Groups [][]Group // by switch, in the order of the peers' GUIDs
	Ranks  [][]int32 // the switches of each rank
}

// New returns the graph of a network whose nodes have the ranks given.
func New(n *network.Network, rank []int, workers int) *Graph {
	g := &Graph{Net: n, rank: rank[n.Hosts():], Groups: make([][]Group, n.Switches())}
	g.Ranks = make([][]int32, slices.Max(append([]int{0}, g.rank...))+1)
	for s, r := range g.rank {
		g.Ranks[r] = append(g.Ranks[r], int32(s))
	}
	Each(workers, n.Switches(), func(_, s int) { g.Groups[s] = g.group(s) })
	return g
}

type link struct {
	guid uint64
	peer int32
	port uint8
}

// group sorts the cables of a switch by GUID, peer and port, and cuts where the
// peer changes.
func (g *Graph) group(s int) []Group {
	links := make([]link, 0, 64)
	for i, e := range g.Net.Ends(g.Net.Switch(s)) {
		if e.Node != network.NoNode && !g.Net.IsHost(e.Node) && e.Node != g.Net.Switch(s) {
			links = append(links, link{g.Net.Info(e.Node).GUID, int32(g.Net.Index(e.Node)), uint8(i + 1)})
		}
	}
	slices.SortFunc(links, func(a, b link) int {
		return cmp.Or(cmp.Compare(a.guid, b.guid), cmp.Compare(a.peer, b.peer), cmp.Compare(a.port, b.port))
	})
	ports := make([]uint8, len(links))
	out := make([]Group, 0, len(links))
	for i, l := range links {
		ports[i] = l.port
		if last := len(out) - 1; last >= 0 && out[last].Peer == l.peer {
			out[last].Ports = ports[i-len(out[last].Ports) : i+1]
			continue
		}
		out = append(out, Group{l.peer, Dir(cmp.Compare(g.rank[l.peer], g.rank[s])), ports[i : i+1]})
	}
	return out
}

// ByHops ranks nodes by their distance: hosts 0, switches with hosts 1, and each
// other switch one more than its nearest neighbour (IEEE Micro 2020 §3.1). A
// switch that no host can reach has 0.
func ByHops(n *network.Network) []int {
	rank := make([]int, n.Nodes())
	var queue []network.Node
	for h := range n.Hosts() {
		if leaf := n.Leaf(network.Node(h)).Node; leaf != network.NoNode && !n.IsHost(leaf) && rank[leaf] == 0 {
			rank[leaf] = 1
			queue = append(queue, leaf)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, e := range n.Ends(s) {
			if e.Node != network.NoNode && !n.IsHost(e.Node) && rank[e.Node] == 0 {
				rank[e.Node] = rank[s] + 1
				queue = append(queue, e.Node)
			}
		}
	}
	return rank
}
