package judge

import (
	"fmt"
	"math"
	"slices"

	"evbench/scheduler"
	"evbench/site/engines/minmax"
	"evbench/site/network"
	"evbench/topology"
)

// AtMost is the limit for all schedules and all tables.
type AtMost struct {
	Phases float64 `json:"phases,omitempty"` // of a whole link
	// ByteTimes is T*, where messages have sizes: the bytes that a link carries in that time.
	// Seconds is T*, where the rate is known.
	ByteTimes float64 `json:"byte_times,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`
	// Full is how many phases the exchange needs together with the messages inside hosts, which a
	// plan includes; 0 without such messages.
	Full       float64  `json:"full_exchange_phases,omitempty"`
	Efficiency float64  `json:"efficiency"`
	Witness    string   `json:"witness"` // as in plan files: server, leaf3, hall3, pod1, lp
	Why        string   `json:"why"`
	Healthy    float64  `json:"healthy_efficiency"` // without dead and slow links
	Weights    []Weight `json:"weights,omitempty"`  // of witness lp

	whole bool // of schedules in phases: without them the last need not be whole
}

// atMost is the limit of the tree, and its bound.
func (f *fabric) atMost(faults []fault, rate float64, say *notes) (*AtMost, *scheduler.Bound) {
	b, s := f.bound(faults), float64(f.traffic.most)
	if f.coarse() {
		why := fmt.Sprintf("more than %d hosts", planHosts)
		if !f.traffic.plain() {
			why = "three levels, where not all send to all"
		}
		say.add("the bound is that of hosts, leaves and pods alone: %s", why)
	}
	a := &AtMost{
		Phases: b.phases, Efficiency: s / b.phases, Witness: b.String(), Why: b.why,
		Healthy: s / f.bound(nil).phases, whole: b.whole, Weights: f.certificate(b.Bound),
	}
	if f.traffic.host != nil && f.traffic.bytes == nil && f.even && !f.coarse() {
		a.Full = float64(scheduler.LowerBound(f.tree, scheduler.Options{}).Phases)
	}
	if f.traffic.bytes != nil {
		a.Phases, a.ByteTimes = 0, b.phases
		if rate > 0 {
			a.Seconds = b.phases * 8 / rate
		}
	}
	return a, &b.Bound
}

// bound returns the best limit of the tree with some faults only, from package scheduler, if no
// link exceeds the link rate and the tree is not too large, and from the capacities of links.
func (f *fabric) bound(left []fault) limit {
	var dead []topology.Link
	for _, x := range left {
		if x.share == 0 {
			dead = append(dead, f.tree.CableOf(x.link)...)
		}
	}
	t, err := f.tree.Healthy().Without(dead...)
	if err != nil {
		return limit{phases: math.Inf(1)} // not met: these are links of the tree
	}
	var out limit
	large := f.coarse()
	if !large && f.atMostOne() {
		out = f.proven(t)
	}
	if !large && f.even && out.phases > 0 {
		return out
	}
	c := f.capacities(t, left)
	x := c.simple(f)
	if f.even && f.traffic.bytes == nil {
		x.phases, x.whole = math.Ceil(x.phases-1e-9), true
		x.Bound.Phases = int(x.phases)
		if f.traffic.plain() {
			x.why = f.reason(x.Bound)
		}
	}
	if x.phases > out.phases+1e-9 {
		out = x
	}
	if t.Levels() == 2 && !f.even && t.Connected() == nil {
		if x := c.split(f.demand); x > out.phases*(1+1e-6) {
			out = limit{phases: x, Bound: scheduler.Bound{Kind: scheduler.KindLP}, why: "no split of the messages over the links, by their rates, loads the fullest less"}
		}
	}
	return out
}

// proven returns the limit that package scheduler proves for a tree of two levels, or for an
// exchange of all with all.
func (f *fabric) proven(t *topology.Tree) limit {
	if f.traffic.plain() {
		b := scheduler.LowerBound(t, scheduler.Options{})
		return limit{phases: float64(b.Phases), Bound: b, why: f.reason(b), whole: true}
	}
	b, _, err := scheduler.BoundBytes(t, func(src, dst int) int64 { return f.traffic.size(f.job[src], f.job[dst]) })
	if err != nil {
		return limit{} // too large: links alone prove something
	}
	out := limit{phases: float64(b.Phases), Bound: b, whole: f.traffic.bytes == nil}
	switch b.Kind {
	case scheduler.KindSend, scheduler.KindReceive:
		out.Kind, out.why = scheduler.KindServer, f.serverWhy(b.At, b.Kind == scheduler.KindSend)
	case scheduler.KindUp:
		out.Kind, out.why = scheduler.KindLeaf, f.leafWhy(b.At, f.flows(b.At, b.At+1)[0])
	case scheduler.KindDown:
		out.Kind, out.why = scheduler.KindLeaf, f.leafWhy(b.At, f.flows(b.At, b.At+1)[1])
	default:
		out.why = f.reason(out.Bound)
	}
	return out
}

// coarse reports whether the bound comes from hosts, leaves and pods alone.
func (f *fabric) coarse() bool {
	return f.tree.Levels() == 3 && (f.tree.Servers() > planHosts || !f.traffic.plain())
}

// atMostOne reports whether no link between switches is faster than the link rate.
func (f *fabric) atMostOne() bool {
	for id := range f.links() {
		if f.places.Share(f.tree.LinkOf(id)) > 1 {
			return false
		}
	}
	return true
}

// ofRoutes is the limit of all routes by the rates of cables where no tree has it: of three levels of another
// shape, few switches that cables join, and hosts on switches above leaves; nil where it is not known.
func (f *fabric) ofRoutes() *AtMost {
	p, n := f.inexact, f.traffic.servers
	if f.tree != nil || !f.traffic.plain() || n > planHosts || f.rate != f.net.MessageRate(network.AllHosts(f.net).Nodes) {
		return nil
	}
	over, healthy := 0.0, 0.0
	switch {
	case p != nil:
		over, healthy = minmax.OfTree(p, p.Tree), minmax.OfTree(p, p.Tree.Healthy())
	case f.net.Switches() <= fewSwitches || f.someAbove():
		over, healthy = minmax.Between(f.net, f.hosts.Nodes, f.hosts.Nodes), minmax.Between(f.whole, f.hosts.Nodes, f.hosts.Nodes)
	}
	wait, name, share := float64(f.traffic.most), "", 1.0
	for i, v := range f.hosts.Nodes {
		x := min(1, f.capacity(network.End{Node: v, Port: 1}))
		if own := float64(max(f.traffic.sent[i], f.traffic.received[i])) / x; own > wait {
			wait, name, share = own, f.name(v), x
		}
	}
	if over == 0 {
		return nil
	}
	a := &AtMost{Phases: max(wait, over), Witness: scheduler.KindLP, Why: "no routes load the fullest cable less, by its rate"}
	if over <= wait*(1+1e-6) {
		a.Witness, a.Why = scheduler.KindServer, "the link of each host to its leaf is the limit, no uplink"
		if name != "" {
			a.Why = fmt.Sprintf("%s has a link of %s of the usual rate", name, percent(share))
		}
	}
	a.Efficiency = float64(f.traffic.most) / a.Phases
	a.Healthy = float64(f.traffic.most) / max(float64(f.traffic.most), healthy)
	return a
}

// fewSwitches is up to how many switches that are no tree have a bound without tables.
const fewSwitches = 8

// someAbove reports whether hosts of the job are on switches above leaves.
func (f *fabric) someAbove() bool {
	return slices.ContainsFunc(f.whole.Above(), func(v network.Node) bool { return slices.Contains(f.hosts.Nodes, v) })
}
