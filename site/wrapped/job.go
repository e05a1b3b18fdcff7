// Package wrapped runs foreign MPI programs with all-to-all exchanges that follow a plan: it has
// the library for that (c/), the hosts of a job, the plan for them and for the dead links, its
// routes in the tables, the launcher's options, and the times of calls.
package wrapped

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"evbench/internal/atomicfile"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/plan/best"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/site/network"
	"evbench/site/opensm"
)

// A Host is an adapter of a host of a job, mostly its only one: the node in the network, the host's
// name for itself, and the number of ranks that use the adapter. Without a name, ranks are servers
// in their order.
type Host struct {
	Node    network.Node
	Name    string // AnyHost and a number: ranks take such adapters in their order, on any hosts
	Ranks   int
	Adapter string // as the list of hosts names it; "" if it does not
	Order   int    // of several adapters: the ranks of a host take them by it
}

// AnyHost begins the names of hosts that the job does not name; the library has the same.
const AnyHost = "#"

// A Job is the plan for the hosts of a program.
type Job struct {
	Plan  *plan.Plan
	made  *best.Plan // with its promise
	hosts []Host     // by rank of the plan's tree
	net   *network.Network
}

// newJob plans the exchange of all hosts, over one path from a leaf, or in three levels a pod, to a
// host, so that tables with one entry for a destination can hold the paths. whole and net are a
// tree of two or three levels with and without the dead parts; slow cables are planned as evbench plan does. own has phases, and paths if it
// chooses any, that are taken in place of the planner's, messages that meet and all; nil: there is none. A host without a live path is an error.
func newJob(whole, net *network.Network, hosts []Host, own *plan.Plan) (*Job, error) {
	full, err := network.TreeOf(whole)
	if err != nil {
		return nil, fmt.Errorf("%w; with --tables FILE, the tables that it has, the plan is an order of messages over them", err)
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
	j := &Job{net: net, hosts: lists.Map(places.Host, func(v network.Node) Host { return of[v] })}
	o := plan.Options{Schedule: schedules.FORS, Routing: routing.Pinned, Objective: schedules.FewestPaths}
	if own != nil {
		o = plan.Options{Own: own}
	}
	if j.made, err = best.Tree(places.Tree, o, places.Rates()); err != nil {
		return nil, err
	}
	if own != nil {
		if err := j.made.Judge(); err != nil {
			return nil, fmt.Errorf("--schedule: %w", err)
		}
	}
	if j.Plan = j.made.Plan; len(hosts) > 0 && hosts[0].Name != "" {
		for _, h := range j.hosts {
			j.Plan.Hosts = append(j.Plan.Hosts, plan.Host{Name: h.Name, Ranks: h.Ranks, Adapter: h.Adapter, Order: h.Order})
		}
	}
	return j, nil
}

// ownSchedule reads a schedule of the user's own; without a name it is nil.
func ownSchedule(name string) (*plan.Plan, error) {
	if name == "" {
		return nil, nil
	}
	f, err := atomicfile.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := plan.ReadOwn(f, engines.Trees())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// perHost returns the number of adapters of each host; nil if all hosts have one.
func perHost(hosts []Host) []int {
	count := map[string]int{}
	for _, h := range hosts {
		count[h.Name]++
	}
	if hosts[0].Name == "" || len(count) == len(hosts) {
		return nil
	}
	return slices.Collect(maps.Values(count))
}

// least returns a number of phases that every schedule of the messages between different hosts
// needs. If no bound is found, it is the messages of the busiest adapter.
func (j *Job) least() int {
	between := func(src, dst int) int64 {
		if j.hosts[src].Name == j.hosts[dst].Name {
			return 0
		}
		return 1
	}
	if b, _, err := scheduler.BoundBytes(j.Plan.Tree, between); err == nil {
		return b.Phases
	}
	return len(j.hosts) - slices.Min(perHost(j.hosts))
}

// Write writes the plan file with the hosts, for the library.
func (j *Job) Write(w io.Writer) error { return j.Plan.WriteText(w) }

// Routes returns the checked tables with the plan's paths.
func (j *Job) Routes() (*opensm.Routes, error) {
	o := opensm.Options{Hosts: lists.Map(j.hosts, func(h Host) network.Node { return h.Node })}
	r, err := opensm.Compute(j.Plan, j.net, o)
	if _, few := errors.AsType[*opensm.RenumberError](err); few {
		o.Renumber = true
		if more, other := opensm.Compute(j.Plan, j.net, o); other == nil && more.Use().Need > 0 {
			r, err = more, nil // the plan is the reason, not the LIDs that there are
		}
	}
	if err != nil {
		return nil, err
	}
	need := r.Use().Need
	if need > 0 && j.Plan.Tree.Cables() > 1 {
		return nil, fmt.Errorf("with the dead cables of %s the plan's paths to a host come down by several cables of a spine, and a table has one: "+
			"take --routes none, the phases over the present tables", j.Plan.Tree.Notation())
	}
	if need > 0 {
		return nil, fmt.Errorf("the plan needs 2^%d paths from a leaf to a host, and a program that chooses no addresses has one: "+
			"take --routes none, the phases over the present tables", need)
	}
	return r, nil
}
