package companion

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"evbench/plan"
	"evbench/routing"
	"evbench/topology"
)

// Compute returns the routes of every node for both kinds of address: those of a path take that
// path, those of the single path follow the plan's tables. A link that is dead in the plan's tree
// appears in no route. So a spine that has lost its link to one of two leaves has no path between
// them, and a switch before the missing link tells the sender ("unreachable"). O(switches ·
// (servers + leaves · paths)).
func Compute(p *plan.Plan, a Addresses) (Routes, error) {
	out, err := switches(p, a)
	if err != nil {
		return nil, err
	}
	c := computer{p.Tree, p.Tables, a}
	for r := range p.Tree.Servers() {
		out = append(out, table(len(out), c.server(r)))
	}
	return out, nil
}

// ErrAdaptive refuses to install routes of plans with routing adaptive.
var ErrAdaptive = errors.New("routing adaptive: its switches route by free credit, which routes cannot express; take ecmp or another routing")

// switches is the part of Compute that depends on dead links.
func switches(p *plan.Plan, a Addresses) (Routes, error) {
	if p.Routing == routing.Adaptive {
		return nil, ErrAdaptive
	}
	if p.Tables == nil {
		return nil, fmt.Errorf("plan with routing %q: it has no tables to install", p.Routing)
	}
	c := computer{p.Tree, p.Tables, a}
	out := make(Routes, 0, p.Tree.Switches()+p.Tree.Servers())
	for l := range p.Tree.Leaves() {
		out = append(out, table(len(out), c.leaf(l)))
	}
	for sw := p.Tree.Leaves(); sw < p.Tree.Switches(); sw++ {
		out = append(out, table(len(out), c.above(sw)))
	}
	return out, nil
}

func table(n int, routes []Route) Table {
	sortRoutes(routes)
	return Table{Node(n), routes}
}

type computer struct {
	tree   *topology.Tree
	tables *routing.Tables
	addr   Addresses
}

// leaf returns one route per own server and path, one per path that begins with a live link, and
// one per server elsewhere for the single path; if packets are sprayed, one per leaf.
func (c computer) leaf(l int) []Route {
	var out []Route
	for path := range c.tree.Paths() {
		for slot := range c.tree.ServersOn(l) {
			out = append(out, c.host(c.tree.First(l)+slot, path, Port(slot)))
		}
		if port, ok := upwards(&c.tree.Live, l, path); ok {
			out = append(out, Route{Prefix: c.addr.Path(path), Via: []Port{port}})
		}
	}
	for dst := range c.tree.Servers() {
		ports := c.tables.Ports(routing.Switch(l), dst)
		other := c.tree.Leaf(dst)
		switch {
		case len(ports) == 0:
		case c.tables.Engine != routing.Spray || other == l:
			out = append(out, c.host(dst, Single, ports...))
		case dst == c.tree.First(other):
			out = append(out, Route{Prefix: c.addr.Leaf(other, Single), Via: ports, Spray: len(ports) > 1})
		}
	}
	return out
}

// upwards returns the port through which a path leaves a leaf, if its cable is alive.
func upwards(t *topology.Live, leaf, path int) (Port, bool) {
	l := t.FirstLink(leaf, path)
	low, _ := t.Ends(l)
	return Port(low.Port), t.LinkAlive(l)
}

// above returns two routes per leaf that a switch above leaves reaches on each of its paths. If the
// tables route the servers of a leaf differently, the second is replaced by one per server.
func (c computer) above(sw int) []Route {
	var out []Route
	for l := range c.tree.Leaves() {
		for path := range c.tree.Paths() {
			if port, ok := c.tree.Onward(sw, l, path); ok {
				out = append(out, Route{Prefix: c.addr.Leaf(l, path), Via: []Port{Port(port)}})
			}
		}
		out = append(out, c.singlePath(sw, l)...)
	}
	return out
}

func (c computer) singlePath(sw, l int) []Route {
	var hosts []Route
	same := c.tree.ServersOn(l) > 0
	for dst := c.tree.First(l); dst < c.tree.First(l+1); dst++ {
		ports := c.tables.Ports(routing.Switch(sw), dst)
		if len(ports) > 0 {
			hosts = append(hosts, c.host(dst, Single, ports...))
		}
		same = same && len(ports) > 0 && slices.Equal(ports, hosts[0].Via)
	}
	if same {
		spray := c.tables.Engine == routing.Spray && len(hosts[0].Via) > 1
		return []Route{{Prefix: c.addr.Leaf(l, Single), Via: hosts[0].Via, Spray: spray}}
	}
	return hosts
}

// server returns the default route, and one per path only to make a packet to an address of a path
// leave from such an address: answers take the same cables.
func (c computer) server(rank int) []Route {
	out := []Route{{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: []Port{0}, Source: c.addr.Server(rank, Single)}}
	for path := range c.tree.Paths() {
		out = append(out, Route{Prefix: c.addr.Path(path), Via: []Port{0}, Source: c.addr.Server(rank, c.tree.Back(path))})
	}
	return out
}

func (c computer) host(rank, path int, via ...Port) Route {
	return Route{Prefix: netip.PrefixFrom(c.addr.Server(rank, path), 32), Via: via}
}

func sortRoutes(routes []Route) { slices.SortFunc(routes, CompareRoutes) }

func CompareRoutes(a, b Route) int {
	return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), a.Prefix.Bits()-b.Prefix.Bits())
}
