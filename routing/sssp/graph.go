// Package sssp computes forwarding tables by single-source shortest paths over
// cables that grow heavier with every route they carry, as Hoefler, Schneider
// and Lumsdaine ("Optimized Routing for Large-Scale InfiniBand Networks", 2009)
// and Domke, Hoefler and Nagel ("Deadlock-Free Oblivious Routing for Arbitrary
// Topologies", 2011) describe it: engines sssp, dfsssp, which moves routes to
// virtual lanes until none can deadlock, and sar, which looks at the jobs that
// run (Domke and Hoefler, "Scheduling-Aware Routing for Supercomputers").
//
// Tables and lanes are those of OpenSM 3.3.23, from what its source file
// osm_ucast_dfsssp.c does, including how it decides between equals. As a subnet
// manager would, an engine sees the largest connected part of a network, counted
// in hosts; nothing outside has entries.
package sssp

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"

	"evbench/topology/network"
)

// errNoHosts is returned for a network that has nothing to route to.
var errNoHosts = errors.New("no switch has a host with a LID")

const none = -1

// A graph is the part of a network that is seen. A vertex is a switch; vertices
// are numbered as OpenSM goes through switches, by GUID with its bytes reversed.
// A slot is a port of a vertex; slots of one vertex lie together, port 1 first.
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
	g := &graph{net: n, sw: largest(n)}
	if len(g.sw) == 0 {
		return nil, errNoHosts
	}
	guid := func(s int32) uint64 { return bits.ReverseBytes64(n.Info(n.Switch(int(s))).GUID) }
	slices.SortFunc(g.sw, func(a, b int32) int { return cmp.Compare(guid(a), guid(b)) })
	vertex := make([]int32, n.Switches())
	g.first = make([]int32, len(g.sw)+1)
	for v, s := range g.sw {
		vertex[s] = int32(v)
		g.first[v+1] = g.first[v] + int32(len(n.Ends(n.Switch(int(s)))))
	}
	g.cables(vertex)
	g.reset()
	return g, nil
}

// cables fills slots, hosts and lids.
func (g *graph) cables(vertex []int32) {
	slots := g.first[len(g.sw)]
	g.owner, g.to, g.back = make([]int32, slots), make([]int32, slots), make([]int32, slots)
	g.weight = make([]uint64, slots)
	g.hosts, g.lids = make([][]network.Node, len(g.sw)), make([]uint32, len(g.sw))
	for v, i := range g.sw {
		g.lids[v] = 1
		s := g.net.Switch(int(i))
		for p, e := range g.net.Ends(s) {
			slot := g.first[v] + int32(p)
			g.owner[slot], g.to[slot] = int32(v), none
			switch {
			case e.Node == network.NoNode || e.Node == s:
			case !g.net.IsHost(e.Node):
				w := vertex[g.net.Index(e.Node)]
				g.to[slot], g.back[slot] = w, g.first[w]+int32(e.Port)-1
			case g.net.Info(e.Node).LID != 0:
				g.hosts[v] = append(g.hosts[v], e.Node)
				g.lids[v] += 1 << g.net.Info(e.Node).LMC
			}
		}
	}
}

// reset gives all cables the weight that makes any shorter route lighter than
// any longer one: the square of the number of LIDs.
func (g *graph) reset() {
	all := uint64(0)
	for _, l := range g.lids {
		all += uint64(l)
	}
	for i := range g.weight {
		g.weight[i] = all * all
	}
}

// loaded returns the vertices, those with most LIDs first.
func (g *graph) loaded() []int32 {
	list := make([]int32, len(g.sw))
	for v := range list {
		list[v] = int32(v)
	}
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(g.lids[b], g.lids[a]) })
	return list
}

func (g *graph) switchLID(v int32) int { return int(g.net.Info(g.net.Switch(int(g.sw[v]))).LID) }

// largest returns the switches of the part with most hosts, the first of equals.
func largest(n *network.Network) (best []int32) {
	most := 0
	for _, part := range n.SwitchParts() {
		hosts, switches := 0, make([]int32, len(part))
		for k, i := range part {
			switches[k] = int32(i)
			for _, e := range n.Ends(n.Switch(i)) {
				if e.Node != network.NoNode && n.IsHost(e.Node) && n.Info(e.Node).LID != 0 {
					hosts++
				}
			}
		}
		if hosts > most {
			best, most = switches, hosts
		}
	}
	return best
}
