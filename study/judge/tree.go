package judge

import (
	"fmt"

	"evbench/topology"
	"evbench/topology/network"
)

// A fabric is a network with the hosts of a job and, where it is a tree, that tree.
type fabric struct {
	whole, net *network.Network // with and without what is dead
	hosts      network.Job
	// tree has as many servers on a leaf as the job has hosts there, and the network's names; nil: why says why not.
	tree   *topology.Tree
	why    error
	places *network.Places // of the tree in whole
	lacks  bool            // whole lacks cables of the tree

	rate float64                 // of links, bit/s; 0: not known
	slow map[network.End]float64 // ports of slow cables: what is left of their usual rate
	even bool                    // every cable has the link rate, or none is known

	unstated   int // cables without a rate, where others have one
	tablesFile string
}

// newFabric checks that each host has its cable, and finds the tree.
func newFabric(whole, net *network.Network, hosts network.Job) (*fabric, error) {
	f := &fabric{whole: whole, net: net, hosts: hosts}
	for _, v := range hosts.Nodes {
		if net.Leaf(v).Node == network.NoNode {
			return nil, fmt.Errorf("host %s has no cable", net.Info(v).Name)
		}
	}
	if err := f.joined(); err != nil {
		return nil, err
	}
	f.rates()
	if f.tree, f.places, f.why = f.find(); f.why == nil {
		f.why = f.tree.Connected()
	}
	if f.why != nil {
		f.tree = nil
	}
	return f, nil
}

// find finds the tree.
func (f *fabric) find() (*topology.Tree, *network.Places, error) {
	p, err := network.TreeOf(f.whole)
	if err == nil {
		f.lacks = len(p.Tree.Dead()) > 0
		p, err = p.For(f.net, f.hosts.Nodes)
	}
	if err != nil {
		return nil, nil, err
	}
	return p.Tree, p, nil
}

// joined checks that live cables join the hosts: else nothing can have been measured.
func (f *fabric) joined() error {
	first := f.hosts.Nodes[0]
	part := map[network.Node]int{}
	for i, nodes := range f.net.Parts() {
		for _, v := range nodes {
			part[v] = i
		}
	}
	for _, v := range f.hosts.Nodes {
		if part[v] != part[first] {
			return fmt.Errorf("no live cables join %s and %s", f.net.Info(first).Name, f.net.Info(v).Name)
		}
	}
	return nil
}

// name is what a node is called: a switch as in the tree.
func (f *fabric) name(v network.Node) string {
	if f.tree != nil && !f.whole.IsHost(v) {
		return f.places.Name(v)
	}
	return f.whole.Info(v).Name
}
