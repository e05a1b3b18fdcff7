// Package companion puts a plan's routes in place and keeps them there: it computes
// what every node has to hold, has a Target install it, reads it back, compares, and
// repeats that after every link event.
//
// It never decides a route; package routing and the plan do. What a route set
// is, how two of them differ and what they look like on paper are plain data
// and pure functions; only a Target touches a network.
package companion

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"evbench/failover"
	"evbench/plan"
	"evbench/routing"
	"evbench/topology"
)

// A Node is a dense ID: a switch has the number that topology.Tree gives it (leaf
// l is l, spine k is Leaves + k), and the server of rank r is Switches + r.
type Node int

// A Port is a port of a node: on a switch as topology.Tree counts them; a
// server has one, port 0.
type Port = routing.Port

// A Route says through which ports packets to a prefix leave a node. Several
// ports share the flows, or, with Spray, the packets.
type Route struct {
	Prefix netip.Prefix
	Via    []Port // rising
	Spray  bool   // each packet takes one of several ports at random
	// Source is the address that a server gives to its packets when the sender
	// has not chosen one; the zero Addr leaves it to the node.
	Source netip.Addr
}

// A Table is everything that one node holds, sorted by prefix.
type Table struct {
	Node   Node
	Routes []Route
}

// Routes are the tables of several nodes, sorted by node.
type Routes []Table

// Addresses is the address plan of a fabric. A path is one of topology.Tree.PathOf,
// or -1 for the addresses that leave the choice to routing tables.
type Addresses interface {
	// Server is the address of the server of a rank on a path.
	Server(rank, path int) netip.Addr
	// Leaf holds the addresses of all servers of a leaf on a path.
	Leaf(leaf, path int) netip.Prefix
	// Path holds all addresses on a path.
	Path(path int) netip.Prefix
}

// Single is the path that routing tables decide on.
const Single = -1

// A Target is a fabric whose routes can be set.
type Target interface {
	// Apply makes every node that want names hold exactly the routes given for
	// it, and returns how many routes it has written or deleted. It reads what
	// a node holds before it writes, and trusts no memory of its own.
	Apply(ctx context.Context, want Routes) (changed int, err error)
	// Write makes edits, without reading first, and returns how many routes it has
	// written or deleted. The edits are independent: an error in one does not keep
	// the others from being made, but its own deletions. To delete a route that is
	// not there is no error: the kernel was first.
	Write(ctx context.Context, edits []Edit) (changed int, err error)
	// Read returns what the nodes would forward by: hops that a node holds but
	// knows to be dead are left out.
	Read(ctx context.Context, nodes []Node) (Routes, error)
	// Watch sends the state of both ends of every link between switches and then each
	// change, until ctx ends. When it returns, nothing of it runs any more.
	Watch(ctx context.Context, events chan<- failover.LinkEvent) error
}

func (r Routes) nodes() []Node {
	out := make([]Node, len(r))
	for i, t := range r {
		out[i] = t.Node
	}
	return out
}

func (r Routes) of(nodes []Node) Routes {
	out := make(Routes, 0, len(nodes))
	for _, t := range r {
		if slices.Contains(nodes, t.Node) {
			out = append(out, t)
		}
	}
	return out
}

// NodeName returns the name of a node: leaf0, spine3, server17; of three levels
// pod1-spine3 and spine3-top0, too.
func NodeName(t *topology.Tree, n Node) string {
	if r := int(n) - t.Switches(); r >= 0 {
		return t.ServerName(r)
	}
	return t.SwitchName(int(n))
}

// PeerName returns the name of the node behind a port, of parallel cables with the number: spine3-1.
func PeerName(t *topology.Tree, n Node, p Port) string {
	if r := int(n) - t.Switches(); r >= 0 {
		return t.SwitchName(t.Leaf(r))
	}
	l, upper, ok := t.LinkAt(int(n), int(p))
	low, high := t.Ends(l)
	switch {
	case !ok:
		return fmt.Sprintf("server%d", int(n)*t.Ports()+int(p))
	case upper:
		return t.SwitchName(low.Switch) + numbered(l)
	}
	return t.SwitchName(high.Switch) + numbered(l)
}

func numbered(l topology.Link) string {
	if l.Cable == 0 {
		return ""
	}
	return fmt.Sprintf("-%d", l.Cable-1)
}

// Install puts the routes of a plan in place, reads them back and compares. It
// returns how many routes it has changed; the first difference is an error.
func Install(ctx context.Context, target Target, p *plan.Plan, a Addresses) (changed int, err error) {
	want, err := Compute(p, a)
	if err != nil {
		return 0, err
	}
	return install(ctx, target, p.Tree, want)
}

func install(ctx context.Context, target Target, t *topology.Tree, want Routes) (int, error) {
	changed, err := target.Apply(ctx, want)
	if err != nil {
		return changed, fmt.Errorf("install routes: %w", err)
	}
	have, err := target.Read(ctx, want.nodes())
	if err != nil {
		return changed, fmt.Errorf("read routes back: %w", err)
	}
	if diff := compare(have, want); len(diff) > 0 {
		return changed, fmt.Errorf("routes read back differ in %d places, first %s", len(diff), diff[0].Describe(t))
	}
	return changed, nil
}
