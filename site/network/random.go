package network

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"evbench/internal/lists"
)

// Random returns count cables between switches, drawn by the seed such that hosts that reach each
// other still do, by any path, without them. A uniform draw that keeps the hosts together stays as
// it is; otherwise the next cables drawn replace the needed ones. If fewer than count can be
// spared, it is an error. O(cables · α).
//
// The needed cables: cables are added from the last drawn to the first, those that join two parts
// form a forest, and branches without hosts are cut off. If the cables not drawn suffice, the
// forest uses only those.
func (n *Network) Random(count int, seed uint64) ([]Cable, error) {
	cables := n.SwitchCables()
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(cables), func(i, j int) { cables[i], cables[j] = cables[j], cables[i] })
	needed := n.needed(cables)
	var out []Cable
	for i, c := range cables {
		if !needed[i] {
			out = append(out, c)
		}
	}
	if count < 0 || count > len(out) {
		return nil, fmt.Errorf("%d random dead cables: of %d between switches, these draws can spare %d without parting hosts", count, len(cables), len(out))
	}
	return slices.Clip(out[:count]), nil
}

// needed marks the cables of a forest of the last cables that joins all switches with hosts, as far
// as possible.
func (n *Network) needed(cables []Cable) []bool {
	parts := newForest(n.Nodes())
	needed := make([]bool, len(cables))
	at := make([][]int, n.Nodes()) // forest cables of a switch
	for i := len(cables) - 1; i >= 0; i-- {
		c := cables[i]
		if parts.join(c.A.Node, c.B.Node) {
			needed[i] = true
			at[c.A.Node] = append(at[c.A.Node], i)
			at[c.B.Node] = append(at[c.B.Node], i)
		}
	}
	degree := make([]int, n.Nodes())
	var bare []Node // tips of branches, without hosts
	tip := func(v Node) {
		if degree[v] == 1 && n.HostCount(v) == 0 {
			bare = append(bare, v)
		}
	}
	for v := range Node(n.Nodes()) {
		degree[v] = len(at[v])
		tip(v)
	}
	for len(bare) > 0 {
		v := bare[len(bare)-1]
		bare = bare[:len(bare)-1]
		for _, i := range at[v] {
			if !needed[i] {
				continue
			}
			needed[i] = false
			other := cables[i].A.Node
			if other == v {
				other = cables[i].B.Node
			}
			degree[v]--
			degree[other]--
			tip(other)
		}
	}
	return needed
}

// HostCount returns how many hosts have a cable to a switch.
func (n *Network) HostCount(s Node) int {
	return lists.CountIf(n.Ends(s), func(e End) bool { return e.Node != NoNode && n.IsHost(e.Node) })
}

// A forest is a union of disjoint sets of nodes.
type forest []Node

func newForest(nodes int) forest {
	return lists.Tabulate(nodes, func(v int) Node { return Node(v) })
}

func (f forest) root(v Node) Node {
	for f[v] != v {
		f[v] = f[f[v]]
		v = f[v]
	}
	return v
}

// join unites the sets of two nodes, and reports whether they were different.
func (f forest) join(a, b Node) bool {
	a, b = f.root(a), f.root(b)
	if a == b {
		return false
	}
	f[max(a, b)] = min(a, b)
	return true
}

// Parts returns the hosts that reach each other, the largest part first and equal
// ones by their first host. A host without a cable is a part of its own. O(cables · α).
func (n *Network) Parts() [][]Node {
	f := newForest(n.Nodes())
	for _, c := range n.Cables() {
		f.join(c.A.Node, c.B.Node)
	}
	at := make([][]Node, n.Nodes())
	for h := range Node(n.Hosts()) {
		r := f.root(h)
		at[r] = append(at[r], h)
	}
	out := slices.DeleteFunc(at, func(p []Node) bool { return len(p) == 0 })
	slices.SortStableFunc(out, func(a, b []Node) int { return len(b) - len(a) })
	return out
}

// SwitchParts returns the switches, by index, that reach each other over switches: each part
// ascending, parts by their first switch. O(cables · α).
func (n *Network) SwitchParts() [][]int {
	f := newForest(n.Nodes())
	for _, c := range n.SwitchCables() {
		f.join(c.A.Node, c.B.Node)
	}
	at := make([][]int, n.Switches())
	for i := range at {
		r := n.Index(f.root(n.Switch(i)))
		at[r] = append(at[r], i)
	}
	return slices.DeleteFunc(at, func(p []int) bool { return len(p) == 0 })
}

// Subnets numbers, from 1, the networks of a file that no cable joins by design, by index of a switch: several
// switches that cables join, and a switch alone whose hosts all have adapters in another network, such as that of the
// storage. 0 is a switch that lost its cables. nil: there is one network, or a notation, whose cables are known.
func (n *Network) Subnets() []int {
	parts := n.SwitchParts()
	if n.Notation != "" || len(parts) < 2 {
		return nil
	}
	word, of, in := n.HostWords(), make([]int, n.Switches()), map[string]map[int]bool{}
	for k, own := range parts {
		for _, i := range own {
			of[i] = k + 1
		}
	}
	part := func(v Node) int {
		if e := n.Leaf(v); e.Node != NoNode {
			return of[n.Index(e.Node)]
		}
		return 0
	}
	for v := range Node(n.hosts) {
		if in[word(v)] == nil {
			in[word(v)] = map[int]bool{}
		}
		in[word(v)][part(v)] = true
	}
	count, apart := 0, make([]bool, len(parts)+1) // networks by design
	for k, own := range parts {
		hosts := n.HostsOn(n.Switch(own[0]))
		elsewhere := func(v Node) bool { return word(v) != "" && len(in[word(v)]) > 1 }
		if apart[k+1] = len(own) > 1 || len(hosts) > 0 && !slices.ContainsFunc(hosts, func(v Node) bool { return !elsewhere(v) }); apart[k+1] {
			count++
		}
	}
	if count < 2 {
		return nil
	}
	for i, k := range of {
		if !apart[k] {
			of[i] = 0
		}
	}
	return of
}

// Disconnected returns whether two hosts are in networks that no cable joins by design; nil: there is one network.
func (n *Network) Disconnected() func(a, b Node) bool {
	of := n.Subnets()
	if of == nil {
		return nil
	}
	part := func(v Node) int {
		if e := n.Leaf(v); e.Node != NoNode {
			return of[n.Index(e.Node)]
		}
		return 0
	}
	return func(a, b Node) bool { return part(a) > 0 && part(b) > 0 && part(a) != part(b) }
}
