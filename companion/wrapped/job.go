// Package wrapped runs MPI programs that are not ours, so that their all-to-all exchanges
// follow a plan: the library that does that (c/), which hosts a job has, the plan for them and for the
// links that are dead, its routes in the tables, the launcher's options, and what calls took.
package wrapped

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"evbench/companion/opensm"
	"evbench/plan"
	"evbench/scheduler"
	"evbench/topology"
	"evbench/topology/network"
)

// A Host is one of a job: its node in the network, what it calls itself, and how many ranks
// it has. Without a name, ranks are servers in their order.
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

// NewJob plans the exchange of all hosts, over one path from a leaf to a host, so that tables
// with one entry for a destination can hold the paths. whole and net are a tree of two levels
// with and without what is dead. A host that no live path reaches is an error.
func NewJob(whole, net *network.Network, hosts []Host) (*Job, error) {
	full, err := opensm.TreeOf(whole)
	if err != nil {
		return nil, fmt.Errorf("no tree of two levels: %w", err)
	}
	places, err := opensm.Match(full, whole)
	if err != nil {
		return nil, fmt.Errorf("no tree of two levels with single cables: %w", err)
	}
	for _, c := range whole.SwitchCables() {
		if slices.Contains(places.Leaf, c.A.Node) == slices.Contains(places.Leaf, c.B.Node) {
			return nil, fmt.Errorf("no tree of two levels: %s joins two leaves, or two switches above them", whole.CableName(c))
		}
	}
	j := &Job{net: net, hosts: slices.Clone(hosts)}
	slices.SortStableFunc(j.hosts, func(a, b Host) int { return slices.Index(places.Host, a.Node) - slices.Index(places.Host, b.Node) })
	tree, err := treeOf(full, places, net, j.hosts)
	if err != nil {
		return nil, err
	}
	j.Plan, err = plan.Build(tree, plan.Options{Schedule: scheduler.NameFORS, Objective: scheduler.FewestPaths})
	return j, err
}

func treeOf(full *topology.Tree, places *opensm.Places, net *network.Network, hosts []Host) (*topology.Tree, error) {
	o := topology.Options{Ports: full.Ports(), Leaves: full.Leaves(), Spines: full.Spines(), Fill: make([]int, full.Leaves())}
	for i, h := range hosts {
		leaf := slices.Index(places.Leaf, net.Leaf(h.Node).Node)
		if leaf < 0 {
			return nil, fmt.Errorf("host %s has no cable to a leaf", net.Info(h.Node).Name)
		}
		if i > 0 && hosts[i-1].Node == h.Node {
			return nil, fmt.Errorf("host %s is in the job twice", net.Info(h.Node).Name)
		}
		o.Fill[leaf]++
	}
	t, err := topology.New(o)
	if err != nil {
		return nil, err
	}
	var dead []topology.Link
	for l := range o.Leaves {
		for s := range o.Spines {
			port := places.Up(l, s)
			if port == 0 || net.At(places.Leaf[l], int(port)).Node != places.Spine[s] {
				dead = append(dead, topology.Link{Leaf: l, Spine: s})
			}
		}
	}
	return t.Without(dead...)
}

// Ranks returns the number of ranks.
func (j *Job) Ranks() (n int) {
	for _, h := range j.hosts {
		n += h.Ranks
	}
	return n
}

// Write writes the plan file with the hosts, for the library: a line
// "# x-host SERVER NAME RANKS" each, after the first.
func (j *Job) Write(w io.Writer) error {
	var b bytes.Buffer
	if err := j.Plan.WriteText(&b); err != nil {
		return err
	}
	first, rest, _ := strings.Cut(b.String(), "\n")
	var names strings.Builder
	for r, h := range j.hosts {
		if h.Name != "" {
			fmt.Fprintf(&names, "# x-host %d %s %d\n", j.Plan.Tree.Position(r), h.Name, h.Ranks)
		}
	}
	_, err := fmt.Fprintf(w, "%s\n%s%s", first, names.String(), rest)
	return err
}

// Routes returns the tables that hold the plan's paths, checked.
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
