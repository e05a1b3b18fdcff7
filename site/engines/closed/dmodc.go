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

type costRow struct {
	*router
	s      int
	bits   [][]uint64 // by group: the leaves to which it is closer
	memory []uint64
	up     []uint64 // costs for groups up, of DownCost
	chosen []group  // C
}

// at finds which groups are closer to which leaves (equation 1).
func (o *costRow) at(s int) [][]uint64 {
	o.s, o.up = s, o.up[:0]
	groups := o.graph.groups[s]
	words := (len(o.hosts.leaves) + 63) / 64
	if need := words * len(groups); cap(o.memory) < need {
		o.memory = make([]uint64, need)
	}
	o.memory = o.memory[:words*len(groups)]
	clear(o.memory)
	o.bits = o.bits[:0]
	for i, g := range groups {
		bits := o.memory[i*words : (i+1)*words]
		o.bits = append(o.bits, bits)
		if near := o.near(g); near != nil {
			closer(bits, near, o.own(g))
		}
	}
	return o.bits
}

// own returns the costs that a group must undercut: the switch's costs, but with DownCost none on
// the way up where there is a way down.
func (o *costRow) own(g group) []uint64 {
	r := o.router
	cost := r.cost.row(o.s)
	if !r.opt.DownCost || g.dir != upward {
		return cost
	}
	if len(o.up) == 0 {
		for i, x := range r.down.row(o.s) {
			o.up = append(o.up, choose(less(x, infinite*eight), 0, cost[i]))
		}
	}
	return o.up
}

// near returns the costs that a group offers, nil where it must not be taken.
func (r *router) near(g group) []uint64 {
	switch {
	case !r.opt.DownCost || g.dir == upward:
		return r.cost.row(int(g.peer))
	case g.dir == downward:
		return r.down.row(int(g.peer))
	}
	return nil
}

// closer sets the bits of the leaves for which near is less than own.
func closer(bits, near, own []uint64) {
	near = near[:len(own)]
	for i, x := range own {
		byByte := less(near[i], x) >> 7
		bits[i/8] |= byByte * 0x0102040810204080 >> 56 << (i % 8 * 8)
	}
}

func (o *costRow) choose(groups []int32) (step, period int) {
	o.chosen = o.chosen[:0]
	for _, g := range groups {
		o.chosen = append(o.chosen, o.graph.groups[o.s][g])
	}
	return o.divider[o.s], periodOf(o.chosen)
}

// port is equations 3 and 4, k being ⌊d/Π⌋.
func (o *costRow) port(k int) uint8 {
	ports := o.chosen[k%len(o.chosen)].ports
	if len(ports) == 1 {
		return ports[0]
	}
	return ports[k/len(o.chosen)%len(ports)]
}

// periodOf returns the number of steps after which the ports repeat, 0 if too many.
func periodOf(groups []group) int {
	const most = 1 << 16
	lcm := 1
	for _, g := range groups {
		if lcm%len(g.ports) != 0 {
			lcm *= len(g.ports) / gcd(lcm, len(g.ports))
		}
		if lcm > most {
			return 0
		}
	}
	return lcm * len(groups)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
