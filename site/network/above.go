package network

import (
	"fmt"
	"maps"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/show"
)

// aboveLeaves finds the switches that have hosts and stand above leaves, by index, such as spines
// with the adapter of a subnet manager, a router or storage: they join several switches with more
// hosts than they have, which no cable joins with each other or with the others beside them, and have
// more cables to switches than hosts; or top switches, which have cables to switches of several pods.
// Their hosts take no part in an exchange unless they are named. Where a cable joins two of the other
// switches with hosts, as in a torus one of whose switches has a host less, the network has no leaves,
// and nothing stands above them.
func (n *Network) aboveLeaves(g neighbours) []bool {
	out, hosts := make([]bool, n.Switches()), make([]int32, n.Switches())
	for i := range hosts {
		hosts[i] = int32(n.HostCount(n.Switch(i)))
	}
	tops := n.topsWithHosts(g, hosts)
	for _, i := range tops {
		hosts[i] = 0
	}
	for i := range out {
		out[i] = hosts[i] > 0 && n.above(g, hosts, i)
	}
	for i, own := range hosts {
		if own > 0 && !out[i] && slices.ContainsFunc(g.of(i), func(j int32) bool { return int(j) != i && hosts[j] > 0 && !out[j] }) {
			clear(out)
			return out
		}
	}
	for _, i := range tops {
		out[i] = true
	}
	return out
}

// topsWithHosts returns the switches with hosts, and more cables to switches, that join several pods, groups of
// leaves and the switches beside these, and have at most half the hosts of any leaf there, where others join pods
// too, or each pod has several leaves: a leaf of a damaged tree is no top switch. Leaves are here switches with at least as
// many hosts as cables to switches or, where there are none, with the most hosts. O(switches · leaves).
func (n *Network) topsWithHosts(g neighbours, hosts []int32) (tops []int) {
	full, most := make([]bool, len(hosts)), make([]bool, len(hosts))
	anyFull, top := false, slices.Max(append([]int32{0}, hosts...))
	for i, own := range hosts {
		full[i], most[i] = own > 0 && own >= n.upCables(i), own > 0 && own == top
		anyFull = anyFull || full[i]
	}
	leaf := most
	if anyFull {
		leaf = full
	}
	pods, beside := newForest(len(hosts)), slices.Clone(leaf)
	for i := range hosts {
		for _, j := range g.of(i) {
			if leaf[i] {
				pods.join(Node(i), Node(j))
				beside[j] = true
			}
		}
	}
	joining, leaves := 0, map[Node]int{} // leaves of pods
	for l := range hosts {
		if leaf[l] {
			leaves[pods.root(Node(l))]++
		}
	}
	for i, own := range hosts {
		joined, least := map[Node]bool{}, top
		for _, j := range g.of(i) {
			if beside[j] {
				joined[pods.root(Node(j))] = true
			}
		}
		if beside[i] || len(joined) < 2 {
			continue
		}
		joining++
		for l := range hosts {
			if leaf[l] && joined[pods.root(Node(l))] {
				least = min(least, hosts[l])
			}
		}
		if own > 0 && own < n.upCables(i) && 2*own <= least {
			tops = append(tops, i)
		}
	}
	return slices.DeleteFunc(tops, func(i int) bool {
		return joining < 2 && slices.ContainsFunc(g.of(i), func(j int32) bool { return leaves[pods.root(Node(j))] == 1 })
	})
}

// upCables is the number of cables from a switch, by index, to others.
func (n *Network) upCables(i int) int32 {
	up := func(e End) bool { return e.Node != NoNode && !n.IsHost(e.Node) && e.Node != n.Switch(i) }
	return int32(lists.CountIf(n.Ends(n.Switch(i)), up))
}

func (n *Network) above(g neighbours, hosts []int32, i int) bool {
	own, below := hosts[i], map[int32]bool{}
	var few []int32 // leaves with as few hosts, such as one of services
	for _, j := range g.of(i) {
		if c := hosts[j]; c > own {
			below[j] = true
		} else if c > 0 {
			few = append(few, j)
		}
	}
	if len(below) < 2 || n.upCables(i) <= own {
		return false
	}
	for _, j := range append(few, slices.Collect(maps.Keys(below))...) {
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
	names := lists.Map(n.Above(), func(h Node) string { return fmt.Sprintf("%s on %s", n.Name(h), n.Name(n.Leaf(h).Node)) })
	if names == nil {
		return ""
	}
	return "hosts on switches above leaves take no part: " + show.Few(names)
}
