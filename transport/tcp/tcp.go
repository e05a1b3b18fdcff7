// Package tcp is a transport over raw TCP sockets of Linux.
//
// The calling goroutine drives its sockets, full duplex, and sleeps in the kernel when none is
// ready. In steady state a phase allocates nothing. Large messages that need not wait for a phase
// use sendfile. One process per server is fastest: a thread then sleeps without releasing its
// processor to the runtime.
//
// There is one connection for each ordered pair of ranks and path that the source sends on. The
// source opens it. Data flows one way and requests for that data the other, so that neither waits
// behind the other. Barrier signals have a connection for each pair of partners. Each connection
// begins with a preface, in which both sides prove that they know the token of the run.
//
// An Op's Path selects the peer's address, and the network routes from there. Established
// connections have no time-out: the run decides how long is too long. Sizes are bytes.
package tcp

import (
	"context"
	"fmt"
	"time"

	"evbench/transport"
)

// Options of a Listener and of the endpoints that it makes.
type Options struct {
	// Addr is where to listen, "ip:port"; port 0 takes a free one.
	Addr string
	// In runs a function on a thread inside the network namespace for sockets. nil calls it
	// directly.
	In func(f func() error) error
	// Token is the shared secret of the run.
	Token string
	// congestion is the TCP congestion control. "" means cubic if the kernel has it, because the
	// lab's figures rest on it.
	congestion string
	// Pace delays data and requests as an emulated fabric would. nil: no delay.
	Pace Pacer
	// Log receives one line for each connection that is refused. nil drops it.
	Log func(format string, args ...any)
}

// A Pacer is a model of a network's links. Several endpoints at a time ask it about each chunk of a
// message before writing the chunk.
type Pacer interface {
	// Reserve puts a chunk on its way at now, and returns when its last byte arrives; the chunk may
	// be written then. If that is unknown yet, flight is not 0, and the time is when to call
	// Landed. If the chunk has no path, ok is false, and the time is when to ask again.
	Reserve(src, dst, path, bytes int, now time.Time) (ready time.Time, flight int, ok bool)
	// Landed returns when the last byte of a chunk has arrived, and forgets the chunk. If it has
	// not arrived, ok is false, and the time is when to ask again.
	Landed(flight int, now time.Time) (at time.Time, ok bool)
}

// A Peer is the listening addresses of a rank: Addrs[0] when the routing tables choose the path,
// Addrs[1+k] through spine k. A spine without an address of its own uses Addrs[0].
type Peer struct{ Addrs []string }

func (p Peer) addr(path int) string {
	if 1+path < len(p.Addrs) {
		return p.Addrs[1+path]
	}
	return p.Addrs[0]
}

// A Path is one way to send data to a rank: through a spine, or
// transport.Single.
type Path struct{ Peer, Spine int }

func (p Path) String() string {
	if p.Spine == transport.Single {
		return fmt.Sprintf("rank %d", p.Peer)
	}
	return fmt.Sprintf("rank %d via spine %d", p.Peer, p.Spine)
}

// A Group is a set of endpoints that are opened together, for a case.
type Group struct {
	// ID tells the groups of a Listener apart. It rises from group to group.
	ID uint32
	// Rank of this endpoint.
	Rank int
	// Peers lists all ranks, this one included. Connections leave from this rank's own address on
	// their path, so that answers take the same path back.
	Peers []Peer
	// Back gives, by path, the path of answers, where the two ends number paths differently; nil:
	// the same.
	Back []int
	// Ports: paths are source ports, by which the switches of the network choose, and each rank has one address;
	// transport.Single leaves the port to the kernel.
	Ports bool
	// Need lists the paths that this rank sends data on.
	Need []Path
	// Partners are the ranks with which this one exchanges barrier signals.
	Partners []int
	// IO is how payload moves: Copy, Sendfile or, as "", the best for Async and Message if all
	// payload is of the same memory and so in the caches.
	IO string
	// Async: messages are posted at any time, without phases.
	Async bool
	// Departed: a Send is done once the kernel has sent all of it, not when it has accepted the
	// last byte: the next message on another connection then does not share the port with it.
	// Unused where links are a model.
	Departed bool
	// Message is the size of a typical message in bytes. 0: unknown.
	Message int
	// Moved is called when a connection has opened, and when Alloc has got a part of the requested
	// memory. nil is allowed.
	Moved func()
	// SockBuf is the size of the send and receive buffers of each data
	// connection in bytes. 0 leaves it to the kernel.
	SockBuf int
}

// How payload moves from memory to the network.
const (
	// Copy: the kernel copies it.
	Copy = "copy"
	// Sendfile: the kernel sends directly from memory, if it is from Alloc and long enough; it
	// copies the rest.
	Sendfile = "sendfile"
)

const (
	// wholePages is the least body in bytes that uses sendfile if the scenario asks for it.
	wholePages = 64 << 10
	// worthwhile is the same without such a request. On loopback (Linux 6.18, 2 to 8 ranks on two
	// processors), copying from huge pages is 10 to 40 % faster up to 1 MiB, also if the receiver
	// drops the payload; from 2 MiB on sendfile is up to 8 % faster among 4 and 8 ranks.
	worthwhile = 2 << 20
)

// io chooses how payload moves. An emulated network is about time, not speed.
func (g *Group) io(paced bool) string {
	switch {
	case g.IO != "":
		return g.IO
	case !g.Async || paced || g.Message > 0 && g.Message < worthwhile:
		return Copy
	}
	return Sendfile
}

// least is the least body for sendfile.
func (g *Group) least() int {
	if g.IO == Sendfile {
		return wholePages
	}
	return worthwhile
}

// files estimates how many files the connections of an endpoint take: the ones that it opens, and
// as many opened by its peers.
func (g *Group) files() int64 {
	need := make(map[Path]bool, len(g.Need))
	for _, p := range g.Need {
		need[p] = true
	}
	return 2 * int64(len(need)+len(g.Partners))
}

func (g *Group) validate() error {
	n := len(g.Peers)
	if g.Rank < 0 || g.Rank >= n {
		return fmt.Errorf("rank %d is not among %d peers", g.Rank, n)
	}
	if g.IO != "" && g.IO != Copy && g.IO != Sendfile {
		return fmt.Errorf("io %q: must be %s or %s", g.IO, Copy, Sendfile)
	}
	for path, back := range g.Back {
		if back < 0 || back >= len(g.Back) {
			return fmt.Errorf("answers on path %d take path %d, of %d", path, back, len(g.Back))
		}
	}
	for r, p := range g.Peers {
		if len(p.Addrs) == 0 {
			return fmt.Errorf("peer %d has no address", r)
		}
	}
	if err := g.validateNeed(g.Need); err != nil {
		return err
	}
	return g.validatePartners(g.Partners)
}

func (g *Group) back(path int) int {
	if path < 0 || path >= len(g.Back) {
		return path
	}
	return g.Back[path]
}

func (g *Group) validateNeed(need []Path) error {
	for _, p := range need {
		if p.Peer < 0 || p.Peer >= len(g.Peers) || p.Peer == g.Rank || p.Spine < transport.Single || p.Spine > maxSpine {
			return fmt.Errorf("rank %d of %d cannot open a path to %v", g.Rank, len(g.Peers), p)
		}
	}
	return nil
}

func (g *Group) validatePartners(partners []int) error {
	for _, p := range partners {
		if p < 0 || p >= len(g.Peers) || p == g.Rank {
			return fmt.Errorf("rank %d of %d cannot have rank %d as a partner", g.Rank, len(g.Peers), p)
		}
	}
	return nil
}

// Both builds of this package have these methods.
var (
	_ transport.Endpoint = (*Endpoint)(nil)
	_ interface {
		Signal(ctx context.Context, to int, seq uint64) error
		Await(ctx context.Context, from int, seq uint64) error
	} = (*Endpoint)(nil)
)
