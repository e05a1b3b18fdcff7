package judge

import (
	"evbench/routing/lft"
	"evbench/topology/network"
)

// A HostPair is a route from a host to another.
type HostPair struct {
	Src string `json:"src"`
	Dst string `json:"dst"`
}

const mostPairs = 100

// sharers names pairs whose routes leave by a port, the first by receiver and then sender. It follows the
// routes to those hosts alone that the port leads to.
func (f *fabric) sharers(t *lft.Tables, at network.End) (out []HostPair) {
	below := map[network.Node][]network.Node{} // hosts of the job by switch
	var leaves []network.Node
	for _, v := range f.hosts.Nodes {
		leaf := f.net.Leaf(v).Node
		if below[leaf] == nil {
			leaves = append(leaves, leaf)
		}
		below[leaf] = append(below[leaf], v)
	}
	for _, dst := range f.hosts.Nodes {
		lid := int(t.Net.Info(dst).LID)
		if t.Port(at.Node, lid) != at.Port {
			continue
		}
		for _, leaf := range leaves {
			if !f.passes(t, leaf, lid, at.Node) {
				continue
			}
			for _, src := range below[leaf] {
				if src == dst {
					continue
				}
				if out = append(out, HostPair{f.net.Info(src).Name, f.net.Info(dst).Name}); len(out) == mostPairs {
					return out
				}
			}
		}
	}
	return out
}

// passes reports whether the route from a switch to a LID passes another.
func (f *fabric) passes(t *lft.Tables, from network.Node, lid int, over network.Node) bool {
	for range t.Net.Switches() {
		if from == over {
			return true
		}
		next := t.Net.At(from, int(t.Port(from, lid)))
		if next.Node == network.NoNode || t.Net.IsHost(next.Node) {
			return false
		}
		from = next.Node
	}
	return false
}
