package credit

import (
	"evbench/topology/network"
)

// Wires are the links of a network, each direction for itself, numbered by the port that
// sends: those of node v are First[v] to First[v+1]-1, in the order of its ports. Nodes
// are those of the network, hosts first; a host has one link.
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

// A Builder makes Wires of cables, where nobody asks for ports.
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

// Build returns the wires. Link tells their numbers from then on.
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
	next := append([]int32(nil), w.First...)
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
