package main

import (
	"slices"

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
				k, at := len(n.Ends(sw))/2, dst
				for range level[sw] - 1 {
					at /= k // d-mod-k: (destination div k^h) mod k
				}
				links = []int32{nextLive(w, sw, k, at, links)}
			}
			r.Set(i, dst, links...)
		}
	}
	if name == "minhop-bal" {
		balance(r, n, w)
	}
	return r, nil
}

// nextLive picks of the k up-links of a switch the one at a place or, where that is dead, the
// next that is alive.
func nextLive(w *credit.Wires, sw network.Node, k, at int, links []int32) int32 {
	for i := range k {
		if want := w.Link(sw, k+1+(at+i)%k); slices.Contains(links, want) {
			return want
		}
	}
	return links[0]
}

// shortest returns the number of links from each node to a host, -1 where it is not
// reached.
func shortest(n *network.Network, dst network.Node) []int {
	ways := slices.Repeat([]int{-1}, n.Nodes())
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

// balance picks links of leaves as OpenSM's min-hop counters roughly do: destination mod k if
// it is live, else the least used of the leaf, ties to the lower.
func balance(r *credit.Routes, n *network.Network, w *credit.Wires) {
	for i := range n.Switches() {
		sw := n.Switch(i)
		if far := n.Ends(sw)[0].Node; far == network.NoNode || !n.IsHost(far) {
			continue
		}
		k := len(n.Ends(sw)) / 2
		used := map[int32]int{}
		set := func(dst int, l int32) {
			used[l]++
			r.Set(i, dst, l)
		}
		var broken []int
		for dst := range n.Hosts() {
			if want := w.Link(sw, k+1+dst%k); n.Leaf(network.Node(dst)).Node == sw {
				continue
			} else if alive(n, w, want, dst) {
				set(dst, want)
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
			set(dst, best)
		}
	}
}

// alive reports whether an up-link and the spine's link to a destination's leaf are.
func alive(n *network.Network, w *credit.Wires, l int32, dst int) bool {
	spine := network.Node(w.To[l])
	return spine >= 0 && slices.ContainsFunc(n.Ends(spine), func(far network.End) bool { return far.Node == n.Leaf(network.Node(dst)).Node })
}
