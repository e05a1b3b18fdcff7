// Package network describes any network of hosts, switches and cables, regular or not: the view of
// an InfiniBand subnet manager, and the input of routing engines and checks.
//
// Nodes are dense numbers: hosts first, 0..Hosts-1, then switches. A host is one port of an adapter
// and has one cable. A switch has ports 1..n, as on InfiniBand; port 0 is the switch itself. People
// and subnet managers use names, GUIDs and LIDs. Engines use only numbers, and GUIDs where the
// original engine does.
//
// The package builds regular networks from their notation and derives degraded
// ones; it holds no routes, opens no file and reads no clock.
package network

import (
	"errors"
	"fmt"

	"evbench/internal/show"
)

// A Node is a host or a switch.
type Node int32

// NoNode is at the far end of a port without a cable, or with a dead one.
const NoNode Node = -1

// An End is an end of a cable: a port of a node.
type End struct {
	Node Node
	Port uint8
}

// An Info is the names of a node.
type Info struct {
	Name string
	GUID uint64 // of the node
	Port uint64 // GUID of the port that has the LIDs: a host's only port, a switch's port 0
	LID  uint16 // the first of 2^LMC; 0 when none is assigned
	LMC  uint8  // of a host; a switch has one LID
}

// A Network is immutable once built, and safe for concurrent use. It does not contain dead cables.
type Network struct {
	Notation string // as built, "" when read from elsewhere
	// Files is how many files it was read from, 0 for one. LIDs of those after the first are not theirs, as several
	// subnets have the same.
	Files int
	// Notes say what was left out of a file, or taken for granted. Guess says why shares of the link
	// rate are guesses; "": they are not.
	Notes []string
	Guess string
	// Adaptive says that switches choose the way of each message: tables have only one of them.
	Adaptive bool
	info     []Info
	hosts    int
	first    []int32 // ports of node n are ends[first[n]:first[n+1]], from port 1
	ends     []End
	rates    map[End]float64 // of the cable at a port, nil where none is known
	others   []other
	shared   []bool // nodes, the others included, whose name another one has; nil: none
}

// Nodes returns the number of hosts and switches.
func (n *Network) Nodes() int { return len(n.info) }

// Hosts returns the number of hosts, which are nodes 0..Hosts-1.
func (n *Network) Hosts() int { return n.hosts }

// Switches returns the number of switches, which follow the hosts.
func (n *Network) Switches() int { return len(n.info) - n.hosts }

func (n *Network) Switch(i int) Node { return Node(n.hosts + i) }

// Index returns the index i of the i-th switch.
func (n *Network) Index(s Node) int { return int(s) - n.hosts }

func (n *Network) IsHost(v Node) bool { return int(v) < n.hosts }

func (n *Network) Info(v Node) Info {
	if n.IsOther(v) {
		return n.others[int(v)-len(n.info)].info
	}
	return n.info[v]
}

// Key returns the unique GUID of a node: for a host its port's, since an adapter may be several
// hosts, for a switch its own.
func (n *Network) Key(v Node) uint64 {
	if n.IsHost(v) || n.IsOther(v) {
		return n.Info(v).Port
	}
	return n.info[v].GUID
}

// Ends returns the far ends of the ports 1, 2, … of a node, in order; index p-1 is port p. The
// slice is the network's own.
func (n *Network) Ends(v Node) []End { return n.ends[n.first[v]:n.first[v+1]] }

// At returns the far end of a port of a node.
func (n *Network) At(v Node, port int) End {
	if ends := n.Ends(v); port >= 1 && port <= len(ends) {
		return ends[port-1]
	}
	return End{NoNode, 0}
}

// Leaf returns the switch of a host and the switch's port to it, or NoNode.
func (n *Network) Leaf(host Node) End {
	if n.IsOther(host) {
		return n.others[int(host)-len(n.info)].at
	}
	return n.At(host, 1)
}

// LIDs returns how many LIDs a node has.
func (n *Network) LIDs(v Node) int {
	switch i := n.Info(v); {
	case i.LID == 0:
		return 0
	case n.IsHost(v), n.IsOther(v):
		return 1 << i.LMC
	}
	return 1
}

// PathBits returns for each host what it adds to the first LID of a destination with several, if the hosts of each
// switch are to share the LIDs equally: hosts counted by switch and port, modulo the LIDs of a host. Over UCX
// it is UCX_IB_LID_PATH_BITS of the host. Hosts with one LID are an error, and so are different numbers of LIDs: UCX adds
// its bits to the first LID of every destination, and leaves out bits that the sender's own LMC does not cover.
func (n *Network) PathBits() ([]uint8, error) {
	lids, first := 0, NoNode
	for h := range Node(n.Hosts()) {
		switch count := n.LIDs(h); {
		case count == 0:
		case lids == 0:
			lids, first = count, h
		case count != lids:
			return nil, fmt.Errorf("hosts with different numbers of LIDs cannot share them: %s has %d, %s has %d", n.Name(first), lids, n.Name(h), count)
		}
	}
	if lids < 2 {
		return nil, errors.New("each host has one LID, and no path bits; give --lmc N, or the fabric an LMC above 0")
	}
	out, next := make([]uint8, n.Hosts()), 0
	for i := range n.Switches() {
		for _, far := range n.Ends(n.Switch(i)) {
			if far.Node != NoNode && n.IsHost(far.Node) && n.Leaf(far.Node).Node == n.Switch(i) {
				out[far.Node], next = uint8(next%lids), next+1
			}
		}
	}
	return out, nil
}

func (n *Network) MaxLID() int {
	most := 0
	for v := range Node(n.Nodes() + n.Others()) {
		if count := n.LIDs(v); count > 0 {
			most = max(most, int(n.Info(v).LID)+count-1)
		}
	}
	return most
}

// A Builder makes a Network. Add all hosts before the first switch.
type Builder struct {
	n     Network
	ports [][]End
	taken map[End]bool // ports of switches to others
}

func (b *Builder) Host(i Info) Node {
	if b.n.hosts != len(b.n.info) {
		panic("fabric: a host after a switch")
	}
	b.n.hosts++
	return b.add(i, 1)
}

// Switch adds a switch with ports 1..ports.
func (b *Builder) Switch(i Info, ports int) Node { return b.add(i, ports) }

func (b *Builder) add(i Info, ports int) Node {
	i.Name = show.Line(i.Name) // it goes into terminals, plans, tables and scripts
	b.n.info = append(b.n.info, i)
	free := make([]End, ports)
	for p := range free {
		free[p].Node = NoNode
	}
	b.ports = append(b.ports, free)
	return Node(len(b.n.info) - 1)
}

// Cable joins two free ports.
func (b *Builder) Cable(x, y End) error {
	for _, e := range []End{x, y} {
		if err := b.free(e); err != nil {
			return err
		}
	}
	if x == y {
		return fmt.Errorf("port %d of %s leads to itself", x.Port, b.n.info[x.Node].Name)
	}
	b.ports[x.Node][x.Port-1], b.ports[y.Node][y.Port-1] = y, x
	return nil
}

func (b *Builder) free(e End) error {
	switch {
	case e.Node < 0 || int(e.Node) >= len(b.ports) || e.Port < 1 || int(e.Port) > len(b.ports[e.Node]):
		return fmt.Errorf("no port %d at node %d", e.Port, e.Node)
	case b.ports[e.Node][e.Port-1].Node != NoNode || b.taken[e]:
		return fmt.Errorf("port %d of %s has a cable already", e.Port, b.n.info[e.Node].Name)
	}
	return nil
}

// Build returns the present network. The next Build includes cables added later.
func (b *Builder) Build() *Network {
	n := b.n
	n.first = make([]int32, len(b.ports)+1)
	for v, p := range b.ports {
		n.first[v+1] = n.first[v] + int32(len(p))
		n.ends = append(n.ends, p...)
	}
	n.share()
	return &n
}
