package network

import (
	"fmt"

	"evbench/internal/show"
)

// aboveLeaves finds the switches that have hosts and stand above leaves, by index, such as spines
// with the adapter of a subnet manager, a router or storage: they join several switches with more
// hosts than they have, which no cable joins with each other, and have more cables to switches than
// hosts. Their hosts take no part in an exchange unless they are named.
func (n *Network) aboveLeaves(g neighbours) []bool {
	out, hosts := make([]bool, n.Switches()), make([]int32, n.Switches())
	for i := range hosts {
		hosts[i] = int32(n.HostCount(n.Switch(i)))
	}
	for i := range out {
		out[i] = hosts[i] > 0 && n.above(g, hosts, i)
	}
	return out
}

func (n *Network) above(g neighbours, hosts []int32, i int) bool {
	own, below := hosts[i], map[int32]bool{}
	for _, j := range g.of(i) {
		if c := hosts[j]; c > own {
			below[j] = true
		} else if c > 0 {
			return false
		}
	}
	cables := int32(0)
	for _, e := range n.Ends(n.Switch(i)) {
		if e.Node != NoNode && !n.IsHost(e.Node) && e.Node != n.Switch(i) {
			cables++
		}
	}
	if len(below) < 2 || cables <= own {
		return false
	}
	for j := range below {
		for _, k := range g.of(int(j)) {
			if below[k] {
				return false
			}
		}
	}
	return true
}

// leafHosts returns the hosts of each leaf, by the index of a switch; 0 of switches above leaves.
func (n *Network) leafHosts(g neighbours) []int32 {
	out := make([]int32, n.Switches())
	for i, above := range n.aboveLeaves(g) {
		if !above {
			out[i] = int32(n.HostCount(n.Switch(i)))
		}
	}
	return out
}

// Above returns the hosts on switches above leaves.
func (n *Network) Above() (hosts []Node) {
	if n.Notation != "" {
		return nil
	}
	for i, above := range n.aboveLeaves(n.neighbours()) {
		if above {
			hosts = append(hosts, n.HostsOn(n.Switch(i))...)
		}
	}
	return hosts
}

// AboveNote says which hosts take no part for that; "": none.
func (n *Network) AboveNote() string {
	var names []string
	for _, h := range n.Above() {
		names = append(names, fmt.Sprintf("%s on %s", n.Name(h), n.Name(n.Leaf(h).Node)))
	}
	if names == nil {
		return ""
	}
	return "hosts on switches above leaves take no part: " + show.Few(names)
}
