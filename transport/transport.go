// Package transport moves messages between the ranks of a run.
//
// An Endpoint is one rank's place on the network under test. It knows bytes,
// peers and paths; it knows nothing of events, phases or schedules. The
// implementations are tcp (sockets) and, with
// the build tags of their names, mpi and rdma (InfiniBand, RoCE); package transporttest holds the promises below as
// tests, which every implementation passes, and has one in memory for tests of others.
package transport

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrClosed is returned by calls on a closed Endpoint, and by those that Close
// interrupts.
var ErrClosed = errors.New("endpoint closed")

// ErrSize reports a message whose size is not what the receiver expected.
var ErrSize = errors.New("message size differs from what was expected")

// Single is the Path of an operation that leaves the choice of spine to the
// network's routing tables.
const Single = -1

// Kind tells a send from a receive, and data from requests.
type Kind uint8

// The kinds of operation. Data and requests between one pair of ranks are
// separate streams: a request never waits behind data, nor data behind
// requests. Within each stream (pair, path, data or requests) order is kept.
//
// A request asks its receiver for data, and its Path is the one that this data
// takes; the request itself goes the way back.
const (
	Send        Kind = iota // data to Peer
	Recv                    // data from Peer
	SendRequest             // a small message to Peer (head only)
	RecvRequest             // a small message from Peer (head only)
)

func (k Kind) String() string {
	return [...]string{"send", "receive", "send request", "receive request"}[k]
}

// An Op is one message on its way to or from Peer, through the path (spine)
// that the plan chose.
//
// A receive matches the next message of its stream, in the order in which
// receives were posted. A receive's Body may be longer than what arrives: the
// number of bytes is then in N; a message that does not fit ends the operation
// with ErrSize. With Drop instead of Body, what arrives is thrown away as early as
// the transport can, and N says how much that was.
type Op struct {
	Kind Kind
	Peer int
	Path int    // spine, or Single
	ID   uint64 // the caller's; handed back by Poll
	Head []byte // HeadSize bytes
	Body []byte // from Alloc, at most MaxBody bytes; the caller must not touch Head or Body until the Op is done
	Drop int    // a receive without Body: take up to so many bytes and throw them away
	N    int    // bytes of Body sent or received, or dropped; set when done

	// A posted receive with Near is handed back by Poll a first time, with Coming set, when
	// its head is there and so many bytes of its body at most are still to come. It is not
	// done then: nothing but ID, Peer and Head may be looked at. A transport that cannot
	// tell, or sees all at once, leaves that out.
	Near   int
	Coming bool

	// Done is when an Exchange had done a receive, which may be before the Exchange
	// returns; zero where the transport cannot tell, and after Poll.
	Done time.Time
}

// HeadSize is the length of every Head. One size for all messages lets a
// receiver post its buffers before it knows what will come.
const HeadSize = 40

// MaxBody is the largest Body: a receiver can refuse a length that is not sane.
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

// An Endpoint is one rank's place on the network. It is used by one goroutine
// at a time, except Close and Wake, which may be called from any.
//
// A failed connection or a message that breaks the rules ends the Endpoint: the
// call under way and all later ones return the error, and only Close is left.
// So does a peer that has closed, once there is something to send to it or data
// to receive from it; receives of requests from it just stay without an answer.
type Endpoint interface {
	// Exchange does one phase: all sends and receives at once, full duplex. It
	// returns when all are done or ctx ends. Operations of kinds Send and Recv
	// only, at most one of each per stream. If ctx ends it in the middle, the
	// Endpoint has ended too.
	Exchange(ctx context.Context, ops []Op) error

	// Post queues operations without blocking on the network. The slice is
	// copied, what Head and Body point at is not. An operation that cannot be
	// posted is an error, and then none is.
	Post(ops []Op) error

	// Poll waits until at least one posted operation is done, fills done with
	// as many as are, in any order, and returns their number. With nothing
	// posted it waits for ctx or Wake. What is posted stays so when ctx ends.
	Poll(ctx context.Context, done []Op) (int, error)

	// Wake makes a Poll that waits, or else the next one, return at once; it
	// may then return 0 operations. Wakes do not add up.
	Wake()

	// Alloc returns n bytes that the endpoint can send from and receive into
	// without copying (pinned or C memory, or that of a file, where it matters).
	// They are the endpoint's: nobody may touch them once it is closed. Nor may
	// anybody change what has been sent from them before that: the network may
	// still be sending it, even when the Op is done.
	Alloc(n int) []byte

	Rank() int

	// Retransmits returns how many segments the network sent twice since the
	// endpoint was opened, where the transport can tell, else 0.
	Retransmits() uint64

	// Close unblocks every call with ErrClosed and frees what was opened.
	Close() error
}

// A PeerError says which peer's connection failed. An Endpoint returns one
// wherever it knows the peer, so that the run can name the server.
type PeerError struct {
	Peer int
	Op   string // "send", "receive", "connect", …
	Err  error
}

func (e *PeerError) Error() string { return fmt.Sprintf("%s rank %d: %v", e.Op, e.Peer, e.Err) }

// Unwrap returns the cause.
func (e *PeerError) Unwrap() error { return e.Err }

// A Hook rings when a context ends. It is set anew only when the context is
// another one: most phases have the same, and setting it allocates.
type Hook struct {
	done <-chan struct{}
	stop func() bool
}

// Set has ring called when ctx ends, and nothing else any more.
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

// On reports whether it rings when ctx ends.
func (h *Hook) On(ctx context.Context) bool { return h.done == ctx.Done() }

// Clear has nothing called any more.
func (h *Hook) Clear() {
	if h.stop != nil {
		h.stop()
	}
	h.done, h.stop = nil, nil
}

// Ring puts a token into a channel that has room for one, unless one is there: whoever waits for it
// has not looked since.
func Ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}
