package network

import "evbench/scheduler/judge"

// ForJudge returns the network as plain data, as the judge of plans over tables takes it.
func (n *Network) ForJudge() *judge.Network {
	out := &judge.Network{Hosts: n.hosts, TopLID: n.MaxLID()}
	for v := range Node(n.Nodes()) {
		info := n.Info(v)
		node := judge.Node{Name: n.Name(v), GUID: n.Key(v), LID: int(info.LID)}
		if n.IsHost(v) {
			node.LMC = int(info.LMC)
		}
		for i, e := range n.Ends(v) {
			node.Ports = append(node.Ports, judge.Port{Node: int(e.Node), Port: int(e.Port), Rate: n.Rate(End{v, uint8(i + 1)})})
		}
		out.Nodes = append(out.Nodes, node)
	}
	return out
}

// ByHost are the nodes of each host of a job, in their order.
func (j Job) ByHost() [][]int {
	out := make([][]int, j.Hosts())
	for i, v := range j.Nodes {
		h := i
		if j.Host != nil {
			h = j.Host[i]
		}
		out[h] = append(out[h], int(v))
	}
	return out
}
