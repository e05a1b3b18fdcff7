// Package wrapped runs foreign MPI programs with all-to-all exchanges that follow a plan: it has
// the library for that (c/), the hosts of a job, the plan for them and for the dead links, its
// routes in the tables, the launcher's options, and the times of calls.
package wrapped

import (
	"fmt"
	"io"
	"slices"

	"evbench/companion/opensm"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology/network"
)

// A Host is one host of a job: its node in the network, its name for itself, and its number of
// ranks. Without a name, ranks are servers in their order.
type Host struct {
	Node  network.Node
	Name  string
	Ranks int
}

// A Job is the plan for the hosts of a program.
type Job struct {
	Plan  *plan.Plan
	hosts []Host // by rank of the plan's tree
	net   *network.Network
}

// NewJob plans the exchange of all hosts, over one path from a leaf, or in three levels a pod, to a
// host, so that tables with one entry for a destination can hold the paths. whole and net are a
// tree of two or three levels with and without the dead parts. A host without a live path is an
// error.
func NewJob(whole, net *network.Network, hosts []Host) (*Job, error) {
	full, err := network.TreeOf(whole)
	if err == nil {
		err = full.Tree.OneCable("programs are wrapped on trees")
	}
	if err != nil {
		return nil, err
	}
	nodes, of := make([]network.Node, len(hosts)), map[network.Node]Host{}
	for i, h := range hosts {
		nodes[i], of[h.Node] = h.Node, h
	}
	slices.SortStableFunc(nodes, func(a, b network.Node) int { return slices.Index(full.Host, a) - slices.Index(full.Host, b) })
	places, err := full.For(net, nodes)
	if err != nil {
		return nil, err
	}
	j := &Job{net: net}
	for _, v := range places.Host {
		j.hosts = append(j.hosts, of[v])
	}
	j.Plan, err = plan.Build(places.Tree, plan.Options{Schedule: scheduler.NameFORS, Routing: routing.Pinned, Objective: scheduler.FewestPaths})
	if err == nil && len(hosts) > 0 && hosts[0].Name != "" {
		for _, h := range j.hosts {
			j.Plan.Hosts = append(j.Plan.Hosts, plan.Host{Name: h.Name, Ranks: h.Ranks})
		}
	}
	return j, err
}

func (j *Job) Ranks() (n int) {
	for _, h := range j.hosts {
		n += h.Ranks
	}
	return n
}

// Write writes the plan file with the hosts, for the library.
func (j *Job) Write(w io.Writer) error { return j.Plan.WriteText(w) }

// Routes returns the checked tables with the plan's paths.
func (j *Job) Routes() (*opensm.Routes, error) {
	nodes := make([]network.Node, len(j.hosts))
	for i, h := range j.hosts {
		nodes[i] = h.Node
	}
	r, err := opensm.Compute(j.Plan, j.net, opensm.Options{Hosts: nodes})
	if err != nil {
		return nil, err
	}
	if need := r.Use().Need; need > 0 {
		return nil, fmt.Errorf("the plan needs 2^%d paths from a leaf to a host, and a program that chooses no addresses has one", need)
	}
	return r, nil
}
