package judge

import (
	"errors"
	"fmt"

	"evbench/topology"
	"evbench/topology/network"
)

// A fabric is a network with the hosts of a job and, where it is a tree, that tree.
type fabric struct {
	whole, net *network.Network // with and without what is dead
	hosts      network.Job
	// tree has as many servers on a leaf as the job has hosts there; nil: why says why not.
	tree *topology.Tree
	why  error
	// node are the switches of the tree in the network.
	node map[int]network.Node
	// named: switches are called leaf0 and spine3.
	named bool

	rate float64                 // of links, bit/s; 0: not known
	slow map[network.End]float64 // ports of slow cables: what is left of their usual rate
	even bool                    // every cable has the link rate, or none is known

	unstated   int // cables without a rate, where others have one
	tablesFile string
}

// newFabric checks that each host has its cable, and finds the tree.
func newFabric(whole, net *network.Network, hosts network.Job) (*fabric, error) {
	f := &fabric{whole: whole, net: net, hosts: hosts, node: map[int]network.Node{}}
	for _, v := range hosts.Nodes {
		if net.Leaf(v).Node == network.NoNode {
			return nil, fmt.Errorf("host %s has no cable", net.Info(v).Name)
		}
	}
	if err := f.joined(); err != nil {
		return nil, err
	}
	f.rates()
	find := f.twoLevels
	if o, err := topology.Parse(whole.Notation); err == nil && o.Pods > 0 {
		find = f.threeLevels
	}
	if f.tree, f.why = find(); f.why == nil {
		f.why = f.tree.Connected()
	}
	if f.why != nil {
		f.tree = nil
	}
	f.named = f.tree != nil && f.tree.Levels() == 2 && whole.Notation != ""
	return f, nil
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

// twoLevels finds leaves, switches with hosts, and spines, all others: every cable between
// switches joins a leaf and a spine, and no two have more than one. A leaf and a spine
// without a cable between them have a dead link.
func (f *fabric) twoLevels() (*topology.Tree, error) {
	n := f.whole
	var leaves, spines []network.Node
	place := map[network.Node]int{}
	ports := map[network.Node]int{}
	for v := range network.Node(n.Hosts()) {
		ports[n.Leaf(v).Node]++
	}
	for i := range n.Switches() {
		list := &spines
		if ports[n.Switch(i)] > 0 {
			list = &leaves
		}
		place[n.Switch(i)] = len(*list)
		*list = append(*list, n.Switch(i))
	}
	switch {
	case len(leaves) == 0 || len(spines) == 0:
		return nil, errors.New("no switches above those of the hosts")
	case len(spines) > topology.MaxPorts || len(leaves) > topology.MaxLeaves:
		return nil, fmt.Errorf("%d leaves and %d spines are too many", len(leaves), len(spines))
	}
	cabled, err := f.cabled(ports, place)
	if err != nil {
		return nil, err
	}
	o := topology.Options{Leaves: len(leaves), Spines: len(spines), Fill: make([]int, len(leaves))}
	for i, v := range leaves {
		o.Ports = max(o.Ports, ports[v])
		f.node[i] = v
	}
	for k, v := range spines {
		f.node[len(leaves)+k] = v
	}
	for _, v := range f.hosts.Nodes {
		o.Fill[place[f.net.Leaf(v).Node]]++
	}
	t, err := topology.New(o)
	if err != nil {
		return nil, err
	}
	var dead []topology.Link
	for i := range leaves {
		for k := range spines {
			if l := (topology.Link{Leaf: i, Spine: k}); !cabled[l] {
				dead = append(dead, l)
			}
		}
	}
	return t.Without(dead...)
}

// cabled returns which links with a cable are alive, and an error where the whole network is no tree
// of two levels.
func (f *fabric) cabled(hosts, place map[network.Node]int) (map[topology.Link]bool, error) {
	all := map[topology.Link]bool{}
	for _, c := range f.whole.SwitchCables() {
		a, b := c.A.Node, c.B.Node
		if hosts[a] == 0 {
			a, b = b, a
		}
		if hosts[a] == 0 || hosts[b] > 0 {
			return nil, fmt.Errorf("%s and %s are on one level: no tree of two", f.whole.Info(a).Name, f.whole.Info(b).Name)
		}
		l := topology.Link{Leaf: place[a], Spine: place[b]}
		if _, twice := all[l]; twice {
			return nil, fmt.Errorf("%s and %s have more than one cable", f.whole.Info(a).Name, f.whole.Info(b).Name)
		}
		all[l] = f.net.At(c.A.Node, int(c.A.Port)) == c.B
	}
	return all, nil
}

// threeLevels is the tree of a notation, whose switches and ports are numbered as those of
// the network.
func (f *fabric) threeLevels() (*topology.Tree, error) {
	o, err := topology.Parse(f.whole.Notation)
	if err != nil {
		return nil, err
	}
	full, err := topology.New(o)
	if err != nil {
		return nil, err
	}
	if full.Servers() != f.whole.Hosts() || full.Switches() != f.whole.Switches() {
		return nil, fmt.Errorf("%s is no tree with single cables", f.whole.Notation)
	}
	o.Fill = make([]int, full.Leaves())
	for _, v := range f.hosts.Nodes {
		o.Fill[full.Leaf(int(v))]++
	}
	t, err := topology.New(o)
	if err != nil {
		return nil, err
	}
	for i := range t.Switches() {
		f.node[i] = f.whole.Switch(i)
	}
	var dead []topology.Link
	for id := range t.AllLinks() {
		l := t.LinkOf(id)
		low, high := t.Ends(l)
		from, to := f.whole.Switch(low.Switch), network.End{Node: f.whole.Switch(high.Switch), Port: uint8(high.Port + 1)}
		if f.whole.At(from, low.Port+1) != to {
			return nil, fmt.Errorf("%s is no tree with single cables", f.whole.Notation)
		}
		if f.net.At(from, low.Port+1) != to {
			dead = append(dead, l)
		}
	}
	return t.Without(dead...)
}

// linkName names a link by the switches at its ends, lower first, as --down takes it.
func (f *fabric) linkName(l topology.Link) string {
	low, high := f.tree.Ends(l)
	return f.name(f.node[low.Switch]) + "-" + f.name(f.node[high.Switch])
}

// name is what a node is called: switches leaf0 and spine3 in trees of two levels that are
// built from a notation, which numbers leaves before spines.
func (f *fabric) name(v network.Node) string {
	if i := f.whole.Index(v); f.named && i >= 0 {
		if i < f.tree.Leaves() {
			return fmt.Sprintf("leaf%d", i)
		}
		return fmt.Sprintf("spine%d", i-f.tree.Leaves())
	}
	return f.whole.Info(v).Name
}
