package rdma

import "evbench/transport"

// What this package asks of verbs. One thread at a time uses a domain and its queues, but for
// domain.interrupt.

// A device is an open port.
type device interface {
	port() Port
	domain() (domain, error)
	// resent is how many packets the port has sent again, where the driver counts them.
	resent() uint64
	close() error
}

// A domain has the memory, the queue pairs and the completions of an endpoint.
type domain interface {
	// alloc returns n bytes, registered.
	alloc(n int, moved func()) (region, error)
	pair() (queue, error)
	// poll fills done with what has completed.
	poll(done []completion) (int, error)
	// arm has the next completion end a sleep. What has completed before may not.
	arm() error
	// sleep waits for a completion, or until interrupt is called or has been since the last sleep.
	sleep() error
	interrupt()
	// close frees all, the queue pairs too.
	close() error
}

// A queue is a queue pair with room for depth sends and depth receives.
type queue interface {
	number() uint32
	// connect makes it ready; counter is the number of its own first packet.
	connect(to way, counter uint32) error
	send(w work) error
	receive(w work) error
}

const depth = 128

// A work is a message, or a part of one, on its way from or to registered memory.
type work struct {
	id         uint64
	head, body span
	total      uint32 // bytes of the whole body: a send tells that to the receiver
}

// A span is registered memory.
type span struct {
	b   []byte
	key uint32
}

type region span

// A completion is the end of a work.
type completion struct {
	id     uint64
	status status
	n      int    // bytes received, with the head
	total  uint32 // as the sender has told
	why    string // what the library calls a status that is otherwise
}

// A status is how a work has ended.
type status uint8

const (
	fine      status = iota
	tooLong          // a message did not fit into its receive
	refused          // the peer had no room for it
	noAnswer         // it was sent several times in vain
	flushed          // the queue pair had failed before
	otherwise        // else; completion.why says what
)

const (
	// eager is the most bytes of a body whose send is done when it is posted.
	eager = 4096
	// partMost is the longest part that a body is sent in: ports have a longest message.
	partMost = 4 << 20
	headSize = transport.HeadSize
)

// retries is how often a message that nobody answers is sent again. More is no number: soft-RoCE takes
// 7 for ever.
const retries = 6
