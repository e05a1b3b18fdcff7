package judge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evbench/site/network"
	"evbench/topology"
)

// A fabric is a network with the hosts of a job and, where it is a tree, that tree.
type fabric struct {
	whole, net *network.Network // with and without what is dead
	hosts      network.Job
	// tree has the job's hosts as servers, and the network's names; nil: see why.
	tree   *topology.Tree
	why    error
	places *network.Places // of the tree in whole
	gaps   string          // cables of the tree that whole lacks

	inexact *network.Places // of a tree that has not the bound of the network, so tree is nil

	rate float64                 // of links, bit/s; 0: not known
	slow map[network.End]float64 // ports of slow cables: what is left of their usual rate
	// Every cable has the link rate, or none is known: equal. Every link of the tree has, where a
	// faster cable is several: even.
	equal, even bool

	unstated   int // cables without a rate, where others have one
	tablesFile string

	traffic traffic
	job     []int              // the place in the job of each server of the tree, by rank
	demand  []float64          // between, of the tree
	crosses map[[2]int][2]flow // flows of each leaf and each pod
	usual   [2]float64         // rates of storeys, as shares of the link rate
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
	} else {
		at := map[network.Node]int{}
		for i, v := range hosts.Nodes {
			at[v] = i
		}
		for _, v := range f.places.Host {
			f.job = append(f.job, at[v])
		}
	}
	f.evenly()
	return f, f.take(traffic{})
}

// take sets the traffic of the job's servers.
func (f *fabric) take(x traffic) (err error) {
	x.servers, x.host = len(f.hosts.Nodes), f.hosts.Host
	if f.traffic, err = newTraffic(x); err == nil && f.tree != nil {
		f.demand = f.between()
		crosses, t := map[[2]int][2]flow{}, f.tree
		for i := range t.Leaves() {
			crosses[[2]int{i, i + 1}] = f.cross(i, i+1)
		}
		for q := range t.Pods() {
			crosses[[2]int{q * t.PodLeaves(), (q + 1) * t.PodLeaves()}] = f.cross(q*t.PodLeaves(), (q+1)*t.PodLeaves())
		}
		f.crosses = crosses
	}
	return err
}

func (f *fabric) find() (*topology.Tree, *network.Places, error) {
	p, err := network.Spineless(f.whole)
	if err == nil {
		f.gaps = cmp.Or(p.Gaps(), p.Joints())
		p, err = p.For(f.net, f.hosts.Nodes)
	}
	if err == nil && !p.Exact(p.Tree) {
		f.inexact = p
		err = fmt.Errorf("no tree has the bound of three levels %s; evbench plan has one", p.Inexact())
	}
	if err != nil {
		return nil, nil, err
	}
	return p.Tree, p, nil
}

// roles restricts the exchange to readers and builders, lists in the form of topology.WithRoles.
func (f *fabric) roles(readers, builders string) (err error) {
	if f.tree == nil {
		return fmt.Errorf("readers and builders are servers of a tree: %w", f.why)
	}
	if f.tree, err = f.tree.WithRoles(readers, builders); err != nil || !f.tree.Divided() {
		return err
	}
	x := traffic{reads: make([]bool, len(f.job)), builds: make([]bool, len(f.job))}
	for rank, i := range f.job {
		x.reads[i], x.builds[i] = f.tree.Reads(rank), f.tree.Builds(rank)
	}
	return f.take(x)
}

// joined checks that live cables join the adapters of different hosts: otherwise no measurement is possible.
func (f *fabric) joined() error {
	nodes, part := f.hosts.Nodes, map[network.Node]int{}
	for i, nodes := range f.net.Parts() {
		for _, v := range nodes {
			part[v] = i
		}
	}
	other := slices.IndexFunc(f.hosts.Host, func(host int) bool { return host != f.hosts.Host[0] })
	for i, v := range nodes {
		from := 0
		if network.OneHost(f.hosts.Host, 0, i) {
			from = max(other, 0)
		}
		if part[v] != part[nodes[from]] {
			text := fmt.Sprintf("no live cables join %s and %s", f.net.Info(nodes[from]).Name, f.net.Info(v).Name)
			if f.hosts.Host != nil {
				text += "; of several planes judge one: --hosts lists its adapters, HOST ADAPTER a line"
			}
			return errors.New(text)
		}
	}
	return nil
}

// name is the name of a node; for a switch, its name in the tree.
func (f *fabric) name(v network.Node) string {
	if f.tree != nil && !f.whole.IsHost(v) {
		return f.places.Name(v)
	}
	return f.whole.Info(v).Name
}
