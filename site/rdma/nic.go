package rdma

import "evbench/transport"

// The interface to verbs. One thread at a time may use a domain and its queues, except for
// domain.interrupt.

// A device is an open port.
type device interface {
	port() Port
	domain() (domain, error)
	// resent is how many packets the port has sent again, if the driver counts them.
	resent() uint64
	close() error
}

// A domain has the memory, the queue pairs and the completions of an endpoint.
type domain interface {
	// alloc returns n bytes, registered.
	alloc(n int, moved func()) (region, error)
	pair() (queue, error)
	// poll fills done with completions.
	poll(done []completion) (int, error)
	// arm makes the next completion end a sleep. Earlier completions may not end it.
	arm() error
	// sleep waits for a completion or an interrupt, including one since the last sleep.
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
	total      uint32 // bytes of the whole body: the receiver gets it with the message
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
	total  uint32 // as told by the sender
	why    string // text of the library for status otherwise
}

// A status is the result of a work.
type status uint8

const (
	fine      status = iota
	tooLong          // a message did not fit into its receive
	refused          // the peer had no room for it
	noAnswer         // the peer did not answer the retries
	flushed          // the queue pair had failed before
	otherwise        // any other failure; completion.why names it
)

const (
	// eager is the longest body, in bytes, whose send is done when it is posted.
	eager = 4096
	// partMost is the longest part of a body: ports limit the length of a message.
	partMost = 4 << 20
	headSize = transport.HeadSize
)

// retries is how often an unanswered message is sent again. The next value, 7, means forever to
// soft-RoCE.
const retries = 6
