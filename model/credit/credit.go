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

	"evbench/site/lft"
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

// NewWires returns the links of a network, all of one speed and length.
func NewWires(n *network.Network, flit, wire Time) *Wires {
	w := &Wires{Hosts: n.Hosts()}
	for v := range network.Node(n.Nodes()) {
		w.First = append(w.First, int32(len(w.To)))
		for _, far := range n.Ends(v) {
			w.From = append(w.From, int32(v))
			w.To = append(w.To, int32(far.Node))
		}
	}
	w.First = append(w.First, int32(len(w.To)))
	w.Back = make([]int32, len(w.To))
	w.Flit, w.Wire = make([]Time, len(w.To)), make([]Time, len(w.To))
	for v := range network.Node(n.Nodes()) {
		for i, far := range n.Ends(v) {
			l := w.First[v] + int32(i)
			w.Flit[l], w.Wire[l], w.Back[l] = flit, wire, -1
			if far.Node != network.NoNode {
				w.Back[l] = w.Link(far.Node, int(far.Port))
			}
		}
	}
	return w
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

// RoutesOf returns the routes of forwarding tables on the wires of their network: one link for each
// switch and host, by the host's first LID, and the lanes of the tables if there are several. An
// entry that leads to a port without a cable, or back to the switch, is an error. A host without an
// entry is an error only when a packet needs it.
func RoutesOf(t *lft.Tables, w *Wires) (*Routes, error) {
	n := t.Net
	if n.Hosts() != w.Hosts || n.Switches() != w.switches() {
		return nil, fmt.Errorf("tables of %d hosts and %d switches on wires of %d and %d",
			n.Hosts(), n.Switches(), w.Hosts, w.switches())
	}
	r := NewRoutes(w)
	for i := range n.Switches() {
		row, sw := t.Row(i), n.Switch(i)
		for dst := range w.Hosts {
			port := row[n.Info(network.Node(dst)).LID]
			if port == lft.NoPort {
				continue
			}
			if port == 0 || int(port) > len(n.Ends(sw)) || w.To[w.Link(sw, int(port))] < 0 {
				return nil, fmt.Errorf("switch %d, host %d: port %d has no cable", i, dst, port)
			}
			r.Set(i, dst, w.Link(sw, int(port)))
		}
	}
	if t.Lanes() > 1 {
		r.Lane = lanesOf(t, w)
	}
	return r, nil
}

func lanesOf(t *lft.Tables, w *Wires) []uint8 {
	n := t.Net
	out := make([]uint8, w.Hosts*w.Hosts)
	for src := range w.Hosts {
		leaf := n.Leaf(network.Node(src)).Node
		if leaf == network.NoNode || n.IsHost(leaf) {
			continue
		}
		for dst := range w.Hosts {
			out[src*w.Hosts+dst] = uint8(t.Lane(leaf, int(n.Info(network.Node(dst)).LID)))
		}
	}
	return out
}

// FDRFlit is the time of a flit of 64 bytes on a link of InfiniBand FDR, in picoseconds: four lanes
// of 14 Gbit/s, times 0.8 as in the flit-level model that FDR describes: 5,600 MB/s.
const FDRFlit Time = 11429

// FDRFlitBytes is the length of a flit of FDR.
const FDRFlitBytes = 64

// FDR returns switches and adapters of InfiniBand FDR as in the public flit-level model of OMNeT++
// (garyson/ib_flit_sim, which Zahavi, Keslassy and Kolodny used for "Quasi Fat Trees", HOTI 2014):
// packets of 2 KB, one lane, an input buffer of 50 KB with a queue for each output and three reads
// at a time, whole packets, the oldest head first, 100 ns a switch, half of it before the crossbar.
// Times are in picoseconds, for links of FDRFlit.
//
// 24 bytes cross a crossbar each 4 ns, and 16 bytes a host each 2.5 ns. Each 256 ns 8 bytes report
// credits, which the next link knows when they begin to arrive. A host's sink takes a flit 9.6 ns
// after its first bit. The last flit of a packet that came alone has waited 7.771 ns in it.
func FDR() Params {
	const ns = 1000
	return Params{
		Packet: 32, Lanes: 1, Buffer: 800,
		Organisation: PerOutput, Arbitration: Oldest, CutThrough: true, Reads: 3,
		Delay: 100*ns - FDRFlit, After: 50 * ns, OutputQueue: 78, Cross: 10667,
		InOrder: true, CreditAtEnds: true, Update: 256 * ns, Overhead: 1429,
		Host: HostParams{
			Generate: 9600, Cross: 10000, Ahead: 4, Queue: 36, Take: 9600, Behind: 7771 - FDRFlit,
		},
	}
}
