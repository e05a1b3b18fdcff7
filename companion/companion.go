// Package companion installs a plan's routes and keeps them installed: it computes the routes of
// every node, has a Target install them, reads them back, compares, and repeats that after every
// link event.
//
// It never decides a route; package routing and the plan do. Route sets, their differences and
// their text are plain data and pure functions; only a Target touches a network.
package companion

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"evbench/failover"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/routing"
	"evbench/topology"
)

// A Node is a dense ID: a switch has its number in topology.Tree (leaf l is l, spine k is Leaves +
// k), and the server of rank r is Switches + r.
type Node int

// A Port is a port of a node: on a switch numbered as in topology.Tree; a server has one, port 0.
type Port = routing.Port

// A Route names the ports through which packets to a prefix leave a node. Several ports share the
// flows, or, with Spray, the packets.
type Route struct {
	Prefix netip.Prefix
	Via    []Port // rising
	Spray  bool   // each packet takes a random one of several ports
	// Source is the address that a server gives to its packets if the sender has not chosen one;
	// the zero Addr leaves it to the node.
	Source netip.Addr
}

// A Table is all routes of one node, sorted by prefix.
type Table struct {
	Node   Node
	Routes []Route
}

// Routes are the tables of several nodes, sorted by node.
type Routes []Table

// Addresses is the address plan of a fabric. A path is one of topology.Tree.PathOf, or -1 for the
// addresses that leave the choice to routing tables.
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
	// Apply makes every node in want hold exactly its routes there, and returns how many routes it
	// has written or deleted. It reads a node before it writes, and does not rely on remembered
	// state.
	Apply(ctx context.Context, want Routes) (changed int, err error)
	// Write makes edits, without reading first, and returns how many routes it has written or
	// deleted. The edits are independent: an error in one prevents its own deletions, but no other
	// edits. Deleting a missing route is no error: the kernel may have deleted it.
	Write(ctx context.Context, edits []Edit) (changed int, err error)
	// Read returns the routes by which the nodes forward, without hops that a node knows to be
	// dead.
	Read(ctx context.Context, nodes []Node) (Routes, error)
	// Watch sends the state of both ends of every link between switches and then each change, until
	// ctx ends. When it returns, its goroutines have ended.
	Watch(ctx context.Context, events chan<- failover.LinkEvent) error
}

func (r Routes) nodes() []Node { return lists.Map(r, func(t Table) Node { return t.Node }) }

func (r Routes) of(nodes []Node) Routes {
	return lists.Filter(r, func(t Table) bool { return slices.Contains(nodes, t.Node) })
}

// NodeName returns the name of a node: leaf0, spine3, server17; of three levels also pod1-spine3
// and spine3-top0.
func NodeName(t *topology.Live, n Node) string {
	if r := int(n) - t.Switches(); r >= 0 {
		return t.ServerName(r)
	}
	return t.SwitchName(int(n))
}

// PeerName returns the name of the node behind a port, for parallel cables with a number: spine3-1.
func PeerName(t *topology.Live, n Node, p Port) string {
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

// Install installs the routes of a plan, reads them back and compares. It returns how many routes
// it has changed; the first difference is an error.
func Install(ctx context.Context, target Target, p *plan.Plan, a Addresses) (changed int, err error) {
	want, err := Compute(p, a)
	if err != nil {
		return 0, err
	}
	return install(ctx, target, &p.Tree.Live, want)
}

func install(ctx context.Context, target Target, t *topology.Live, want Routes) (int, error) {
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
