package judge

import (
	"fmt"
	"math"
	"slices"

	"evbench/scheduler"
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
	var links [4]topology.Link
	for _, l := range c.t.AppendPath(links[:0], a, b, path) {
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
			why := fmt.Sprintf("the %d %s of %s have %s, over links of %.4g times the link rate in all", w.servers, f.traffic.who(w.up), where, f.messages(w, others), sum)
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
