package judge

import (
	"fmt"
	"math"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler"
	"evbench/site/engines/minmax"
	"evbench/site/network"
	"evbench/topology"
)

// A fault is a link that is dead or slow: Share is the remaining part of its usual rate, 0 for a
// dead link. It is a link between switches, or the cable of a host.
type fault struct {
	name  string
	share float64
	link  topology.Link // where host is NoNode
	host  network.Node
}

// rates finds the rate of the links, which is the rate of most hosts' cables, and the cables that
// are slower than most of their kind.
func (f *fabric) rates() {
	var own []network.Cable // of hosts of the job
	for _, v := range f.hosts.Nodes {
		own = append(own, network.Cable{A: network.End{Node: v, Port: 1}, B: f.net.Leaf(v)})
	}
	switches := f.net.SwitchCables()
	host, between := f.net.UsualRate(own), f.net.UsualRate(switches)
	f.slow = map[network.End]float64{}
	if f.rate = host; f.rate == 0 {
		f.rate = between
	}
	note := func(cables []network.Cable, usual float64) {
		for _, c := range cables {
			if r := f.net.Rate(c.A); r > 0 && r < usual {
				f.slow[c.A], f.slow[c.B] = r/usual, r/usual
			}
		}
	}
	note(own, host)
	for i, cables := range f.storeys() {
		r := f.net.UsualRate(cables)
		note(cables, r)
		if f.usual[i] = 1; r > 0 && f.rate > 0 {
			f.usual[i] = r / f.rate
		}
	}
	known := lists.CountIf(append(own, switches...), func(c network.Cable) bool { return f.net.Rate(c.A) > 0 })
	if known > 0 {
		f.unstated = len(own) + len(switches) - known
	}
}

// storeys are the cables of switches with hosts, and those between others.
func (f *fabric) storeys() (out [2][]network.Cable) {
	for _, c := range f.net.SwitchCables() {
		i := 0
		if f.net.HostCount(c.A.Node)+f.net.HostCount(c.B.Node) == 0 {
			i = 1
		}
		out[i] = append(out[i], c)
	}
	return out
}

// evenly finds whether every cable has the link rate.
func (f *fabric) evenly() {
	f.even = true
	for _, v := range f.hosts.Nodes {
		f.even = f.even && f.capacity(network.End{Node: v, Port: 1}) == 1
	}
	f.equal = f.even
	for _, c := range f.net.SwitchCables() {
		f.equal = f.equal && f.capacity(c.A) == 1
	}
	if f.tree == nil {
		f.even = f.equal
	}
	for id := range f.links() {
		f.even = f.even && f.places.Share(f.tree.LinkOf(id)) == 1
	}
}

// links is the number of links of the tree, 0 without one.
func (f *fabric) links() int {
	if f.tree == nil {
		return 0
	}
	return f.tree.AllLinks()
}

// capacity is the rate of the cable at a port, as a share of the link rate; 1 where it is not
// known.
func (f *fabric) capacity(at network.End) float64 {
	if r := f.net.Rate(at); r > 0 && f.rate > 0 {
		return r / f.rate
	}
	return 1
}

// port is the lower end of a link of the tree; its port is 0 for a missing cable.
func (f *fabric) port(l topology.Link) network.End {
	c, _ := f.places.Cable(l)
	return c.A
}

// faults are the dead and the slow links of a tree, and the slow cables of its hosts.
func (f *fabric) faults() (out []fault) {
	for _, l := range f.tree.Dead() {
		if f.tree.CableOf(l)[0] == l {
			out = append(out, fault{f.tree.LinkName(l), 0, l, network.NoNode})
		}
	}
	if len(f.slow) == 0 {
		return out
	}
	for id := range f.tree.AllLinks() {
		if l := f.tree.LinkOf(id); f.tree.LinkAlive(l) && f.tree.CableOf(l)[0] == l {
			if share, ok := f.slow[f.port(l)]; ok {
				out = append(out, fault{f.tree.LinkName(l), share, l, network.NoNode})
			}
		}
	}
	for _, v := range f.hosts.Nodes {
		at := network.End{Node: v, Port: 1}
		if share, ok := f.slow[at]; ok {
			out = append(out, fault{f.net.Info(v).Name + "-" + f.name(f.net.Leaf(v).Node), share, topology.Link{}, v})
		}
	}
	return out
}

// slowNames are the slow links with the remaining share of their rate.
func slowNames(faults []fault) (out []string) {
	for _, x := range faults {
		if x.share > 0 {
			out = append(out, fmt.Sprintf("%s (%s)", x.name, percent(x.share)))
		}
	}
	return out
}

// A limit is a time that every exchange needs, in phases of a whole link.
type limit struct {
	phases float64
	scheduler.Bound
	why   string
	whole bool // phases: without them the last need not be whole
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

// capacities are the capacities of the links of a tree, by LinkID, and of its slowest host.
type capacities struct {
	t    *topology.Tree
	link []float64
	host float64 // what is left of the rate of that host
	name string  // of its link
	wait float64 // how long it takes, in phases
}

func (f *fabric) capacities(t *topology.Tree, left []fault) *capacities {
	c := &capacities{t: t, link: make([]float64, t.AllLinks()), host: 1, wait: float64(f.traffic.most)}
	usual := func(l topology.Link) float64 {
		if l.Above {
			return f.usual[1]
		}
		return f.usual[0]
	}
	for id := range c.link {
		if l := t.LinkOf(id); t.LinkAlive(l) {
			c.link[id] = usual(l) / float64(len(f.tree.CableOf(l)))
			if f.rate > 0 { // a cable faster than most of its storey
				c.link[id] = max(c.link[id], f.net.Rate(f.port(l))/f.rate/float64(len(f.tree.CableOf(l))))
			}
		}
	}
	for _, x := range left {
		switch {
		case x.share == 0:
		case x.host != network.NoNode:
			i := slices.Index(f.hosts.Nodes, x.host)
			if wait := float64(max(f.traffic.sent[i], f.traffic.received[i])) / x.share; wait > c.wait {
				c.wait, c.host, c.name = wait, x.share, x.name
			}
		default:
			own := f.tree.CableOf(x.link)
			for _, l := range own {
				c.link[t.LinkID(l)] = usual(l) * x.share / float64(len(own))
			}
		}
	}
	return c
}

func (c *capacities) path(a, b, path int) float64 {
	least := math.Inf(1)
	for _, l := range c.t.PathLinks(a, b, path) {
		least = min(least, c.link[c.t.LinkID(l)])
	}
	return least
}

// simple returns the best limit by the cable of a host, the links of a leaf, and the links of a
// pod. O(links + leaves²).
func (c *capacities) simple(f *fabric) limit {
	t, x := c.t, &f.traffic
	out := limit{phases: c.wait, Bound: scheduler.Bound{Kind: scheduler.KindServer}}
	amount := x.amounts(int64(math.Round(c.wait * c.host)))
	switch {
	case c.host < 1:
		out.why = fmt.Sprintf("a host has %s to send over %s, a link of %s of the usual rate", amount, c.name, percent(c.host))
	case x.plain():
		out.why = fmt.Sprintf("the link of each host to its leaf is the limit, no uplink: it sends %s", amount)
	default:
		out.why = fmt.Sprintf("the link of a host is the limit: it sends or receives %s", amount)
	}
	pod := make([]float64, t.Pods())
	for id, rate := range c.link {
		if l := t.LinkOf(id); l.Above {
			pod[l.Leaf] += rate
		}
	}
	raise := func(b scheduler.Bound, w flow, sum float64, where, others string) {
		if phases := w.amount / sum; w.amount > 0 && phases > out.phases*(1+1e-9) {
			why := fmt.Sprintf("%s, over links of %.4g times the link rate in all", f.flowWhy(w, where, others), sum)
			out = limit{phases: phases, Bound: b, why: why}
		}
	}
	for i := range t.Leaves() {
		for _, w := range f.flows(i, i+1) {
			raise(scheduler.Bound{Kind: scheduler.KindLeaf, At: i}, w, c.ofLeaf(i), f.name(f.places.Node(i)), "other leaves")
		}
	}
	for q, sum := range pod {
		for _, w := range f.flows(q*t.PodLeaves(), (q+1)*t.PodLeaves()) {
			if t.Levels() == 3 {
				raise(scheduler.Bound{Kind: scheduler.KindPod, At: q}, w, sum, fmt.Sprintf("pod %d", q), "other pods")
			}
		}
	}
	return out
}

// ofLeaf is the total capacity of the links of a leaf.
func (c *capacities) ofLeaf(leaf int) (sum float64) {
	for l := range c.t.UpLinks(leaf) {
		sum += c.link[c.t.LinkID(l)]
	}
	return sum
}

// split returns the limit that weights of links prove on two levels, near the best (scheduler.Prove): over any spines, the
// messages from leaf a to leaf b take the lightest path. Parallel cables count as one with their total capacity.
func (c *capacities) split(demand []float64) float64 {
	t := c.t
	leaves, spines := t.Leaves(), t.Spines()
	links := leaves * spines
	capacity := make([]float64, 2*links) // up, then down
	for id, x := range c.link {
		l := t.LinkOf(id)
		capacity[l.Leaf*spines+l.Spine] += x
		capacity[links+l.Leaf*spines+l.Spine] += x
	}
	var rates []float64 // of links that carry something
	number := make([]int, 2*links)
	for i, x := range capacity {
		if number[i] = len(rates); x > 0 {
			rates = append(rates, x)
		}
	}
	return scheduler.Prove(rates, min(splitRounds, max(10, splitWork/(leaves*links))), func(weight, load []float64) (sum float64) {
		for at, n := range demand {
			if n == 0 {
				continue
			}
			least, up, down := math.Inf(1), 0, 0
			for k := range spines {
				i, j := at/leaves*spines+k, links+at%leaves*spines+k
				if capacity[i] == 0 || capacity[j] == 0 {
					continue
				}
				if x := weight[number[i]] + weight[number[j]]; x < least {
					least, up, down = x, number[i], number[j]
				}
			}
			sum += n * least
			load[up] += n
			load[down] += n
		}
		return sum
	}).Time
}

const (
	splitWork   = 20_000_000 // pairs of leaves times spines times rounds
	splitRounds = 800
)
