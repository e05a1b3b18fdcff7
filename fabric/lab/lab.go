// Package lab turns one machine into a fat tree, without root and without leaving anything behind.
//
// A Lab is one network namespace per server and switch, held only by file descriptors, with a veth
// pair for each cable and a token bucket at both ends. When the last descriptor closes, by Close or
// because the process was killed, the kernel removes everything.
//
// It reproduces ratios, not absolute rates: its links are TCP over deep queues, without the credit
// flow control of InfiniBand. Rates are bit/s, sizes bytes.
package lab

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"evbench/internal/unit"
	"evbench/topology"
)

type Options struct {
	// Tree is the fabric. Its dead links are built too and then taken down. A Graph stands in its place for
	// a network of any shape: servers have their addresses for routing tables alone.
	Tree  *topology.Tree
	Graph *Graph
	// Rate limits each direction of each cable, in bit/s. 0 means no limit.
	Rate unit.Rate
	// MTU of every interface, 576..65535 bytes. 0 means defaultMTU.
	MTU int
	// Phase is the shortest time for which a sender fills a link before its traffic changes. Under
	// 20 ms the links have smaller bursts. 0 means long.
	Phase time.Duration
	// Packets makes senders hand over single packets of the MTU, instead of up to 64 KiB that stay
	// together on their way: spraying is then by packet.
	Packets bool
	// Hash is what switches hash that have several next hops.
	Hash Hash
	// MPI: servers run a library that takes all addresses of an interface for paths, and uses the
	// default congestion control. So the addresses that choose a path are on lo, and routes set the
	// value of Congestion.
	MPI bool
}

// A Hash is what chooses one of several next hops.
type Hash int

// The hashes: of the header of a packet with ports, each switch with a seed of its own; of its two addresses; of the
// header, all switches with one seed, so that two levels of them choose alike.
const (
	HashHeaders Hash = iota
	HashAddresses
	HashAlike
)

// A Graph is switches, by name, with a number of ports each, the switch and port of each server, and the
// cables between switches. Times says how many times Rate a cable has, nil: once. Links is a tree of which
// link i stands for cable i where cables are watched or change.
type Graph struct {
	Switches []string
	Ports    []int
	Servers  []topology.End
	Cables   [][2]topology.End
	Times    []float64
	Links    *topology.Tree
}

const defaultMTU = 9000

// Limits of the address plan 10.<path>.<leaf>.<slot+1>.
const (
	maxLeaves = 256
	maxPaths  = singlePath // 10.200 is the prefix of single-path routes
)

func (o *Options) validate() error {
	if (o.Tree == nil) == (o.Graph == nil) {
		return errors.New("lab: give a tree or a graph")
	}
	o.MTU = cmp.Or(o.MTU, defaultMTU)
	switch n := o.Tree; {
	case n == nil && len(o.Graph.Servers) > maxGraph:
		return fmt.Errorf("lab: %d servers; its addresses have room for %d", len(o.Graph.Servers), maxGraph)
	case n != nil && n.Leaves() > maxLeaves:
		return fmt.Errorf("lab: %s has %d leaves; its addresses 10.<path>.<leaf>.<slot+1> have room for %d", n.Notation(), n.Leaves(), maxLeaves)
	case n != nil && n.Paths() > maxPaths:
		return fmt.Errorf("lab: %s has %d paths between leaves; its addresses 10.<path>.<leaf>.<slot+1> have room for %d",
			n.Notation(), n.Paths(), maxPaths)
	case o.Rate < 0 || o.Rate > 0 && o.Rate < 8:
		return fmt.Errorf("lab: rate %s: must be 0 (no limit) or at least 8bit/s", o.Rate)
	case o.MTU < 576 || o.MTU > 65535:
		return fmt.Errorf("lab: MTU %d: must be 576..65535", o.MTU)
	}
	return nil
}

// A Node is a dense ID: switches have the IDs of topology.Tree, with leaf l as l and spine k as
// Leaves + k, and the server of rank r is Switches + r.
type Node int

// A Port is an interface of a node. Ports are numbered as in topology.Tree: on a leaf, 0..M0-1 lead
// to the servers by slot and M0+k to spine k; on a spine, port l leads to leaf l; a server has port
// 0.
type Port struct {
	Name    string     // of the interface: the node at its other end; "" if the slot has no server
	Index   int        // of the interface in its namespace
	Gateway netip.Addr // the address for the other end in routes
}

// A Count is the traffic of one direction of a cable since it was built.
type Count struct {
	Wire topology.Wire
	// Bytes and Packets have left the sending end, counted as on a wire: each segment of a large
	// send with its own headers.
	Bytes, Packets uint64
	// Drops are packets lost at the queue of the sending end and at the interfaces of both ends; a
	// packet counted by both interfaces appears twice.
	Drops uint64
}

// Addr returns the address of the server of a rank on a path, or, with -1, the address for routing
// tables.
func (b *Lab) Addr(rank, path int) netip.Addr {
	if b.tree == nil {
		return netip.AddrFrom4([4]byte{10, singlePath, byte(rank / inByte), byte(rank%inByte + 1)})
	}
	return Addresses{b.tree}.Server(rank, path)
}

// Servers of a graph have the addresses 10.200.<rank div inByte>.<rank mod inByte + 1>.
const (
	inByte   = 250
	maxGraph = 256 * inByte
)

func (b *Lab) Addresses() Addresses { return Addresses{b.tree} }

// Nodes returns the number of nodes: switches, servers.
func (b *Lab) Nodes() int { return len(b.names) }

func (b *Lab) Server(rank int) Node { return b.server(rank) }

func (b *Lab) Name(n Node) string { return b.names[n] }

// Ports returns the interfaces of a node by port. The caller must not change
// the slice.
func (b *Lab) Ports(n Node) []Port { return b.ports[n] }
