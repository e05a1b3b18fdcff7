// Package credit answers: what does a lossless network deliver, where packets wait for
// room in the next buffer and for each other?
//
// It is a model of packets in virtual time: links, and for each port and virtual lane an
// input buffer with credits, as InfiniBand has them. A packet is one unit of work; the
// times of its flits are arithmetic. Times are whole ticks, whose length the caller
// chooses (evbench: picoseconds); lengths are in flits, the unit of credits. Results
// depend on the input and the seed only, to the byte.
//
// The package opens nothing, reads no clock and knows neither InfiniBand's headers nor
// MPI. Its figures are held against two simulators that others wrote; see
// docs/evidence/lossless.md.
package credit

import (
	"fmt"
	"math"
)

// Time is in ticks.
type Time = int64

// never is later than any event.
const never Time = math.MaxInt64 / 4

// An Organisation says how the packets of an input buffer are queued.
type Organisation uint8

const (
	// FIFO is one queue a lane: a packet waits for all that came before it by its port.
	FIFO Organisation = iota
	// PerOutput is a queue for each output in common space (virtual output queues).
	PerOutput
)

// An Arbitration says which of the packets that wait for an output is next.
type Arbitration uint8

const (
	// RoundRobin takes the next input after the one served last.
	RoundRobin Arbitration = iota
	// Oldest takes the packet whose head came first to this switch; while it may not go
	// no other does.
	Oldest
)

// Params are those of all switches and hosts.
type Params struct {
	Packet int // flits of a full packet
	Lanes  int // virtual lanes, 1 to 15
	Buffer int // flits of an input port and lane

	Organisation Organisation
	Arbitration  Arbitration
	// CutThrough starts a packet only when the next buffer has room for all of it; else
	// it may start without (wormhole), and then keeps its output while it waits. With
	// PerOutput it must be set.
	CutThrough bool
	// Reads is how many packets leave an input buffer at a time, with PerOutput. 0 is
	// any number.
	Reads int

	Delay  Time // from a head's arrival at a switch to the earliest it may leave
	Gap    Time // between the last flit of a packet and the first of the next in its buffer, with FIFO
	Idle   Time // between two packets of a lane on a switch's link, with FIFO
	Credit Time // from a flit's leaving a buffer to when its room may be used

	// OutputQueue is the room in flits between the crossbar and the link, and Cross the
	// ticks that a flit takes to get there, 0 as on the link, with PerOutput. The queue
	// must hold more than a packet. After says which part of Delay lies behind the crossbar.
	OutputQueue int
	Cross       Time
	After       Time
	// InOrder has flits keep their order on the way from an input buffer to the crossbar,
	// with PerOutput: a head that came to an idle queue holds back what else leaves the
	// buffer for the part of Delay before the crossbar.
	InOrder bool
	// CreditAtEnds has credits wait for the end of the packet on the link back. Update is
	// the period of their reports in ticks, with PerOutput: one goes at the first end of a
	// packet on the link back after each beginning of a period, which is that of all links.
	// 0: as soon as a packet has left the buffer.
	CreditAtEnds bool
	Update       Time
	Overhead     Time // that each packet, or with Update each report, costs on a link
	// RouteAhead decides on a packet's output when its head leaves the switch before.
	RouteAhead bool

	Host HostParams
}

// HostParams are those of hosts' adapters.
type HostParams struct {
	Before Time // from a packet's creation to the earliest it may leave its host
	Behind Time // from the last flit's arrival to when the packet counts as received; may be negative
	Take   Time // ticks a flit takes to leave the receive buffer. 0: it never fills

	// The generator of PerOutput: ticks for a flit, ticks for a flit on its way to the
	// queue at the link, how many flits it is ahead of that, and room of that queue.
	Generate, Cross Time
	Ahead, Queue    int
}

func (p Params) check() error {
	switch {
	case p.Packet < 1:
		return fmt.Errorf("packet: %d flits; it needs at least one", p.Packet)
	case p.Lanes < 1 || p.Lanes > maxLanes:
		return fmt.Errorf("lanes: %d; there are 1 to %d", p.Lanes, maxLanes)
	case p.Buffer < 1:
		return fmt.Errorf("buffer: %d flits; it needs at least one", p.Buffer)
	case p.CutThrough && p.Buffer < p.Packet:
		return fmt.Errorf("buffer: %d flits; cut-through needs room for a packet of %d", p.Buffer, p.Packet)
	case p.Organisation == PerOutput && !p.CutThrough:
		return fmt.Errorf("a queue per output needs cut-through")
	case p.Organisation == PerOutput && p.OutputQueue <= p.Packet:
		return fmt.Errorf("output queue: %d flits; it must hold more than a packet of %d", p.OutputQueue, p.Packet)
	}
	return nil
}

const maxLanes = 15
