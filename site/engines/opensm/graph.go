package opensm

import (
	"cmp"
	"errors"
	"slices"

	"evbench/internal/lists"
	"evbench/site/network"
)

// errNoHosts is the error for a network without destinations.
var errNoHosts = errors.New("no switch has a host with a LID")

// A graph is the visible part of a network. A vertex is a switch; vertices are numbered in OpenSM's
// order of switches, by GUID with its bytes reversed. A slot is a port of a vertex; slots of one
// vertex lie together, port 1 first.
type graph struct {
	net    *network.Network
	sw     []int32          // switch index of a vertex
	hosts  [][]network.Node // of a vertex, by port
	lids   []uint32         // of a vertex's hosts, and its own
	first  []int32          // slots of vertex v are first[v]..first[v+1]-1
	owner  []int32          // vertex of a slot
	to     []int32          // vertex that a slot's cable leads to, or none
	back   []int32          // slot at the other end
	weight []uint64         // of a cable, as crossed by the search: away from the destination
}

func newGraph(n *network.Network) (*graph, error) {
	seen := newView(n)
	g := &graph{net: n, sw: seen.order, first: make([]int32, len(seen.order)+1)}
	if len(g.sw) == 0 {
		return nil, errNoHosts
	}
	vertex := make([]int32, n.Switches())
	for v, s := range g.sw {
		vertex[s] = int32(v)
		g.first[v+1] = g.first[v] + int32(len(seen.peers(s)))
	}
	g.hosts, g.lids = make([][]network.Node, len(g.sw)), make([]uint32, len(g.sw))
	for v, s := range g.sw {
		g.hosts[v], g.lids[v] = seen.hosts[s], 1
		for _, h := range g.hosts[v] {
			g.lids[v] += 1 << n.Info(h).LMC
		}
		for p, t := range seen.peers(s) {
			to, back := int32(none), int32(0)
			if t != none {
				to = vertex[t]
				back = g.first[to] + int32(seen.back[int(seen.first[s])+p]) - 1
			}
			g.owner, g.to, g.back = append(g.owner, int32(v)), append(g.to, to), append(g.back, back)
		}
	}
	g.weight = make([]uint64, len(g.to))
	g.reset()
	return g, nil
}

// reset gives all cables the weight that makes any shorter route lighter than
// any longer one: the square of the number of LIDs.
func (g *graph) reset() {
	all := lists.Sum(g.lids, func(l uint32) uint64 { return uint64(l) })
	for i := range g.weight {
		g.weight[i] = all * all
	}
}

// loaded returns the vertices, those with most LIDs first.
func (g *graph) loaded() []int32 {
	list := lists.Tabulate(len(g.sw), func(v int) int32 { return int32(v) })
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(g.lids[b], g.lids[a]) })
	return list
}

func (g *graph) switchLID(v int32) int { return int(g.net.Info(g.net.Switch(int(g.sw[v]))).LID) }
