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

// switches returns the number of switches.
func (w *Wires) switches() int { return len(w.First) - 1 - w.Hosts }
