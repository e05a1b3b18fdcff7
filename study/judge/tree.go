package judge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evbench/internal/parallel"
	"evbench/site/lft"
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

// phased returns the mean time of the phases of a pattern, each as long as its fullest link needs
// for its rate. It is for links of different rates; for equal links it is the slowdown of
// lft.Congest. Tables reach all hosts. O(phases · hosts · hops).
func (f *fabric) phased(t *lft.Tables, p lft.Pattern) float64 {
	first := make([]int, t.Net.Nodes()+1) // of the ports of a node
	for v := range network.Node(t.Net.Nodes()) {
		first[v+1] = first[v] + len(t.Net.Ends(v))
	}
	carries := make([]float64, first[t.Net.Nodes()])
	for v := range network.Node(t.Net.Nodes()) {
		for i := range t.Net.Ends(v) {
			carries[first[v]+i] = f.capacity(network.End{Node: v, Port: uint8(i + 1)})
		}
	}
	type state struct {
		dst  []int32
		on   []float64
		used []int
	}
	states, times := make([]*state, parallel.Workers(0)), make([]float64, p.Phases)
	parallel.Each(len(states), p.Phases, func(w, k int) {
		s := states[w]
		if s == nil {
			s = &state{dst: make([]int32, t.Net.Hosts()), on: make([]float64, len(carries))}
			states[w] = s
		}
		p.Fill(k, s.dst)
		pass := func(at int) {
			s.on[at]++
			s.used = append(s.used, at)
		}
		for src, dst := range s.dst {
			if dst < 0 || int(dst) == src {
				continue
			}
			pass(first[src])
			lid, at := int(t.Net.Info(network.Node(dst)).LID), t.Net.Leaf(network.Node(src)).Node
			for range t.Net.Switches() {
				port := int(t.Port(at, lid))
				pass(first[at] + port - 1)
				if at = t.Net.At(at, port).Node; t.Net.IsHost(at) {
					break
				}
			}
		}
		for _, at := range s.used {
			times[k] = max(times[k], s.on[at]/carries[at])
			s.on[at] = 0
		}
		s.used = s.used[:0]
	})
	sum := 0.0
	for _, x := range times {
		sum += x
	}
	return sum / float64(p.Phases)
}

// A HostPair is a route from a host to another.
type HostPair struct {
	Src string `json:"src"`
	Dst string `json:"dst"`
}

const mostPairs = 100

// sharers names pairs whose routes leave by a port, the first by receiver and then sender. It
// follows only the routes to hosts that the port leads to.
func (f *fabric) sharers(t *lft.Tables, at network.End) (out []HostPair) {
	below := map[network.Node][]int{} // hosts of the job by switch
	var leaves []network.Node
	for i, v := range f.hosts.Nodes {
		leaf := f.net.Leaf(v).Node
		if below[leaf] == nil {
			leaves = append(leaves, leaf)
		}
		below[leaf] = append(below[leaf], i)
	}
	for to, dst := range f.hosts.Nodes {
		lid := int(t.Net.Info(dst).LID)
		if t.Port(at.Node, lid) != at.Port {
			continue
		}
		for _, leaf := range leaves {
			if !f.passes(t, leaf, lid, at.Node) {
				continue
			}
			for _, from := range below[leaf] {
				if f.traffic.size(from, to) == 0 {
					continue
				}
				if out = append(out, HostPair{f.net.Info(f.hosts.Nodes[from]).Name, f.net.Info(dst).Name}); len(out) == mostPairs {
					return out
				}
			}
		}
	}
	return out
}

// passes reports whether the route from a switch to a LID passes another switch.
func (f *fabric) passes(t *lft.Tables, from network.Node, lid int, over network.Node) bool {
	for range t.Net.Switches() {
		if from == over {
			return true
		}
		next := t.Net.At(from, int(t.Port(from, lid)))
		if next.Node == network.NoNode || t.Net.IsHost(next.Node) {
			return false
		}
		from = next.Node
	}
	return false
}
