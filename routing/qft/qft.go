// Package qft routes quasi fat trees, and fat trees, whole or with cables and
// switches missing, by closed forms (Zahavi, Keslassy, Kolodny: Quasi Fat Trees
// for HPC Clouds and their Fault-Resilient Closed-Form Routing, HOTI 2014).
//
// A closed form gives every switch a port for every destination. Where that port
// does not lead there any more, another that does is taken, and nothing else
// changes: a fault is felt only where paths went through it.
package qft

import (
	"fmt"

	"evbench/routing/dmod/updown"
	"evbench/routing/lft"
	"evbench/topology/network"
)

// A Shape are the numbers of a QFT or PGFT(h; m1..mh; w1..wh; p1..ph). Nodes are
// numbered as by fabric.PGFT: number s1 + w1·(s2 + w2·(…)) of level l has the
// digits s1..sl of radix w and s_{l+1}..sh of radix m.
type Shape struct{ M, W, P []int }

// QFT returns the routes of a quasi fat tree that may have lost cables and
// switches. At most one level may have p > 1.
//
// Without faults the ports are those of equations 13 to 18, but at a top level
// with p > 1, where equation 18 gives all destinations of a cable the same port;
// there we go down through the switch that the destination's own subtree goes up
// through, which is what §IV.C asks for. With as many cables up as down at each
// level, and w_{l+2} a multiple of p_l, no cable has two paths of a shift
// permutation.
//
// With faults it is Algorithm 1 made complete: that removes a port from a choice
// for what is missing one level up and down from it; here a port also goes when
// all that is farther on is missing. So a host reaches another exactly if some
// path up and then down joins them, and does so with the fewest steps up. Instead
// of drawing a random port, those that are left take turns.
//
// The x-th further LID of a host is routed as host d+x. O(cables · leaves / 64)
// and O(switches · hosts) bytes, mostly copied.
func QFT(q Shape, n *network.Network) (*lft.Tables, error) { return route(q, n, true) }

// FatTree is the same for a PGFT, whose p cables join the same two switches (§V.A;
// equation 16 and the up-ports of d-mod-k).
func FatTree(g Shape, n *network.Network) (*lft.Tables, error) { return route(g, n, false) }

func route(q Shape, n *network.Network, quasi bool) (*lft.Tables, error) {
	if err := q.check(quasi); err != nil {
		return nil, fmt.Errorf("qft: %w", err)
	}
	r := &router{tree: newTree(q, quasi, n)}
	if err := r.tree.fits(); err != nil {
		return nil, fmt.Errorf("qft: %w", err)
	}
	number, rank := make([]int, n.Hosts()), make([]int, n.Nodes())
	for d := range number {
		number[d] = d
	}
	for s := range n.Switches() {
		rank[n.Switch(s)] = r.tree.level(s)
	}
	r.graph = updown.New(n, rank, 0)
	if err := single(r.graph); quasi && err != nil {
		return nil, fmt.Errorf("qft: %w", err)
	}
	r.hosts = updown.NewHosts(n, number)
	r.layers = r.graph.Reach(r.hosts.LeafAt, len(r.hosts.Leaves), 0)
	return r.tables(), nil
}

// check refuses what has no closed form.
func (q Shape) check(quasi bool) error {
	h := len(q.M)
	if h < 1 || len(q.W) != h || len(q.P) != h {
		return fmt.Errorf("%d, %d and %d numbers in m, w and p: must be one for each level", h, len(q.W), len(q.P))
	}
	crossed, hosts := 0, 1
	for i := range h {
		if q.M[i] < 1 || q.W[i] < 1 || q.P[i] < 1 || max(q.M[i], q.W[i], q.P[i]) > 254 {
			return fmt.Errorf("level %d: m = %d, w = %d, p = %d: must be 1..254", i+1, q.M[i], q.W[i], q.P[i])
		}
		if q.P[i] > 1 {
			crossed++
		}
		if hosts *= q.M[i]; hosts > 1<<16 {
			return fmt.Errorf("more than %d hosts", 1<<16)
		}
	}
	if q.W[0] != 1 || q.P[0] != 1 {
		return fmt.Errorf("w1 = %d and p1 = %d: a host has one cable, so both must be 1", q.W[0], q.P[0])
	}
	if quasi && crossed > 1 {
		return fmt.Errorf("%d levels with p > 1: the closed form is for one", crossed)
	}
	return nil
}

// single refuses parallel cables, which a quasi fat tree does not have.
func single(g *updown.Graph) error {
	for s, groups := range g.Groups {
		for _, group := range groups {
			if count := len(group.Ports); count > 1 {
				a, b := g.Net.Info(g.Net.Switch(s)), g.Net.Info(g.Net.Switch(int(group.Peer)))
				return fmt.Errorf("%d cables join %s and %s, which a quasi fat tree joins by one", count, a.Name, b.Name)
			}
		}
	}
	return nil
}
