package papers

import (
	"math/rand/v2"

	"evbench/topology/network"
)

// otherPorts returns a network whose switches above the leaves have their down ports
// numbered in an order drawn by a seed; ports up, nodes, LIDs and GUIDs stay. Ports that lead
// to a lower level in the order of the nodes, which is that of levels, are down ports.
func otherPorts(n *network.Network, seed uint64) (*network.Network, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	var b network.Builder
	for h := range n.Hosts() {
		b.Host(n.Info(network.Node(h)))
	}
	moved := map[network.End]uint8{}
	for i := range n.Switches() {
		v := n.Switch(i)
		b.Switch(n.Info(v), len(n.Ends(v)))
		var down []uint8
		for p, far := range n.Ends(v) {
			if far.Node != network.NoNode && !n.IsHost(far.Node) && far.Node < v {
				down = append(down, uint8(p+1))
			}
		}
		for k, to := range rng.Perm(len(down)) {
			moved[network.End{Node: v, Port: down[k]}] = down[to]
		}
	}
	end := func(e network.End) network.End {
		if port, ok := moved[e]; ok {
			e.Port = port
		}
		return e
	}
	for _, c := range n.Cables() {
		if err := b.Cable(end(c.A), end(c.B)); err != nil {
			return nil, err
		}
	}
	return b.Build(), nil
}
