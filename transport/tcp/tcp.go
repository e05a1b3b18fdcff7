// Package tcp is a transport over raw TCP sockets of Linux.
//
// The calling goroutine drives its sockets, full duplex, and sleeps in the kernel when none is
// ready. In steady state a phase allocates nothing. Large messages that need not wait for a phase go
// out by sendfile. One process per server is fastest: a thread then sleeps without giving its
// processor back to the runtime.
//
// There is one connection for each ordered pair of ranks and path that the source sends on. The
// source opens it; data flows one way and the requests about that data the other, so that neither
// waits behind the other. Signals of barriers have a connection for each pair of partners. Each
// begins with a preface, in which both sides prove that they know the token of the run.
//
// An Op's Path picks the peer's address, and the network takes it from there. Established
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
	// In runs a function on a thread inside the network namespace in which
	// sockets have to be made. nil calls it directly.
	In func(f func() error) error
	// Token is the shared secret of the run.
	Token string
	// congestion is the TCP congestion control. "" means cubic where the
	// kernel has it, because the lab's figures rest on it.
	congestion string
	// Pace delays data and requests as an emulated fabric would. nil: no delay.
	Pace Pacer
	// Log receives one line for each connection that is refused. nil drops it.
	Log func(format string, args ...any)
}

// A Pacer is a model of a network's links. It is asked about each chunk of a
// message before it is written, by several endpoints at a time.
type Pacer interface {
	// Reserve puts a chunk on its way at now, and returns when its last byte
	// arrives; it may be written then. Where that is not known yet, flight is not
	// 0, and the time is when to ask Landed. If the chunk cannot go anywhere, ok is
	// false, and the time is when to ask again.
	Reserve(src, dst, path, bytes int, now time.Time) (ready time.Time, flight int, ok bool)
	// Landed returns when the last byte of a chunk has arrived, and forgets it. If it
	// has not, ok is false, and the time is when to ask again.
	Landed(flight int, now time.Time) (at time.Time, ok bool)
}

// A Peer is where a rank listens: Addrs[0] when the routing tables choose the
// path, Addrs[1+k] through spine k. Without an address of its own, a spine has
// that of Addrs[0].
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

// A Group is a set of endpoints that are opened together: those of a case.
type Group struct {
	// ID tells the groups of a Listener apart. It rises from one to the next.
	ID uint32
	// Rank of this endpoint.
	Rank int
	// Peers lists all ranks, this one included. Connections leave from this
	// rank's own address on their path, so that answers come back the same way.
	Peers []Peer
	// Back is by path which one answers take, where a path is another way from the other end;
	// nil: the same.
	Back []int
	// Need is what this rank sends data on.
	Need []Path
	// Partners are the ranks with which this one exchanges barrier signals.
	Partners []int
	// IO is how payload moves: Copy, Sendfile or, as "", what is best for Async
	// and Message if all payload is of the same memory and so in the caches. If not, and if
	// it is received into memory, Copy is better up to 1 MiB at least: it has huge pages.
	IO string
	// Async: messages are posted as they come, without phases.
	Async bool
	// Departed: a Send is done once the kernel has nothing of it left to send, not when it
	// has taken the last byte: what is sent next on another connection does not share the
	// port with it. Not where links are a model.
	Departed bool
	// Message is the size of a typical message in bytes. 0: unknown.
	Message int
	// Moved is called when a connection has opened, and when Alloc has got a part of what it
	// was asked for. nil: nobody wants to know.
	Moved func()
	// SockBuf is the size of the send and receive buffers of each data
	// connection in bytes. 0 leaves it to the kernel.
	SockBuf int
}

// How payload moves from memory to the network.
const (
	// Copy: the kernel copies it.
	Copy = "copy"
	// Sendfile: the kernel sends the very memory, where that is from Alloc and
	// there is enough of it; it copies the rest.
	Sendfile = "sendfile"
)

const (
	// wholePages is the least body in bytes that goes out by sendfile where that
	// was asked for.
	wholePages = 64 << 10
	// worthwhile is the same where the choice is ours. On loopback, sending pages
	// costs 5 to 15 % more time of the processor than copying below 256 KiB, about
	// as much at 512 KiB, and a fifth less at 1 MiB where the receiver drops them.
	worthwhile = 512 << 10
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

// least is the least body that sendfile is for.
func (g *Group) least() int {
	if g.IO == Sendfile {
		return wholePages
	}
	return worthwhile
}

// files is about how many files the connections of an endpoint take: those that it opens,
// and as many that its peers do.
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

// The shape that both builds of this package have.
var (
	_ transport.Endpoint = (*Endpoint)(nil)
	_ interface {
		Signal(ctx context.Context, to int, seq uint64) error
		Await(ctx context.Context, from int, seq uint64) error
	} = (*Endpoint)(nil)
)
