package loadcurve

import (
	"fmt"

	"evbench/model/credit"
	"evbench/site/lft"
	"evbench/site/network"
)

// NewWires returns the links of a network, all of one speed and length.
func NewWires(n *network.Network, flit, wire credit.Time) *credit.Wires {
	w := &credit.Wires{Hosts: n.Hosts()}
	for v := range network.Node(n.Nodes()) {
		w.First = append(w.First, int32(len(w.To)))
		for _, far := range n.Ends(v) {
			w.From = append(w.From, int32(v))
			w.To = append(w.To, int32(far.Node))
		}
	}
	w.First = append(w.First, int32(len(w.To)))
	w.Back = make([]int32, len(w.To))
	w.Flit, w.Wire = make([]credit.Time, len(w.To)), make([]credit.Time, len(w.To))
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

// RoutesOf returns the routes of forwarding tables on the wires of their network: one link for each
// switch and host, by the host's first LID, and the lanes of the tables if there are several. An
// entry that leads to a port without a cable, or back to the switch, is an error. A host without an
// entry is an error only when a packet needs it.
func RoutesOf(t *lft.Tables, w *credit.Wires) (*credit.Routes, error) {
	n := t.Net
	if n.Hosts() != w.Hosts || n.Switches() != len(w.First)-1-w.Hosts {
		return nil, fmt.Errorf("tables of %d hosts and %d switches on wires of %d and %d",
			n.Hosts(), n.Switches(), w.Hosts, len(w.First)-1-w.Hosts)
	}
	r := credit.NewRoutes(w)
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

func lanesOf(t *lft.Tables, w *credit.Wires) []uint8 {
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
const FDRFlit credit.Time = 11429

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
func FDR() credit.Params {
	const ns = 1000
	return credit.Params{
		Packet: 32, Lanes: 1, Buffer: 800,
		Organisation: credit.PerOutput, Arbitration: credit.Oldest, CutThrough: true, Reads: 3,
		Delay: 100*ns - FDRFlit, After: 50 * ns, OutputQueue: 78, Cross: 10667,
		InOrder: true, CreditAtEnds: true, Update: 256 * ns, Overhead: 1429,
		Host: credit.HostParams{
			Generate: 9600, Cross: 10000, Ahead: 4, Queue: 36, Take: 9600, Behind: 7771 - FDRFlit,
		},
	}
}
