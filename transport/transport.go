// Package transport moves messages between the ranks of a run.
//
// An Endpoint is one rank's place on the network under test. It knows bytes, peers and paths; it
// knows nothing of events, phases or schedules. The implementations are tcp (sockets) and, with the
// build tags of their names, mpi and rdma (InfiniBand, RoCE). Package transporttest tests the
// promises below for every implementation, and has one in memory for tests of other packages.
package transport

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrClosed is returned by calls on a closed Endpoint, and by calls that Close interrupts.
var ErrClosed = errors.New("endpoint closed")

// ErrSize reports a message whose size is not what the receiver expected.
var ErrSize = errors.New("message size differs from what was expected")

// Single is the Path of an operation that leaves the choice of spine to the network's routing
// tables.
const Single = -1

// Kind tells a send from a receive, and data from requests.
type Kind uint8

// The kinds of operation. Data and requests between one pair of ranks are
// separate streams: a request never waits behind data, nor data behind
// requests. Within each stream (pair, path, data or requests) order is kept.
//
// A request asks its receiver for data. Its Path is the path of that data; the request itself takes
// the path back.
const (
	Send        Kind = iota // data to Peer
	Recv                    // data from Peer
	SendRequest             // a small message to Peer (head only)
	RecvRequest             // a small message from Peer (head only)
)

func (k Kind) String() string {
	return [...]string{"send", "receive", "send request", "receive request"}[k]
}

// An Op is one message to or from Peer, through the path (spine) that the plan chose.
//
// A receive matches the next message of its stream, in the order in which receives were posted. A
// receive's Body may be longer than the message: N is then the number of bytes received. A message
// that does not fit ends the operation with ErrSize. With Drop instead of Body, the message is
// discarded as early as the transport can, and N is its length.
type Op struct {
	Kind Kind
	Peer int
	Path int    // spine, or Single
	ID   uint64 // the caller's; handed back by Poll
	Head []byte // HeadSize bytes
	Body []byte // from Alloc, at most MaxBody bytes; the caller must not touch Head or Body until the Op is done
	Drop int    // a receive without Body: discard up to so many bytes
	N    int    // bytes of Body sent or received, or dropped; set when done

	// Poll returns a posted receive with Near a first time, with Coming set, when its head is there
	// and at most Near bytes of its body are still to come. It is not done then: only ID, Peer and
	// Head are valid. A transport that cannot tell, or gets all at once, skips that.
	Near   int
	Coming bool

	// Done is when an Exchange completed a receive, which may be before the Exchange returns, Began when its head had come;
	// zero if the transport cannot tell, and after Poll.
	Began, Done time.Time
}

// HeadSize is the length of every Head. One size for all messages lets a receiver post its buffers
// before it knows the message.
const HeadSize = 40

// MaxBody is the largest Body: a receiver can refuse an implausible length.
const MaxBody = 1 << 30

// Check returns why an Op cannot be posted on an Endpoint of n ranks, or nil.
func (o *Op) Check(rank, n int) error {
	switch {
	case o.Kind > RecvRequest:
		return fmt.Errorf("operation of unknown kind %d", o.Kind)
	case o.Peer < 0 || o.Peer >= n || o.Peer == rank:
		return fmt.Errorf("%v: rank %d has no peer %d among %d ranks", o.Kind, rank, o.Peer, n)
	case len(o.Head) != HeadSize:
		return fmt.Errorf("%v: rank %d: head of %d bytes, must be %d", o.Kind, o.Peer, len(o.Head), HeadSize)
	case len(o.Body) > MaxBody:
		return fmt.Errorf("%v: rank %d: body of %d bytes, must be at most %d", o.Kind, o.Peer, len(o.Body), MaxBody)
	case o.Drop < 0 || o.Drop > MaxBody || o.Drop > 0 && (o.Kind != Recv || len(o.Body) > 0):
		return fmt.Errorf("%v: rank %d: drop of %d bytes", o.Kind, o.Peer, o.Drop)
	case o.Kind >= SendRequest && len(o.Body) > 0:
		return fmt.Errorf("%v: rank %d: a request has no body", o.Kind, o.Peer)
	}
	return nil
}

// An Endpoint is one rank's place on the network. One goroutine at a time may use it, but any may
// call Close and Wake.
//
// A failed connection or a message that breaks the rules ends the Endpoint: the call under way and
// all later ones return the error, and only Close remains. So does a closed peer with anything to
// send to it or data to receive from it; receives of its requests just stay pending.
type Endpoint interface {
	// Exchange does one phase: all sends and receives at once, full duplex. It
	// returns when all are done or ctx ends. Operations of kinds Send and Recv
	// only, at most one of each per stream. If ctx ends it in the middle, the
	// Endpoint has ended too.
	Exchange(ctx context.Context, ops []Op) error

	// Post queues operations without blocking on the network. It copies the slice, but not Head and
	// Body. If any operation cannot be posted, Post returns an error and posts none.
	Post(ops []Op) error

	// Poll waits until at least one posted operation is done, fills done with finished operations,
	// in any order, and returns their number. With nothing posted it waits for ctx or Wake. Posted
	// operations stay posted when ctx ends.
	Poll(ctx context.Context, done []Op) (int, error)

	// Wake makes a waiting Poll, or else the next one, return at once; it may then return 0
	// operations. Wakes do not add up.
	Wake()

	// Alloc returns n bytes that the endpoint can send from and receive into without copying
	// (pinned or C memory, or a file, where it matters). They belong to the endpoint and must not
	// be used after Close. Sent bytes must not change before that: the network may still be sending
	// them, even when the Op is done.
	Alloc(n int) []byte

	Rank() int

	// Retransmits returns how many segments the network sent twice since the endpoint was opened,
	// if the transport can tell, else 0.
	Retransmits() uint64

	// Moved is what has moved to and from a peer; any goroutine may call it.
	Moved(peer int) Movement

	// Close unblocks every call with ErrClosed and frees what was opened.
	Close() error
}

// A Movement is what has moved to and from a peer since the endpoint was opened; 0 where the transport
// cannot tell.
type Movement struct {
	Out, In uint64 // grow whenever bytes of data move, within messages too
	Resent  uint64 // segments to the peer that were lost and sent again, when Retransmits last asked
}

// A PeerError says which peer's connection failed. An Endpoint returns one if it knows the peer, so
// that the run can name the server.
type PeerError struct {
	Peer int
	Op   string // "send", "receive", "connect", …
	Err  error
}

func (e *PeerError) Error() string { return fmt.Sprintf("%s rank %d: %v", e.Op, e.Peer, e.Err) }

func (e *PeerError) Unwrap() error { return e.Err }

// A Hook calls ring when a context ends. It is set again only for another context: most phases have
// the same one, and setting it allocates.
type Hook struct {
	done <-chan struct{}
	stop func() bool
}

// Set makes the end of ctx call ring, and drops the earlier context.
func (h *Hook) Set(ctx context.Context, ring func()) {
	if h.On(ctx) {
		return
	}
	h.Clear()
	h.done = ctx.Done()
	if h.done != nil {
		h.stop = context.AfterFunc(ctx, ring)
	}
}

// On reports whether the end of ctx calls ring.
func (h *Hook) On(ctx context.Context) bool { return h.done == ctx.Done() }

// Clear drops the context.
func (h *Hook) Clear() {
	if h.stop != nil {
		h.stop()
	}
	h.done, h.stop = nil, nil
}

// Ring puts a token into a channel with room for one, unless it holds one already: then its reader
// has not looked since.
func Ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}
