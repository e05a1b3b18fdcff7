package closed

import (
	"fmt"

	"evbench/site/lft"
	"evbench/site/network"
)

// Options say how Dmodc works. The zero value is the paper's algorithm.
type Options struct {
	// Ranks are the levels of all nodes, hosts 0, leaves 1, and so on. nil is the
	// distance from the nearest switch with hosts.
	Ranks []int
	// DownCost keeps routes from going up again once they went down (§3.4), which
	// matters in networks that are not PGFTs.
	DownCost bool
	// Partial leaves pairs of leaves without a path unrouted. Otherwise they are an error.
	Partial bool
}

// A router knows the costs and dividers of a network, which determine every route.
type router struct {
	net     *network.Network
	opt     Options
	graph   *graph
	hosts   *hosts
	cost    costs // c: hops to each leaf, up and then down
	down    costs // hops going down only; of DownCost
	divider []int // Π
}

// Dmodc returns the routes of a fat tree, degraded or not (Gliksberg et al., IEEE Micro 2020 §3).
// On a whole PGFT they equal the routes of Dmodk. The error names a pair of leaves that no
// up*/down* path joins, if any.
//
// Where a PGFT, degraded or not, passes the check, every host reaches every other on a shortest
// up*/down* path. In other networks costs still fall with every hop, so there is no loop. DownCost
// keeps to up*/down* paths.
//
// Costs are one byte a switch and leaf, O(cables · leaves) to compute, eight at a
// time; routes are filled leaf by leaf in patterns, O(switches · hosts) bytes.
func Dmodc(n *network.Network, o Options) (*lft.Tables, error) {
	r, err := newRouter(n, o)
	if err != nil {
		return nil, err
	}
	return r.tables(), nil
}

func (r *router) tables() *lft.Tables {
	return r.graph.tables("dmodc", r.hosts, func() form { return &costRow{router: r} })
}

// newRouter ranks a network, computes costs and dividers (Procedure 1) and checks that
// they are valid (§4.1).
func newRouter(n *network.Network, o Options) (*router, error) {
	r := &router{net: n, opt: o}
	if r.opt.Ranks == nil {
		r.opt.Ranks = byHops(n)
	}
	if err := r.checkRanks(); err != nil {
		return nil, err
	}
	r.graph = newGraph(n, r.opt.Ranks)
	r.hosts = newHosts(n, numbers(n, r.graph))
	r.costs()
	r.dividers()
	if pairs, a, b := r.parted(); pairs > 0 && !o.Partial {
		return nil, fmt.Errorf("dmodc: no path up and then down joins leaves %s and %s, nor %d other pairs of the %d leaves",
			n.Info(a).Name, n.Info(b).Name, pairs-1, len(r.hosts.leaves))
	}
	return r, nil
}

// maxRank keeps costs, at most two ways through all ranks, below infinite.
const maxRank = infinite/2 - 1

func (r *router) checkRanks() error {
	for v, rank := range r.opt.Ranks {
		if rank < 0 || rank > maxRank {
			return fmt.Errorf("dmodc: %s has rank %d: ranks are 0..%d", r.net.Info(network.Node(v)).Name, rank, maxRank)
		}
	}
	return nil
}

// parted counts the pairs of leaves that no up*/down* path joins, and names the
// first (§4.1).
func (r *router) parted() (pairs int, a, b network.Node) {
	a, b = network.NoNode, network.NoNode
	for i, s := range r.hosts.leaves {
		for j := i + 1; j < len(r.hosts.leaves); j++ {
			if r.cost.at(int(s), j) < infinite {
				continue
			}
			if pairs++; pairs == 1 {
				a, b = r.net.Switch(int(s)), r.net.Switch(int(r.hosts.leaves[j]))
			}
		}
	}
	return pairs, a, b
}
