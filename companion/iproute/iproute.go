// Package iproute writes the routes of a plan as files for "ip -batch", one for
// each Linux switch and each server of an Ethernet fabric, and the address plan.
// It runs nothing: how the files reach the switches is up to others.
//
// The address of a server chooses the path, as a LID does on InfiniBand: each
// server has one for each spine and one for the single path of routing tables,
// 10.<spine>.<leaf>.<slot+1> and 10.200.<leaf>.<slot+1>, as in the lab. The
// switches are joined by addresses of their own, two for each cable from
// 172.16.0.0/12 upwards, and every leaf is 169.254.0.1 to each of its servers. An
// interface is called by what it leads to: spine3 and server17 on a leaf, leaf0
// on a spine and on a server.
package iproute

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/plan"
	"evbench/routing/twolevel"
	"evbench/topology"
)

// protocol marks routes as ours, so that others can be told apart: "ip route
// show proto 201".
const protocol = 201

// Limits of the addresses.
const (
	maxLeaves = 256
	maxSpines = 200
)

// A Batch is what each node has to hold.
type Batch struct {
	plan   *plan.Plan
	tree   *topology.Tree
	addr   lab.Addresses
	routes companion.Routes
}

// New returns the files of a plan.
func New(p *plan.Plan) (*Batch, error) {
	t := p.Tree
	switch {
	case p.Pods != nil:
		return nil, fmt.Errorf("%s: addresses are planned for trees of two levels", p.Notation())
	case t.Leaves() > maxLeaves || t.Spines() > maxSpines:
		return nil, fmt.Errorf("%s has %d leaves and %d spines; its addresses 10.<spine>.<leaf>.<slot+1> have room for %d and %d",
			t.Notation(), t.Leaves(), t.Spines(), maxLeaves, maxSpines)
	case p.Routing == twolevel.Adaptive:
		return nil, companion.ErrAdaptive
	case p.Routing == twolevel.Spray:
		return nil, fmt.Errorf("routing spray: ip -batch sets routes, and packets are sprayed by a packet filter; take ecmp or another routing")
	}
	b := &Batch{plan: p, tree: t, addr: lab.Addresses{Tree: t}}
	var err error
	b.routes, err = companion.Compute(p, b.addr)
	return b, err
}

// nodes returns how many nodes have a file: leaves, spines, servers.
func (b *Batch) nodes() int { return len(b.routes) }

// Name returns the name of a node.
func (b *Batch) Name(n companion.Node) string { return companion.NodeName(b.tree, n) }

// An address is what an interface of a node has.
type address struct {
	iface  string
	prefix netip.Prefix
	note   string
}

var gateway = netip.AddrFrom4([4]byte{169, 254, 0, 1})

// cable returns the address of one end of a cable between switches.
func (b *Batch) cable(leaf, spine, side int) netip.Addr {
	at := uint32(172<<24|16<<16) + 2*uint32(b.tree.LinkID(topology.Link{Leaf: leaf, Spine: spine})) + uint32(side)
	return netip.AddrFrom4([4]byte{byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at)})
}

// addresses returns those of a node, in the order of its ports.
func (b *Batch) addresses(n companion.Node) []address {
	t := b.tree
	var out []address
	switch k := int(n) - t.Leaves(); {
	case k < 0:
		l := int(n)
		for r := t.First(l); r < t.First(l+1); r++ {
			out = append(out, address{t.ServerName(r), netip.PrefixFrom(gateway, 32), "gateway"})
		}
		for s := range t.Spines() {
			out = append(out, address{fmt.Sprintf("spine%d", s), netip.PrefixFrom(b.cable(l, s, 0), 31), "cable"})
		}
	case k < t.Spines():
		for l := range t.Leaves() {
			out = append(out, address{fmt.Sprintf("leaf%d", l), netip.PrefixFrom(b.cable(l, k, 1), 31), "cable"})
		}
	default:
		r := k - t.Spines()
		leaf := fmt.Sprintf("leaf%d", t.Leaf(r))
		out = append(out, address{leaf, netip.PrefixFrom(b.addr.Server(r, companion.Single), 32), "tables"})
		for s := range t.Spines() {
			out = append(out, address{leaf, netip.PrefixFrom(b.addr.Server(r, s), 32), fmt.Sprintf("spine%d", s)})
		}
	}
	return out
}

// Switches returns which switch has an address, for all cables between switches:
// by these they answer whoever asks for the routers on the way. There are none
// for a tree that the addresses have no room for, or of three levels.
func Switches(t *topology.Tree) map[string]string {
	out := map[string]string{}
	if t.Pods() != nil || t.Leaves() > maxLeaves || t.Spines() > maxSpines {
		return out
	}
	b := &Batch{tree: t}
	for n := range t.Leaves() + t.Spines() {
		for _, a := range b.addresses(companion.Node(n)) {
			if a.prefix.Addr() != gateway {
				out[a.prefix.Addr().String()] = b.Name(companion.Node(n))
			}
		}
	}
	return out
}

// writeNode writes the file of one node, for "ip -force -batch FILE": it sets
// addresses and routes, which does not disturb those that are right already, and
// deletes the routes to stale, the prefixes that an earlier file had set. The
// routes of a dead link are in no file, so -force goes on where an interface is
// down.
func (b *Batch) writeNode(w io.Writer, n companion.Node, stale []netip.Prefix) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s, plan %s\n# ip -force -batch FILE\n", b.Name(n), b.plan.Hash())
	for _, a := range b.addresses(n) {
		fmt.Fprintf(out, "address replace %s dev %s\n", a.prefix, a.iface)
	}
	for _, r := range b.routes[n].Routes {
		fmt.Fprintln(out, b.route(n, r))
	}
	for _, p := range stale {
		if _, ok := slices.BinarySearchFunc(b.routes[n].Routes, companion.Route{Prefix: p}, companion.CompareRoutes); !ok {
			fmt.Fprintf(out, "route del %s proto %d\n", p, protocol)
		}
	}
	return out.Flush()
}

const replace = "route replace "

func (b *Batch) route(n companion.Node, r companion.Route) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s%s proto %d", replace, r.Prefix, protocol)
	if r.Source.IsValid() {
		fmt.Fprintf(&s, " src %s", r.Source)
	}
	for _, p := range r.Via {
		if len(r.Via) > 1 {
			s.WriteString(" nexthop")
		}
		s.WriteString(b.hop(n, p))
	}
	return s.String()
}

// hop says how a port is reached.
func (b *Batch) hop(n companion.Node, p companion.Port) string {
	t := b.tree
	switch k := int(n) - t.Leaves(); {
	case k < 0 && int(p) < t.Ports():
		return fmt.Sprintf(" dev server%d scope link", int(n)*t.Ports()+int(p))
	case k < 0:
		s := int(p) - t.Ports()
		return fmt.Sprintf(" via %s dev spine%d", b.cable(int(n), s, 1), s)
	case k < t.Spines():
		return fmt.Sprintf(" via %s dev leaf%d", b.cable(int(p), k, 0), p)
	default:
		return fmt.Sprintf(" via %s dev leaf%d onlink", gateway, t.Leaf(k-t.Spines()))
	}
}

// WriteAddresses writes the address plan: node, interface, address and what the
// address is for: a cable, a gateway, or the path to a server.
func (b *Batch) WriteAddresses(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# addresses of %s, %d servers: node interface address path\n", b.tree.Notation(), b.tree.Servers())
	fmt.Fprintln(out, "# on all switches: sysctl net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.fib_multipath_hash_policy=1")
	for i := range b.routes {
		n := companion.Node(i)
		for _, a := range b.addresses(n) {
			fmt.Fprintf(out, "%s %s %s %s\n", b.Name(n), a.iface, a.prefix, a.note)
		}
	}
	return out.Flush()
}
