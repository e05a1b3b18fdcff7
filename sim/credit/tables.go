package credit

import (
	"fmt"

	"evbench/routing/lft"
	"evbench/topology/network"
)

// RoutesOf returns the routes of forwarding tables on the wires of their network: one link
// for each switch and host, that of the host's first LID, and the lanes of the tables where
// they use more than one. An entry that leads to a port without a cable, or back to the
// switch, is an error; a host without an entry is not, until a packet asks for it.
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
