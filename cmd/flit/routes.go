package main

import (
	"evbench/sim/credit"
	"evbench/topology/network"
)

// choices are the routings of the simulators, by how a switch decides.
var choices = map[string]credit.Choice{
	"dmodk": credit.First, "dmodk-next": credit.First, "minhop-bal": credit.First,
	"nca": credit.Random, "random": credit.Random,
	"anca": credit.BetterOfTwo, "adaptive": credit.BetterOfTwo,
}

// routes returns the routes of a case: the shortest ways, all of them or the one that
// its rule picks.
func routes(name string, n *network.Network, w *credit.Wires) (*credit.Routes, error) {
	r := credit.NewRoutes(w)
	r.Choice = choices[name]
	level, err := network.Ranks(n, nil)
	if err != nil {
		return nil, err
	}
	for dst := range n.Hosts() {
		ways := shortest(n, network.Node(dst))
		for i := range n.Switches() {
			sw := n.Switch(i)
			var links []int32
			for p, far := range n.Ends(sw) {
				if far.Node != network.NoNode && ways[far.Node] >= 0 && ways[far.Node] < ways[sw] {
					links = append(links, w.Link(sw, p+1))
				}
			}
			if r.Choice == credit.First && len(links) > 1 {
				links = []int32{rule(n, w, sw, level[sw], dst, links)}
			}
			r.Set(i, dst, links...)
		}
	}
	if name == "minhop-bal" {
		balance(r, n, w)
	}
	return r, nil
}

// rule picks the up-link of d-mod-k: (destination div k^h) mod k, and where that is dead
// the next live one.
func rule(n *network.Network, w *credit.Wires, sw network.Node, level, dst int, links []int32) int32 {
	k := len(n.Ends(sw)) / 2
	at := dst
	for range level - 1 {
		at /= k
	}
	for i := range k {
		want := w.Link(sw, k+1+(at+i)%k)
		for _, l := range links {
			if l == want {
				return l
			}
		}
	}
	return links[0]
}

// shortest returns the number of links from each node to a host, -1 where it is not
// reached.
func shortest(n *network.Network, dst network.Node) []int {
	ways := make([]int, n.Nodes())
	for i := range ways {
		ways[i] = -1
	}
	ways[dst] = 0
	for next := []network.Node{dst}; len(next) > 0; next = next[1:] {
		for _, far := range n.Ends(next[0]) {
			if far.Node != network.NoNode && ways[far.Node] < 0 {
				ways[far.Node] = ways[next[0]] + 1
				next = append(next, far.Node)
			}
		}
	}
	return ways
}

// balance picks links as OpenSM's min-hop counters roughly do: destination mod k if it is
// live, else the least used of the leaf, ties to the lower.
func balance(r *credit.Routes, n *network.Network, w *credit.Wires) {
	for i := range n.Switches() {
		sw := n.Switch(i)
		if far := n.Ends(sw)[0].Node; far != network.NoNode && n.IsHost(far) {
			balanceLeaf(r, n, w, i, sw)
		}
	}
}

func balanceLeaf(r *credit.Routes, n *network.Network, w *credit.Wires, i int, sw network.Node) {
	k := len(n.Ends(sw)) / 2
	used := make(map[int32]int)
	var broken []int
	for dst := range n.Hosts() {
		if n.Leaf(network.Node(dst)).Node == sw {
			continue
		}
		want := w.Link(sw, k+1+dst%k)
		if alive(n, w, want, dst) {
			used[want]++
			r.Set(i, dst, want)
		} else {
			broken = append(broken, dst)
		}
	}
	for _, dst := range broken {
		best := int32(-1)
		for p := range k {
			l := w.Link(sw, k+1+p)
			if alive(n, w, l, dst) && (best < 0 || used[l] < used[best]) {
				best = l
			}
		}
		used[best]++
		r.Set(i, dst, best)
	}
}

// alive reports whether an up-link and the spine's link to a destination's leaf are.
func alive(n *network.Network, w *credit.Wires, l int32, dst int) bool {
	spine := network.Node(w.To[l])
	if spine < 0 {
		return false
	}
	for _, far := range n.Ends(spine) {
		if far.Node == n.Leaf(network.Node(dst)).Node {
			return true
		}
	}
	return false
}
