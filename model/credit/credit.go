// Package credit answers: how much does a lossless network deliver if packets wait for room in the
// next buffer and for each other?
//
// It is a model of packets in virtual time: links, and for each port and virtual lane an
// input buffer with credits, as InfiniBand has them. A packet is one unit of work; the
// times of its flits are arithmetic. Times are whole ticks, whose length the caller
// chooses (evbench: picoseconds); lengths are in flits, the unit of credits. Results
// depend on the input and the seed only, to the byte.
//
// The package opens nothing, reads no clock and knows neither InfiniBand's headers nor MPI. Two
// simulators by other authors confirm its figures; see docs/evidence/models.md.
package credit

import (
	"fmt"
	"math"
	"slices"

	"evbench/site/network"
)

// Time is in ticks.
type Time = int64

const never Time = math.MaxInt64 / 4

// An Organisation is the queueing of packets in an input buffer.
type Organisation uint8

const (
	// FIFO is one queue a lane: a packet waits for all earlier packets of its port.
	FIFO Organisation = iota
	// PerOutput is a queue for each output in common space (virtual output queues).
	PerOutput
)

// An Arbitration chooses the next of the packets that wait for an output.
type Arbitration uint8

const (
	// RoundRobin takes the next input after the one served last.
	RoundRobin Arbitration = iota
	// Oldest takes the packet whose head came first to this switch. While that packet waits, all
	// others wait.
	Oldest
)

// Params describe all switches and hosts.
type Params struct {
	Packet int // flits of a full packet
	Lanes  int // virtual lanes, 1 to 15
	Buffer int // flits of an input port and lane

	Organisation Organisation
	Arbitration  Arbitration
	// CutThrough starts a packet only when the next buffer has room for all of it. Otherwise a
	// packet may start without (wormhole), and keeps its output while it waits. PerOutput needs
	// CutThrough.
	CutThrough bool
	// Reads is how many packets leave an input buffer at a time, with PerOutput. 0 is any number.
	Reads int

	Delay  Time // from a head's arrival at a switch to the earliest it may leave
	Gap    Time // between the last flit of a packet and the first of the next in its buffer, with FIFO
	Idle   Time // between two packets of a lane on a switch's link, with FIFO
	Credit Time // from a flit's leaving a buffer to when its room may be used

	// OutputQueue is the room in flits between the crossbar and the link. Cross is the ticks that a
	// flit takes to get there, 0 as on the link. Both are for PerOutput. The queue must hold more
	// than a packet. After is the part of Delay behind the crossbar.
	OutputQueue int
	Cross       Time
	After       Time
	// InOrder keeps flits in order on the way from an input buffer to the crossbar, with PerOutput:
	// a head that came to an idle queue delays other flits from the buffer by the part of Delay
	// before the crossbar.
	InOrder bool
	// CreditAtEnds makes credits wait for the end of the packet on the link back. Update is the
	// period of credit reports in ticks, with PerOutput: a report leaves at the first end of a
	// packet on the link back after each beginning of a period. All links share the period. 0: as
	// soon as a packet has left the buffer.
	CreditAtEnds bool
	Update       Time
	Overhead     Time // that each packet, or with Update each report, costs on a link
	// RouteAhead chooses a packet's output when its head leaves the switch before.
	RouteAhead bool

	Host HostParams
}

// HostParams describe the adapters of hosts.
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

// Wires are the links of a network, each direction on its own, numbered by the sending port: the
// links of node v are First[v] to First[v+1]-1, in the order of its ports. Nodes are the network's
// nodes, hosts first. A host has one link.
type Wires struct {
	Hosts int
	First []int32
	From  []int32 // node
	To    []int32 // node; -1 without a cable
	Back  []int32 // the link in the other direction
	Flit  []Time  // ticks for a flit
	Wire  []Time  // ticks a bit is under way
}

// Link returns the link that begins at a port, counted from 1.
func (w *Wires) Link(v network.Node, port int) int32 { return w.First[v] + int32(port) - 1 }

func (w *Wires) switches() int { return len(w.First) - 1 - w.Hosts }

// A Builder makes Wires of cables without port numbers.
type Builder struct {
	hosts, nodes int
	flit, wire   Time
	from, to     []int32
	number       []int32 // by order of making
}

// NewBuilder begins a network of hosts and switches.
func NewBuilder(hosts, switches int, flit, wire Time) *Builder {
	return &Builder{hosts: hosts, nodes: hosts + switches, flit: flit, wire: wire}
}

// Cable joins two nodes and returns both directions, numbered in the order of making.
func (b *Builder) Cable(x, y int) (to, back int32) {
	b.from = append(b.from, int32(x), int32(y))
	b.to = append(b.to, int32(y), int32(x))
	return int32(len(b.to) - 2), int32(len(b.to) - 1)
}

// Build returns the wires. Link gives their numbers from then on.
func (b *Builder) Build() *Wires {
	w := &Wires{Hosts: b.hosts, First: make([]int32, b.nodes+1)}
	n := len(b.from)
	for _, v := range b.from {
		w.First[v+1]++
	}
	for v := range b.nodes {
		w.First[v+1] += w.First[v]
	}
	w.From, w.To, w.Back = make([]int32, n), make([]int32, n), make([]int32, n)
	w.Flit, w.Wire = make([]Time, n), make([]Time, n)
	b.number = make([]int32, n)
	next := slices.Clone(w.First)
	for i, v := range b.from {
		l := next[v]
		next[v]++
		b.number[i] = l
		w.From[l], w.To[l], w.Flit[l], w.Wire[l] = v, b.to[i], b.flit, b.wire
	}
	for i := range b.from {
		w.Back[b.number[i]] = b.number[i^1]
	}
	return w
}

// Link returns the number of a direction of a cable.
func (b *Builder) Link(made int32) int32 { return b.number[made] }
