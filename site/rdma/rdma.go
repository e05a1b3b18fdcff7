// Package rdma is a transport over InfiniBand and RoCE (verbs), which chooses the path of each
// message.
//
// There is one reliable queue pair for each ordered pair of ranks and path that the source sends
// on: data flows one way and requests for that data the other. Signals of barriers have one for
// each pair of partners. The memory of Alloc itself is sent and received; it is registered, and so
// locked. Heads are copied.
//
// On InfiniBand path p of a server is its LID + p, so LMC bounds the number of paths, and the
// forwarding tables must lead LID + p through spine p. On RoCE a path is the server's address for
// spine p. The first LID or address also serves messages whose path the tables choose.
//
// Queue pairs are set up over TCP (package tcp), which also shows a rank that another has closed.
// An unanswered message is sent again a few times; then the endpoint ends with an error that names
// the peer and the path. A message without a receiver waits; a body longer than a packet waits at
// the sender, until the receiver has told that there is room. Messages of up to eager bytes are
// done when they are posted, longer ones when they have arrived.
//
// Verbs need cgo and the build tag rdma. Without them Listen returns ErrNotBuilt. Sizes are bytes.
package rdma

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"evbench/transport"
	"evbench/transport/tcp"
)

// ErrNotBuilt says that this binary has no verbs, and how to get one that has them.
var ErrNotBuilt = errors.New("this evbench was built without RDMA; with the packages libibverbs-dev and gcc installed, make build includes it (go build -tags rdma)")

// A Port describes a rank's RDMA port to other ranks.
type Port struct {
	MTU int // bytes
	// LID is the first of the 2^LMC LIDs of an InfiniBand port.
	LID, LMC int
	// Addrs are the addresses of a RoCE port: the first for tables, one more for each spine.
	Addrs []netip.Addr
}

const maxLMC = 7

// roce reports whether the port is on Ethernet.
func (p Port) roce() bool { return len(p.Addrs) > 0 }

// paths is the number of paths to the port.
func (p Port) paths() int {
	if p.roce() {
		return len(p.Addrs) - 1
	}
	return 1 << p.LMC
}

// String returns the form that ParsePort reads.
func (p Port) String() string {
	if !p.roce() {
		return fmt.Sprintf("ib %d %d %d", p.MTU, p.LID, p.LMC)
	}
	words := []string{"roce", strconv.Itoa(p.MTU)}
	for _, a := range p.Addrs {
		words = append(words, a.String())
	}
	return strings.Join(words, " ")
}

func ParsePort(s string) (p Port, err error) {
	words := strings.Fields(s)
	switch {
	case len(words) == 4 && words[0] == "ib":
		for i, to := range []*int{&p.MTU, &p.LID, &p.LMC} {
			if *to, err = strconv.Atoi(words[1+i]); err != nil || *to < 0 || *to > 0xffff {
				return Port{}, fmt.Errorf("RDMA port %q: %q is not a number in range", s, words[1+i])
			}
		}
		if p.LID == 0 || p.LMC > maxLMC {
			return Port{}, fmt.Errorf("RDMA port %q: LID %d with LMC %d", s, p.LID, p.LMC)
		}
		return p, nil
	case len(words) > 2 && words[0] == "roce":
		if p.MTU, err = strconv.Atoi(words[1]); err != nil {
			return Port{}, fmt.Errorf("RDMA port %q: MTU %q", s, words[1])
		}
		for _, w := range words[2:] {
			a, err := netip.ParseAddr(w)
			if err != nil {
				return Port{}, fmt.Errorf("RDMA port %q: %w", s, err)
			}
			p.Addrs = append(p.Addrs, a)
		}
		return p, nil
	}
	return Port{}, fmt.Errorf("%q is no RDMA port: does this worker run over another transport?", s)
}

// suits returns why a port cannot exchange messages with a peer's.
func (p Port) suits(peer Port) error {
	kind := map[bool]string{false: "InfiniBand", true: "Ethernet"}
	switch {
	case p.roce() != peer.roce():
		return fmt.Errorf("its RDMA port is on %s, that of this server on %s", kind[peer.roce()], kind[p.roce()])
	case p.MTU != peer.MTU:
		return fmt.Errorf("its RDMA port has an MTU of %d bytes, that of this server %d: make them equal", peer.MTU, p.MTU)
	case p.LMC != peer.LMC:
		return fmt.Errorf("its InfiniBand port has LMC %d, that of this server %d: a subnet manager gives all ports the same", peer.LMC, p.LMC)
	}
	return nil
}

// leads returns an error if a path does not lead to a port.
func (p Port) leads(path int) error {
	switch {
	case path < p.paths():
		return nil
	case p.roce():
		return fmt.Errorf("the plan sends to it through spine%d, for which it has no address: a pinned plan needs one address per server and spine (worker --data)", path)
	}
	return fmt.Errorf("the plan sends to it through spine%d, but LMC %d gives %d paths, spine0 to spine%d", path, p.LMC, p.paths(), p.paths()-1)
}

// A way is the destination of the messages of a queue pair.
type way struct {
	port    Port // of the peer
	path    int  // transport.Single: as the tables choose
	udp     int  // source port of RoCE v2, of which switches choose the path; 0: the driver takes one
	queue   uint32
	counter uint32 // of the peer's first packet
}

// offset is the index of a path's LID or address among those of a port.
func (w way) offset() int {
	if w.port.roce() {
		return 1 + w.path
	}
	return max(0, w.path)
}

// label is the flow label that has the queue pair send from its port: Linux' rdma_flow_label_to_udp_sport adds one of 14 bits
// to firstUDP. Without one, 0, drivers take the port of the two numbers of queue pairs.
func (w way) label() int { return max(0, w.udp-firstUDP) }

const firstUDP = 0xc000

func (w way) String() string {
	if w.udp > 0 {
		return fmt.Sprintf("UDP port %d", w.udp)
	}
	if w.path == transport.Single {
		return "the path of the tables"
	}
	if w.port.roce() {
		return fmt.Sprintf("spine%d (%v)", w.path, w.port.Addrs[w.offset()])
	}
	return fmt.Sprintf("spine%d (LID %d)", w.path, w.port.LID+w.offset())
}

// A Peer is the addresses of a rank: Setup over TCP ("ip:port"), Port for verbs.
type Peer struct {
	Setup string
	Port  Port
}

// A Group is a set of endpoints that are opened together, for a case.
type Group struct {
	// ID tells the groups of a Listener apart. It rises from group to group.
	ID uint32
	// Rank of this endpoint.
	Rank int
	// Peers lists all ranks, this one included.
	Peers []Peer
	// Need lists the paths that this rank sends data on.
	Need []tcp.Path
	// Ports: a spine of Need is the UDP source port of its messages, to the address of the tables. Ports are those of RoCE v2,
	// 0xc001 to 0xffff. A peer whose set-up comes from another address (NAT) is an error; nothing arrives of packets whose
	// addresses or ports are changed, as their checksum (ICRC) covers both.
	Ports bool
	// Partners are the ranks with which this one exchanges barrier signals.
	Partners []int
	// Departed: a send of any size is done only when it has arrived.
	Departed bool
	// Moved is called when a queue pair has been connected, and when Alloc has got a part of the
	// requested memory. nil is allowed.
	Moved func()
}

func (g *Group) moved() {
	if g.Moved != nil {
		g.Moved()
	}
}

// check returns why the group cannot be opened from a port.
func (g *Group) check(own Port) error {
	if g.Rank < 0 || g.Rank >= len(g.Peers) {
		return fmt.Errorf("rank %d is not among %d peers", g.Rank, len(g.Peers))
	}
	for r, p := range g.Peers {
		if err := own.suits(p.Port); err != nil && r != g.Rank {
			return g.failed(r, err)
		}
	}
	return g.checkNeed(g.Need)
}

func (g *Group) checkNeed(need []tcp.Path) error {
	for _, n := range need {
		if n.Peer < 0 || n.Peer >= len(g.Peers) || n.Peer == g.Rank || n.Spine < transport.Single {
			return fmt.Errorf("rank %d of %d cannot open a path to %v", g.Rank, len(g.Peers), n)
		}
		if g.Ports && n.Spine != transport.Single {
			if port := g.Peers[n.Peer].Port; !port.roce() || n.Spine <= firstUDP || n.Spine > 0xffff {
				return g.failed(n.Peer, fmt.Errorf("the plan sends to it from UDP port %d: RoCE v2 has ports 49153 to 65535, InfiniBand none", n.Spine))
			}
			continue
		}
		for _, end := range []int{n.Peer, g.Rank} { // answers take the same path back
			if err := g.Peers[end].Port.leads(n.Spine); err != nil {
				return g.failed(end, err)
			}
		}
	}
	return nil
}

func (g *Group) failed(peer int, err error) error {
	return &transport.PeerError{Peer: peer, Op: "connect", Err: err}
}
